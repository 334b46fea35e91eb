"""The BERT engines run in this process: the fast way to compare networks, without Triton."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from engines.bert.decoder_files import load_intent_decoder
from engines.bert.network_files import network_file
from engines.bert.preselection import choose_windows
from engines.bert.session import BertSession
from engines.bert.span_decoding import Calibration, SpanDecoder
from engines.bert.tokenizing import DocumentTokenizer, UtteranceTokenizer
from engines.session import ONNX_RUNTIME
from modelkit.triton_models import MODEL_REPOSITORY, NLU_MODELS, QA_MODELS, VERSION

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy as np
    import numpy.typing as npt

    from engines.accelerators.choice import Accelerator
    from engines.bert.intent_decoding import Understanding
    from engines.bert.tokenizing import TokenBatch

MAX_WINDOWS = 4
"""As in ``qa_tokenize/config.pbtxt``."""


class LocalEngines:
    """Both engines, each loaded when it is first asked (:class:`modelkit.evaluation.engines.TextEngines`).

    Args:
        engines: engine directories; of two with the same engine the later one counts, and what none of them has is
            the shipped one.
        forced: name an intent and an answer even where the model is not sure.
        accelerator: what computes the networks.
    """

    def __init__(
        self, engines: Sequence[Path] = (), *, forced: bool = False, accelerator: Accelerator = ONNX_RUNTIME
    ) -> None:
        self._accelerator = accelerator
        self._repositories = (*(engine / "triton" for engine in reversed(engines)), MODEL_REPOSITORY)
        self._forced = forced

    async def understand(self, text: str) -> Understanding:
        """Finds intent and slots."""
        return self._understanding.understand(text)

    async def answer(self, question: str, document: str) -> str:
        """Finds the answer; "" where the document holds none."""
        return self.scored_answer(question, document)[0]

    def scored_answer(self, question: str, document: str) -> tuple[str, float]:
        """Finds the answer, and the probability that it is right; see :meth:`answer`."""
        return self._answering.answer(question, document)

    @cached_property
    def _understanding(self) -> _Understanding:
        return _Understanding(*self._versions(NLU_MODELS[1:]), forced=self._forced, accelerator=self._accelerator)

    @cached_property
    def _answering(self) -> _Answering:
        return _Answering(*self._versions(QA_MODELS[1:]), forced=self._forced, accelerator=self._accelerator)

    def _versions(self, names: Sequence[str]) -> list[Path]:
        """Finds the folder of the version of each step: all are of one engine."""
        repository = next(folder for folder in self._repositories if (folder / names[0]).is_dir())
        return [repository / name / VERSION for name in names]


class _Understanding:
    def __init__(self, tokenize: Path, bert: Path, decode: Path, *, forced: bool, accelerator: Accelerator) -> None:
        self._tokenizer = UtteranceTokenizer(tokenize / "tokenizer.json")
        self._session = BertSession(network_file(bert), accelerator=accelerator)
        self._decoder = load_intent_decoder(decode, forced=forced)

    def understand(self, text: str) -> Understanding:
        batch = self._tokenizer.encode([text])
        (understood,) = self._decoder.decode([text], batch.offsets, *_run(self._session, batch))
        return understood


class _Answering:
    def __init__(self, tokenize: Path, bert: Path, decode: Path, *, forced: bool, accelerator: Accelerator) -> None:
        calibration = Calibration.load(decode / "calibration.json")
        self._tokenizer = DocumentTokenizer(tokenize / "tokenizer.json")
        self._session = BertSession(network_file(bert), accelerator=accelerator)
        self._decoder = SpanDecoder(replace(calibration, threshold=0.0) if forced else calibration)

    def answer(self, question: str, document: str) -> tuple[str, float]:
        batch = choose_windows(self._tokenizer.encode(question, document), MAX_WINDOWS)
        span = self._decoder.decode(batch.offsets, *_run(self._session, batch))
        return (document[span.start : span.end], span.score) if span.start >= 0 else ("", 0.0)


def _run(session: BertSession, batch: TokenBatch) -> tuple[npt.NDArray[np.float32], ...]:
    (outputs,) = session.run([{name: getattr(batch, name) for name in session.inputs}])
    return tuple(outputs.values())
