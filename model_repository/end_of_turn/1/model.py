"""Triton model ``end_of_turn``: judges pauses with ``engines.turn``."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

import numpy as np

from engines.accelerators.choice import Accelerator
from engines.asr.serving.memory import release_free_memory
from engines.bert import serving
from engines.turn.detector import Detector, DetectorFilesError, Pause

if TYPE_CHECKING:
    from collections.abc import Sequence

logger = logging.getLogger(__name__)

_FULL_SCALE = np.float32(32_767)
_WARM_UP = Pause(np.zeros(16_000, np.float32), "turn on the lights")


class TritonPythonModel:
    """Judges the pauses of all requests of a batch."""

    def initialize(self, args: dict[str, str]) -> None:
        """Load what lies beside this file.

        A model that raises here keeps Triton from starting. Nobody needs this one to be served, so that it refuses its
        requests instead where its files are missing.
        """
        version = serving.version_directory(args)
        self._missing = ""
        try:
            self._detector = Detector(version, int(serving.parameters(args)["threads"]), Accelerator.of(args))
            # The first judgement takes longer than all later ones.
            self._detector.judge([_WARM_UP])
            release_free_memory()
        except DetectorFilesError as error:
            logger.error("%s", error)  # noqa: TRY400 - the sentence says all
            self._missing = str(error)

    def execute(self, requests: Sequence[object]) -> list[object]:
        """Answer every request; one that cannot be read gets its own error, and the others are served."""
        if self._missing:
            return [serving.failure(serving.BadRequestError(self._missing)) for _ in requests]
        began = time.perf_counter()
        read: list[Pause | Exception | None] = [_read(request) for request in requests]
        found = iter(self._detector.judge([pause for pause in read if isinstance(pause, Pause)]))
        probabilities = [next(found) if isinstance(one, Pause) else 0.0 for one in read]
        compute_ms = (time.perf_counter() - began) * 1000
        return [
            _response(probability, compute_ms) if isinstance(one, Pause) else _refusal(one)
            for one, probability in zip(read, probabilities, strict=True)
        ]


def _read(request: object) -> Pause | Exception | None:
    """Read a pause; None where nobody waits for its judgement any more."""
    if serving.is_overdue(request):
        return None
    try:
        samples = serving.tensor(request, "AUDIO").reshape(-1)
        text = serving.texts(request, "TEXT")[0]
    except Exception as error:  # noqa: BLE001 - whatever cannot be read, the others of the batch are served
        return error
    if not len(samples):
        return serving.BadRequestError("AUDIO is empty: send the sound up to the pause")
    return Pause(samples.astype(np.float32) / _FULL_SCALE, text)


def _refusal(error: Exception | None) -> object:
    return serving.overdue() if error is None else serving.refusal(error)


def _response(probability: float, compute_ms: float) -> object:
    outputs = {"PROBABILITY": probability, "COMPUTE_MS": compute_ms}
    return serving.response({name: np.full((1, 1), value, np.float32) for name, value in outputs.items()})
