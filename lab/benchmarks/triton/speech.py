"""Recorded speech for the audio input of recognizers: noise would be decoded to nothing, in no time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from benchmarks.sla.material import DEMONSTRATION, RATE_HZ, read_items, samples

if TYPE_CHECKING:
    import numpy.typing as npt

    from benchmarks.triton.inputs import InputSpec

AUDIO = "AUDIO"
"""Name of the input that takes 16 kHz audio of any length."""
DEFAULT_SAMPLES = 1_600
"""Samples of a request where no shape is named: 0.1 s."""
DEFAULT_SEQUENCE_LENGTH = 30
"""Requests of a sequence where no length is named: 3 s of speech with the default shape."""


def takes_speech(spec: InputSpec) -> bool:
    """Whether an input is the audio of a recognizer."""
    return spec.name == AUDIO and spec.datatype == "FP32" and spec.shape == (-1,)


def pieces(size: int) -> list[npt.NDArray[np.float32]]:
    """Cut the demonstration's recordings into consecutive pieces of ``size`` samples, -1 to 1."""
    recordings = [samples(item.path) for item in read_items(DEMONSTRATION)]
    speech = np.concatenate(recordings).astype(np.float32) / 32_768
    count = max(1, len(speech) // size)
    return list(np.resize(speech, count * size).reshape(count, size))


def describe(size: int, sequence_length: int) -> str:
    """Tell what is sent, and which rate of requests is one person speaking."""
    seconds = size / RATE_HZ
    return (
        f"{AUDIO}: {seconds:g} s of recorded speech a request, {sequence_length} requests a sequence "
        f"({seconds * sequence_length:g} s); a person who speaks sends {1 / seconds:g} requests a second"
    )
