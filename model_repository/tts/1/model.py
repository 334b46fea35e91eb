"""Triton model ``tts``: speaks words and phonemes with ``engines.tts``."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import triton_python_backend_utils as pb_utils

from engines.accelerators.choice import Accelerator
from engines.asr.serving.memory import release_free_memory
from engines.bert import serving
from engines.tts.synthesizer import BadPartsError, Part, check_parts, speak
from engines.tts.voice import VOICE as DEFAULT
from engines.tts.voices import load_voice

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

_WARM_UP = (Part("Good morning."), Part("The ferry leaves at nine, and comes back in the evening."))
_TRIMMED_EVERY_SECONDS = 10.0


class TritonPythonModel:
    """Sends speech in pieces as they are ready. Requests are served one after the other."""

    def initialize(self, args: dict[str, str]) -> None:
        """Load the voice, and let it speak once: the first words take longer than all later ones."""
        folder = Path(args["model_repository"], args["model_version"])
        self._voice = load_voice(folder, int(serving.parameters(args)["threads"]), Accelerator.of(args))
        for _ in speak(self._voice, _WARM_UP, seed=0):
            pass
        release_free_memory()
        self._released_at = time.monotonic()

    def execute(self, requests: Sequence[Any]) -> None:
        """Serve requests; one that fails gets its own error, and the others are served."""
        for request in requests:
            sender = request.get_response_sender()
            try:
                for response in self._responses(request):
                    sender.send(response)
            except Exception as error:  # noqa: BLE001 - whatever one dies of, the others are served
                sender.send(serving.refusal(error))
            sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
        if time.monotonic() - self._released_at > _TRIMMED_EVERY_SECONDS:
            release_free_memory()
            self._released_at = time.monotonic()

    def _responses(self, request: object) -> Iterator[object]:
        parts, seed = _read(request, {"", DEFAULT, self._voice.name})
        began = time.perf_counter()
        for samples in speak(self._voice, parts, seed):
            compute_ms = (time.perf_counter() - began) * 1000
            yield serving.response({"AUDIO": samples, "COMPUTE_MS": np.array([compute_ms], np.float32)})
            began = time.perf_counter()


def _read(request: object, names: set[str]) -> tuple[list[Part], int]:
    """Read what is to be spoken.

    Args:
        request: asks for it.
        names: what the voice goes by.

    Raises:
        BadRequestError: it cannot be.
    """
    columns = (
        serving.texts(request, "TEXT"),
        serving.texts(request, "PHONEMES"),
        serving.tensor(request, "SPEED").reshape(-1).tolist(),
        serving.tensor(request, "PAUSE_MS").reshape(-1).tolist(),
    )
    if len({len(column) for column in columns}) > 1:
        raise serving.BadRequestError(
            "TEXT, PHONEMES, SPEED and PAUSE_MS differ in length: send one value for each part"
        )
    parts = [Part(*values) for values in zip(*columns, strict=True)]
    try:
        check_parts(parts)
    except BadPartsError as error:
        raise serving.BadRequestError(str(error)) from None
    voice = serving.texts(request, "VOICE")
    if len(voice) != 1 or voice[0] not in names:
        raise serving.BadRequestError(f"there is no such voice: choose {' or '.join(sorted(names - {''}))}")
    return parts, int(serving.tensor(request, "SEED").reshape(-1)[0])
