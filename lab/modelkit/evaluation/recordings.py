"""Recordings as samples, and sets of recordings with what is said in them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

import vivavoce
from modelkit.errors import DataError
from modelkit.text_files import read_text

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

AUDIO_SUFFIXES = frozenset({".aiff", ".flac", ".mp3", ".oga", ".ogg", ".opus", ".wav"})
PATH_KEYS = ("audio_filepath", "file")
"""Where a line of a manifest names its recording: in NeMo's manifests, and in the demonstration's."""

_CHUNK_SECONDS = 0.1
_FORM = 'a line needs {"audio_filepath": "…", "text": "…"}'


@dataclass(frozen=True, slots=True)
class Clip:
    """Samples of one channel, -1 to 1, float32 ``[samples]``, with their rate in Hz."""

    samples: NDArray[np.float32]
    sample_rate_hz: int

    def chunks(self) -> Iterator[NDArray[np.float32]]:
        """Yields the samples in pieces of 0.1 s, as a microphone does."""
        length = round(_CHUNK_SECONDS * self.sample_rate_hz)
        for start in range(0, len(self.samples), length):
            yield self.samples[start : start + length]


@dataclass(frozen=True, slots=True)
class Spoken:
    """A recording with the words that are said in it."""

    path: Path
    text: str


def read_clip(path: Path) -> Clip:
    """Reads a recording, the channels averaged.

    Raises:
        FileNotFoundError: there is no such file.
        vivavoce.NotAudio: it cannot be read as audio.
    """
    recording = vivavoce.read_audio(path)
    return Clip(np.concatenate(list(recording.chunks())), recording.sample_rate_hz)


def list_recordings(data: Path) -> list[Path]:
    """Lists the recordings of a folder, which need no words beside them, or those of a manifest.

    Raises:
        DataError: there are none, or the manifest is damaged.
    """
    if not data.is_dir():
        return [spoken.path for spoken in read_spoken(data)]
    found = sorted(path for path in data.iterdir() if path.suffix.lower() in AUDIO_SUFFIXES)
    if not found:
        raise DataError(f"{data} holds no recordings ({', '.join(sorted(AUDIO_SUFFIXES))}): check its name")
    return found


def read_spoken(data: Path) -> list[Spoken]:
    """Reads a manifest, or a folder of recordings with a ``.txt`` of the same name beside each.

    A manifest is JSON Lines as NeMo has it, or a JSON array of such objects; its paths are relative to it.

    Raises:
        DataError: it is none of these, or words or a recording are missing; the message names the place.
        FileNotFoundError: the manifest names a file that is not there.
        vivavoce.NotAudio: a file is no audio.
    """
    found = _read_folder(data) if data.is_dir() else _read_manifest(data)
    for spoken in found:
        vivavoce.read_audio(spoken.path)  # What cannot be read is told before the work begins, not in the middle.
    return found


def _read_folder(folder: Path) -> list[Spoken]:
    recordings = sorted(path for path in folder.iterdir() if path.suffix.lower() in AUDIO_SUFFIXES)
    if not recordings:
        raise DataError(f"{folder} holds no recordings ({', '.join(sorted(AUDIO_SUFFIXES))}): check its name")
    wordless = [path.name for path in recordings if not path.with_suffix(".txt").exists()]
    if wordless:
        raise DataError(
            f"{folder / wordless[0]} has no {wordless[0].rpartition('.')[0]}.txt beside it: write its words there"
        )
    stems = {path.stem for path in recordings}
    for words in sorted(folder.glob("*.txt")):
        if words.stem not in stems:
            raise DataError(f"{words} has no recording beside it: add one, or remove the file")
    return [Spoken(path, " ".join(read_text(path.with_suffix(".txt")).split())) for path in recordings]


def _read_manifest(path: Path) -> list[Spoken]:
    text = read_text(path)
    array = _load(path, text) if text.lstrip().startswith("[") else None
    if isinstance(array, list):
        entries = [(f"{path}, entry {number}", entry) for number, entry in enumerate(array, 1)]
    else:
        lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
        entries = [(f"{path}, line {number}", _load(path, line, number)) for number, line in lines]
    if not entries:
        raise DataError(f"{path} holds no recordings: {_FORM}")
    return [_spoken(path, place, entry) for place, entry in entries]


def _load(path: Path, text: str, first: int = 1) -> object:
    """Reads JSON that begins in line ``first`` of a file."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise DataError(f"{path}, line {first + error.lineno - 1}: {error.msg}; {_FORM}") from error


def _spoken(manifest: Path, place: str, entry: object) -> Spoken:
    fields = entry if isinstance(entry, Mapping) else {}
    file = next((fields[key] for key in PATH_KEYS if key in fields), None)
    words = fields.get("text")
    if not isinstance(file, str) or not isinstance(words, str) or not file:
        raise DataError(f"{place}: {_FORM}")
    if fields.get("offset"):
        raise DataError(f"{place}: parts of recordings (offset) are not read; cut the part into a file of its own")
    return Spoken(manifest.parent / file, words)
