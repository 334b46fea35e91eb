"""Intents and slots, as optimizing sees them."""

from __future__ import annotations

import json
import random
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from engines.bert.decoder_files import INTENT_KINDS
from engines.bert.intent_decoding import IntentDecoder, IntentLabels
from engines.bert.tag_priors import TagPriors
from engines.bert.tokenizing import UtteranceTokenizer
from modelkit.augment import speech_like
from modelkit.evaluation.outcome import spread
from modelkit.export import NLU_INPUTS, NLU_OUTPUTS
from modelkit.nlu import read_utterances
from modelkit.optimize.tasks import SAMPLES, TIMED, Judged, of_training
from modelkit.scoring import intent_accuracy, slot_f1
from modelkit.sessions import row_of
from modelkit.training.bases import LABELS
from modelkit.training.saved import load_intents
from modelkit.triton_models import HINTS_FILE, write_nlu

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from engines.build.quantize import Feeds
    from modelkit.networks import EncoderNetwork
    from modelkit.sessions import Session

SEED = 7
_DECODED = "triton/intent_slot_decode/1"
_DECODED_LABELS, _PRIORS = f"{_DECODED}/{LABELS}", f"{_DECODED}/tag_priors.npz"


class NluTask:
    """An engine for intents and slots.

    Args:
        directory: of the engine.
        data: JSONL files of utterances to train and calibrate on.
        evaluation: a JSONL file to score on.
        limit: score on so many of its utterances; None for all.
    """

    name = "nlu"
    inputs = NLU_INPUTS
    outputs = NLU_OUTPUTS
    criterion = "intent_and_slots"
    files = (*of_training(LABELS), _DECODED_LABELS, _PRIORS)

    def __init__(self, directory: Path, data: Sequence[Path], evaluation: Path, limit: int | None = None) -> None:
        saved = load_intents(directory, traceable=False)
        self.network, self._tokenizer_path = saved.network, saved.tokenizer
        self.variants: Mapping[str, EncoderNetwork] = {}
        self._tokenizer = UtteranceTokenizer(saved.tokenizer)
        labels, values, priors = (
            directory / name for name in (_DECODED_LABELS, f"{_DECODED}/slot_values.json", _PRIORS)
        )
        self._labels = IntentLabels.load(labels) if labels.exists() else saved.labels
        self._slot_values = json.loads(values.read_text(encoding="utf-8")) if values.exists() else None
        self._kinds = _read(directory / _DECODED / INTENT_KINDS)
        self._hints = _read(directory / _DECODED / HINTS_FILE) or ()
        self._priors = TagPriors.load(priors) if priors.exists() else None
        self._training = [utterance for path in sorted(data) for utterance in read_utterances(path)]
        random.Random(SEED).shuffle(self._training)
        self._evaluated = spread(read_utterances(evaluation), limit)

    def rows(self, count: int) -> list[Feeds]:
        """Gives utterances, each time in another wording of the same, as recognition may write it."""
        rng = random.Random(SEED)
        chosen = [self._training[place % len(self._training)] for place in range(count)]
        return self._encode([speech_like(utterance, rng).text for utterance in chosen])

    def samples(self) -> list[Feeds]:
        """Gives training utterances."""
        return self._encode([utterance.text for utterance in self._training[-SAMPLES:]])

    def timed(self) -> list[Feeds]:
        """Gives training utterances."""
        return self._encode([utterance.text for utterance in self._training[:TIMED]])

    def judge(self, session: Session) -> Judged:
        """Scores intents, where ``none`` is wrong, and exact slots."""
        texts = [utterance.text for utterance in self._evaluated]
        batch = self._tokenizer.encode(texts)
        (result,) = session.run([{name: getattr(batch, name) for name in self.inputs}])
        decoder = IntentDecoder(self._labels, None, self._priors)
        got = decoder.decode(texts, batch.offsets, result["intent_logits"], result["tag_logits"])
        intents = intent_accuracy(self._evaluated, got)
        slots = slot_f1([u.slots for u in self._evaluated], [g.slots for g in got]).f1
        scores = {"intent_accuracy": intents, "slot_f1": slots, self.criterion: (intents + slots) / 2}
        return Judged({name: round(value, 4) for name, value in scores.items()}, asdict(self._labels))

    def write(self, directory: Path, onnx: Path, decoding: Mapping[str, Any], card: Mapping[str, object]) -> None:
        """Writes an engine directory."""
        write_nlu(
            directory,
            onnx=onnx,
            tokenizer=self._tokenizer_path,
            labels=IntentLabels(**{**decoding, "intents": tuple(decoding["intents"]), "tags": tuple(decoding["tags"])}),
            card=card,
            slot_values=self._slot_values,
            priors=self._priors,
            kinds=self._kinds,
            hints=self._hints,
        )

    def _encode(self, texts: Sequence[str]) -> list[Feeds]:
        return [row_of(self._tokenizer.encode([text]), 0, self.inputs) for text in texts]


def _read(path: Path) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Reads a file of the engine that is compressed; None where it has none."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
