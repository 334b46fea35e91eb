"""Triton model ``qa_decode``: finds the answer in the logits with ``engines.bert.span_decoding``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from engines.bert import serving
from engines.bert.span_decoding import Calibration, SpanDecoder

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt


class TritonPythonModel:
    """Decodes the windows of one question a request."""

    def initialize(self, args: dict[str, str]) -> None:
        """Load the calibration that lies beside this file."""
        self._decoder = SpanDecoder(Calibration.load(serving.version_directory(args) / "calibration.json"))

    def execute(self, requests: Sequence[object]) -> list[object]:
        """Answer each request by itself."""
        return serving.answer_each(requests, self._decode)

    def _decode(self, request: object) -> dict[str, npt.NDArray[np.generic]]:
        names = ("OFFSETS", "START_LOGITS", "END_LOGITS")
        answer = self._decoder.decode(*(serving.tensor(request, name) for name in names))
        return {
            "ANSWER_SPAN": np.array([answer.start, answer.end], np.int32),
            "SCORE": np.array([answer.score], np.float32),
            "COMPUTE_MS": serving.tensor(request, "WINDOW_COMPUTE_MS")[0],
        }
