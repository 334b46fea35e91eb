"""What the callers of a load say: recordings with their transcripts, and the documents that questions are about."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import soundfile
import soxr

from demo.manifest import FOLDER as DEMO
from vivavoce import NotAudio

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

RATE_HZ = 16_000
"""Samples a second of everything that is sent."""
DEMONSTRATION = DEMO / "manifest.json"
"""What is said where nothing else is named."""


@dataclass(frozen=True, slots=True)
class Item:
    """One utterance.

    Attributes:
        path: the recording, its trailing silence included.
        text: what is said.
        document: the file that a question is about; None for a command.
        answer: the passage that answers it; None for a command.
    """

    path: Path
    text: str
    document: Path | None = None
    answer: str | None = None


def read_items(manifest: Path) -> list[Item]:
    """Reads a manifest: a JSON object a line, with ``audio_filepath`` and ``text``.

    Questions have ``document`` and ``answer`` too. Files are relative to the manifest. The demonstration's own one,
    a JSON array, will do as well.

    Raises:
        ValueError: a line lacks something; the message names it.
        FileNotFoundError: there is no such file.
    """
    text = manifest.read_text(encoding="utf-8")
    lines = (
        text.splitlines() if not text.lstrip().startswith("[") else [json.dumps(entry) for entry in json.loads(text)]
    )
    items = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                items.append(_item(json.loads(line), manifest.parent))
            except (ValueError, KeyError, TypeError) as error:
                raise ValueError(f"{manifest}, entry {number}: {error!r}; it needs audio_filepath and text") from error
    if not items:
        raise ValueError(f"{manifest} names no recordings; add a line for each")
    return items


def _item(entry: object, folder: Path) -> Item:
    if not isinstance(entry, dict):
        raise TypeError(f"{json.dumps(entry)} is no object")
    audio = entry.get("audio_filepath") or entry["file"]
    document = entry.get("document")
    return Item(folder / str(audio), str(entry["text"]), folder / document if document else None, entry.get("answer"))


@cache
def samples(path: Path) -> npt.NDArray[np.int16]:
    """Reads a recording as int16 ``[samples]`` at :data:`RATE_HZ`, mono.

    Raises:
        NotAudio: the file cannot be read as audio.
    """
    try:
        audio, rate = soundfile.read(path, dtype="float32", always_2d=True)
    except soundfile.LibsndfileError as error:
        raise NotAudio(f"{path} cannot be read as audio; choose a WAV or FLAC file") from error
    mono: npt.NDArray[np.float32] = soxr.resample(audio.mean(axis=1), rate, RATE_HZ)
    return (np.clip(mono, -1, 1) * 32767).astype(np.int16)
