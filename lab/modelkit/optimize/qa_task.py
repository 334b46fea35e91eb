"""Question answering, as optimizing sees it."""

from __future__ import annotations

import random
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from engines.bert.preselection import choose_windows
from engines.bert.span_decoding import Calibration, SpanDecoder
from engines.bert.tokenizing import DocumentTokenizer
from modelkit.calibrate_qa import calibrate, pair_wrongly
from modelkit.evaluation.local import MAX_WINDOWS
from modelkit.evaluation.outcome import spread
from modelkit.export import QA_INPUTS, QA_OUTPUTS
from modelkit.optimize.networks import PRUNED
from modelkit.optimize.qa_split import split_as_trained
from modelkit.optimize.tasks import SAMPLES, TIMED, Judged, of_training
from modelkit.scoring import answer_f1, exact_match
from modelkit.sessions import row_of
from modelkit.squad import read_squad
from modelkit.token_pruning import PrunedSpanNetwork
from modelkit.training.checkpoint import RUN
from modelkit.training.saved import load_spans
from modelkit.triton_models import write_qa

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from engines.build.quantize import Feeds
    from modelkit.networks import EncoderNetwork
    from modelkit.sessions import Session
    from modelkit.squad import Question

SEED = 7
HELD_OUT = 300
"""Questions, at most, on which thresholds are chosen."""
WRONG_PARAGRAPH = 0.2
"""Share of the rows for students whose question is put to another paragraph."""
_CHUNK = 32


class QaTask:
    """An engine that answers questions.

    Args:
        directory: of the engine.
        data: SQuAD files to train, calibrate and measure on. Where they are those that the engine was trained on, what
            its training held out calibrates, and nothing else.
        evaluation: a SQuAD file to score on.
        limit: score on so many questions of it, and calibrate on as many; None for all.
    """

    name = "qa"
    inputs = QA_INPUTS
    outputs = QA_OUTPUTS
    criterion = "f1"
    files = of_training(RUN)  # It says which questions calibrate.

    def __init__(self, directory: Path, data: Sequence[Path], evaluation: Path, limit: int | None = None) -> None:
        saved = load_spans(directory, traceable=False)
        self.network, self._tokenizer_path = saved.network.unpruned(), saved.tokenizer
        prunes = isinstance(saved.network, PrunedSpanNetwork)
        self.variants: Mapping[str, EncoderNetwork] = {PRUNED: saved.network} if prunes else {}
        self._tokenizer = DocumentTokenizer(saved.tokenizer)
        held_out, self._training = _divide(directory, data)
        self._held_out = held_out[:limit]
        self._evaluated = spread(read_squad(evaluation), limit)

    def rows(self, count: int) -> list[Feeds]:
        """Gives a window of each question, some of them of a wrong paragraph."""
        rng = random.Random(SEED)
        chosen = rng.choices(self._training, k=count) if count > len(self._training) else self._training[:count]
        wrong = pair_wrongly(chosen[: int(WRONG_PARAGRAPH * len(chosen))], SEED)
        return [self._window(question, rng) for question in (*wrong, *chosen[len(wrong) :])]

    def samples(self) -> list[Feeds]:
        """Gives windows of training questions."""
        rng = random.Random(SEED)
        return [self._window(question, rng) for question in self._training[-SAMPLES:]]

    def timed(self) -> list[Feeds]:
        """Gives full windows: a question, its paragraph, and the paragraphs of others behind it."""
        contexts = [question.context for question in self._training[:200]]
        full = []
        for place, question in enumerate(self._training[:TIMED]):
            document = "\n\n".join([question.context, *contexts[place + 1 : place + 9]])
            full.append(row_of(self._tokenizer.encode(question.text, document), 0, self.inputs))
        return full

    def judge(self, session: Session) -> Judged:
        """Calibrates the network, and scores its answers with abstaining and without."""
        calibration, _ = calibrate(session, self._tokenizer, self._held_out, SEED)
        decoder = SpanDecoder(calibration)
        forced = SpanDecoder(replace(calibration, threshold=0.0))
        pairs: dict[str, list[tuple[str, list[str]]]] = {"": [], "_forced": []}
        for first in range(0, len(self._evaluated), _CHUNK):
            questions = self._evaluated[first : first + _CHUNK]
            batches = [choose_windows(self._tokenizer.encode(q.text, q.context), MAX_WINDOWS) for q in questions]
            results = session.run([{name: getattr(batch, name) for name in self.inputs} for batch in batches])
            for question, batch, result in zip(questions, batches, results, strict=True):
                for kind, decide in (("", decoder), ("_forced", forced)):
                    span = decide.decode(batch.offsets, result["start_logits"], result["end_logits"])
                    answer = question.context[span.start : span.end] if span.start >= 0 else ""
                    pairs[kind].append((answer, question.references))
        return Judged(_scores(pairs), asdict(calibration))

    def write(self, directory: Path, onnx: Path, decoding: Mapping[str, Any], card: Mapping[str, object]) -> None:
        """Writes an engine directory."""
        calibration = Calibration(**decoding)
        write_qa(directory, onnx=onnx, tokenizer=self._tokenizer_path, calibration=calibration, card=card)

    def _window(self, question: Question, rng: random.Random) -> Feeds:
        batch = self._tokenizer.encode(question.text, question.context)
        return row_of(batch, rng.randrange(len(batch)), self.inputs)


def _divide(directory: Path, data: Sequence[Path]) -> tuple[Sequence[Question], Sequence[Question]]:
    """Chooses questions to calibrate on, and others to train on."""
    trained = split_as_trained(directory, data)
    if trained:
        # The first of those that were held out chose the weights, too.
        return trained.validation[-HELD_OUT:], trained.training
    questions = [question for path in sorted(data) for question in read_squad(path)]
    random.Random(SEED).shuffle(questions)
    drawn = min(HELD_OUT, len(questions) // 5)
    return questions[:drawn], questions[drawn:]


def _scores(pairs: Mapping[str, Sequence[tuple[str, list[str]]]]) -> dict[str, float]:
    measures = {"f1": answer_f1, "exact_match": exact_match}
    return {
        f"{name}{kind}": round(float(np.mean([measure(*pair) for pair in answered])), 4)
        for kind, answered in pairs.items()
        for name, measure in measures.items()
    }
