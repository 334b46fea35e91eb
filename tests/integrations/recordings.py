"""What the clients hear: recordings of the demonstration, as WAV, which every client reads."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import soundfile

from demo.manifest import FOLDER

if TYPE_CHECKING:
    from pathlib import Path

SILENCE_SECONDS = 1.2
"""Silence after each recording: enough for any endpointing."""

LIGHTS = ["turn", "off", "the", "lights", "in", "the", "bedroom", "please"]
VACUUM = ["start", "the", "vacuum", "cleaner", "in", "the", "living", "room"]


def write_wav(path: Path, *names: str) -> Path:
    """Writes recordings one after the other, each with silence behind it, as 16-bit PCM at 16 kHz; returns `path`."""
    parts = []
    for name in names:
        samples, rate = soundfile.read(FOLDER / "recordings" / f"{name}.flac", dtype="int16")
        assert rate == 16_000
        parts += [samples, np.zeros(round(SILENCE_SECONDS * rate), np.int16)]
    soundfile.write(path, np.concatenate(parts), 16_000, subtype="PCM_16")
    return path


def words(text: str) -> list[str]:
    """The words of a transcript, without case and punctuation."""
    return re.findall(r"[a-z0-9']+", text.lower())
