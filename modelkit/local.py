"""The BERT engines of a model repository, run in this process: for comparing models and for tests without Triton."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from engines.bert.intent_decoding import IntentDecoder, IntentLabels, Understanding
from engines.bert.preselection import choose_windows
from engines.bert.session import BertSession
from engines.bert.span_decoding import Calibration, SpanDecoder
from engines.bert.tokenizing import DocumentTokenizer, UtteranceTokenizer

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    import numpy.typing as npt

    from engines.bert.tokenizing import TokenBatch

MAX_WINDOWS = 4
"""As in ``qa_tokenize/config.pbtxt``."""


class LocalEngines:
    """Both engines with the files of a model repository.

    Args:
        repository: its folder.
        forced: name an intent and an answer even where the model is not sure.
        model: file name of the networks, ``model.int8.onnx`` or another beside it.
    """

    def __init__(self, repository: Path, forced: bool = False, model: str = "model.int8.onnx") -> None:
        def version(name: str) -> Path:
            return repository / name / "1"

        labels = IntentLabels.load(version("intent_slot_decode") / "labels.json")
        calibration = Calibration.load(version("qa_decode") / "calibration.json")
        self._intents = BertSession(version("intent_slot_bert") / model)
        self._spans = BertSession(version("qa_bert") / model)
        self._utterances = UtteranceTokenizer(version("intent_slot_tokenize") / "tokenizer.json")
        self._documents = DocumentTokenizer(version("qa_tokenize") / "tokenizer.json")
        self._intent_decoder = IntentDecoder(replace(labels, threshold=0.0) if forced else labels)
        self._span_decoder = SpanDecoder(replace(calibration, threshold=0.0) if forced else calibration)

    async def understand(self, text: str) -> Understanding:
        """Finds intent and slots."""
        batch = self._utterances.encode([text])
        outputs = _run(self._intents, batch)
        (decision,) = self._intent_decoder.decode([text], batch.offsets, *outputs)
        return decision

    async def answer(self, question: str, document: str) -> str:
        """Finds the answer; "" where the document holds none."""
        batch = choose_windows(self._documents.encode(question, document), MAX_WINDOWS)
        span = self._span_decoder.decode(batch.offsets, *_run(self._spans, batch))
        return document[span.start : span.end] if span.start >= 0 else ""

    async def close(self) -> None:
        """Has nothing to close."""


def _run(session: BertSession, batch: TokenBatch) -> tuple[npt.NDArray[np.float32], ...]:
    (outputs,) = session.run([{name: getattr(batch, name) for name in session.inputs}])
    return tuple(outputs.values())
