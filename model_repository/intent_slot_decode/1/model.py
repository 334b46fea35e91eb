"""Triton model ``intent_slot_decode``: turns logits into decisions with ``engines.bert.intent_decoding``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from engines.bert import serving
from engines.bert.decoder_files import load_intent_decoder

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from engines.bert.intent_decoding import Understanding


class TritonPythonModel:
    """Decodes requests of one or several utterances."""

    def initialize(self, args: dict[str, str]) -> None:
        """Load the labels that lie beside this file, and closed slots' values and tags' priors where there are any."""
        self._decoder = load_intent_decoder(serving.version_directory(args))

    def execute(self, requests: Sequence[object]) -> list[object]:
        """Answer each request by itself."""
        return serving.answer_each(requests, self._decode)

    def _decode(self, request: object) -> dict[str, npt.NDArray[np.generic]]:
        names = ("OFFSETS", "INTENT_LOGITS", "TAG_LOGITS")
        texts = serving.texts(request, "TEXT")
        return _outputs(self._decoder.decode(texts, *(serving.tensor(request, name) for name in names)))


def _outputs(decisions: list[Understanding]) -> dict[str, npt.NDArray[np.generic]]:
    rows, width = len(decisions), max(len(decision.slots) for decision in decisions)
    names, values = [""] * (rows * width), [""] * (rows * width)
    spans = np.full((rows, width, 2), -1, np.int32)
    for row, decision in enumerate(decisions):
        for column, slot in enumerate(decision.slots):
            names[row * width + column], values[row * width + column] = slot.name, slot.value
            spans[row, column] = slot.start, slot.end
    return {
        "INTENT": serving.strings([decision.intent for decision in decisions], (rows, 1)),
        "CONFIDENCE": np.array([[decision.confidence] for decision in decisions], np.float32),
        "SLOT_NAMES": serving.strings(names, (rows, width)),
        "SLOT_VALUES": serving.strings(values, (rows, width)),
        "SLOT_SPANS": spans,
        "KIND": serving.strings([decision.kind for decision in decisions], (rows, 1)),
        "NEGATED": np.array([[decision.negated] for decision in decisions], np.bool_),
        **_candidates(decisions),
    }


def _candidates(decisions: list[Understanding]) -> dict[str, npt.NDArray[np.generic]]:
    rows, width = len(decisions), max(len(decision.candidates) for decision in decisions)
    names, scores = [""] * (rows * width), np.zeros((rows, width), np.float32)
    for row, decision in enumerate(decisions):
        for column, (name, score) in enumerate(decision.candidates):
            names[row * width + column], scores[row, column] = name, score
    return {"INTENT_NAMES": serving.strings(names, (rows, width)), "INTENT_SCORES": scores}
