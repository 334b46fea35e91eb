"""Recordings for recognition on a GPU, with the texts that the engine on the CPU gave them.

``benchmarks.gpu.archive`` writes ``expected.json`` beside recordings: a machine with a GPU need not have that engine.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.sla.material import DEMONSTRATION, RATE_HZ, read_items, samples
from engines.asr.moonshine.model import MoonshineRecognizer
from engines.asr.serving.utterance import Utterance
from engines.build.moonshine import TARGET

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Samples = NDArray[np.float32]

FOLDER = Path(__file__).resolve().parent / "material"
"""Where the archive has them."""
EXPECTED = "expected.json"
LONGEST_SECONDS = 30
_BATCH = 4


@dataclass(frozen=True, slots=True)
class Spoken:
    """A recording.

    Attributes:
        name: of its file.
        audio: float32 ``[samples]`` at 16 kHz.
        expected: its text by the engine on the CPU; None where that is not known.
        said: what is said; None where it is not written down.
    """

    name: str
    audio: Samples
    expected: str | None = None
    said: str | None = None


def read_spoken(folder: Path = FOLDER) -> list[Spoken]:
    """Reads what the archive brought, and the recordings that come with the project.

    Args:
        folder: of recordings and ``expected.json``; it need not be there.
    """
    expected = json.loads((folder / EXPECTED).read_text(encoding="utf-8")) if (folder / EXPECTED).exists() else {}
    demonstration = [
        Spoken(item.path.name, load(item.path), expected.get(item.path.name), item.text)
        for item in read_items(DEMONSTRATION)
    ]
    more = [Spoken(path.name, load(path), expected.get(path.name)) for path in recordings_in(folder)]
    return demonstration + more


def recordings_in(folder: Path, most: int | None = None) -> list[Path]:
    """Lists recordings by name, evenly spread where there are more than ``most``."""
    found = sorted(path for path in folder.glob("**/*") if path.suffix in (".flac", ".wav"))
    if most is None or len(found) <= most:
        return found
    return [found[i * len(found) // most] for i in range(most)]


def texts_on_the_cpu(audio: Sequence[Samples], threads: int = 1) -> list[str]:
    """Recognizes recordings with the engine on onnxruntime, in float32."""
    return texts(MoonshineRecognizer(TARGET, threads, speculative=False), audio, _BATCH)


def texts(recognizer: MoonshineRecognizer, audio: Sequence[Samples], batch: int) -> list[str]:
    """Recognizes recordings, so many at a time; what is longer than an utterance may be is cut off."""
    found = []
    for first in range(0, len(audio), batch):
        utterances = [heard(one) for one in audio[first : first + batch]]
        found += [recognizer.text(tokens) for tokens in recognizer.transcribe(utterances)]
    return found


def load(path: Path) -> Samples:
    """Reads a recording as float32 at 16 kHz."""
    return (samples(path) / np.float32(32768)).astype(np.float32)


def heard(audio: Samples) -> Utterance:
    """Returns an utterance of all the samples."""
    utterance = Utterance()
    utterance.append(audio[: LONGEST_SECONDS * RATE_HZ])
    return utterance
