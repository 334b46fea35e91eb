"""Enrolled voices: embeddings by name, in a folder of the operator.

A file holds numbers alone, from which no word can be heard again. It still tells one person from others: it is for its
owner's eyes, and deleting it forgets the voice.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]

MAX_VOICES = 100
MIN_SECONDS = 5.0
"""Speech that a voice is enrolled with at least."""
MIN_LIKENESS = 0.45
"""Mean cosine between the windows of one voice; of several voices it is lower."""
NAME_SIMILARITY = 0.5
"""Cosine from which on speech is an enrolled voice's …"""
NAME_MARGIN = 0.15
"""… as long as it is by this much above that of the next one."""
MIN_NAMED_SECONDS = 1.0
"""Speech of which a name is told at least."""

DIMENSIONS = 256
_TOLERANCE = 1e-3
_NAME = re.compile(r"[a-z0-9_]{1,32}")
_SUFFIX = ".voice.json"
_FOLDER_MODE, _FILE_MODE = 0o700, 0o600


class EnrolmentError(Exception):
    """A voice cannot be enrolled, read or deleted; the message says what to do."""


class _File(msgspec.Struct, forbid_unknown_fields=True):
    """Content of a file.

    Attributes:
        seconds: speech that it was made of.
        embedding: unit vector.
    """

    seconds: float
    embedding: list[float]


@dataclass(frozen=True, slots=True, eq=False)
class EnrolledVoices:
    """Enrolled voices by name.

    Attributes:
        names: in the order of the embeddings.
        embeddings: unit vectors, float32 ``[voices, dimensions]``.
    """

    names: tuple[str, ...] = ()
    embeddings: Floats | None = None

    def name_of(self, embedding: Floats, seconds: float) -> str:
        """Return the voice that speech sounds like; "" where that is not sure.

        Args:
            embedding: unit vector.
            seconds: speech that it was made of.
        """
        if self.embeddings is None or seconds < MIN_NAMED_SECONDS:
            return ""
        similarities = self.embeddings @ embedding
        best = int(np.argmax(similarities))
        others = np.delete(similarities, best)
        next_best = float(others.max()) if len(others) else -1.0
        is_sure = similarities[best] >= NAME_SIMILARITY and similarities[best] - next_best >= NAME_MARGIN
        return self.names[best] if is_sure else ""


def enrol(folder: Path, name: str, embeddings: Floats, seconds: float) -> None:
    """Store a voice, in place of an earlier one of its name.

    Args:
        folder: of the voices; made where it is missing, readable by its owner alone.
        name: of the voice.
        embeddings: of windows of its speech, float32 ``[windows, dimensions]``.
        seconds: speech that they were made of.

    Raises:
        EnrolmentError: the name will not do, there is too little speech, or there are too many voices.
    """
    path = _path(folder, name)
    if seconds < MIN_SECONDS:
        raise EnrolmentError(f"{seconds:.1f} s of speech are too little: record {MIN_SECONDS:g} s or more of {name}")
    mean = embeddings.mean(axis=0)
    if _likeness(embeddings) < MIN_LIKENESS:
        raise EnrolmentError(f"these recordings of {name} sound like several voices: take some of one voice alone")
    folder.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
    if not path.exists() and len(_paths(folder)) >= MAX_VOICES:
        raise EnrolmentError(f"{folder} has {MAX_VOICES} voices: delete one of them first")
    content = msgspec.json.encode(_File(round(seconds, 1), (mean / np.linalg.norm(mean)).tolist()))
    part = path.with_suffix(".part")
    part.unlink(missing_ok=True)
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _FILE_MODE), "wb") as file:
        file.write(content)
    part.replace(path)


def delete(folder: Path, name: str) -> None:
    """Forget a voice.

    Raises:
        EnrolmentError: there is none of the name.
    """
    try:
        _path(folder, name).unlink()
    except OSError as error:
        known = ", ".join(enrolled_names(folder)) or "none is enrolled"
        raise EnrolmentError(f"no voice {name!r} is enrolled in {folder}: choose one of them ({known})") from error


def enrolled_names(folder: Path) -> tuple[str, ...]:
    """Return the names of the voices of a folder, sorted."""
    return tuple(path.name.removesuffix(_SUFFIX) for path in _paths(folder))


def read_voices(folder: Path) -> EnrolledVoices:
    """Read the voices of a folder.

    Raises:
        EnrolmentError: it cannot be read, a file is damaged, or is of another network.
    """
    if not folder.is_dir():
        raise EnrolmentError(f"{folder} is no folder: enrol a voice with `vivavoce speaker enrol`, or leave it out")
    names = enrolled_names(folder)
    embeddings = [_read(_path(folder, name)) for name in names]
    return EnrolledVoices(names, np.stack(embeddings)) if names else EnrolledVoices()


def _likeness(embeddings: Floats) -> float:
    """Return the mean cosine between two different windows."""
    count = len(embeddings)
    total = embeddings.sum(axis=0)
    return float(total @ total - count) / max(1, count * (count - 1)) if count > 1 else 1.0


def _read(path: Path) -> Floats:
    try:
        embedding = np.array(msgspec.json.decode(path.read_bytes(), type=_File).embedding, np.float32)
    except (OSError, msgspec.DecodeError) as error:
        raise EnrolmentError(f"{path} cannot be read ({error}): enrol the voice anew, or delete it") from error
    if embedding.shape != (DIMENSIONS,) or not abs(float(np.linalg.norm(embedding)) - 1) < _TOLERANCE:
        raise EnrolmentError(f"{path} is no voice of this network: enrol it anew, or delete it")
    return embedding


def _paths(folder: Path) -> Sequence[Path]:
    return sorted(path for path in folder.glob(f"*{_SUFFIX}") if _NAME.fullmatch(path.name.removesuffix(_SUFFIX)))


def _path(folder: Path, name: str) -> Path:
    if not _NAME.fullmatch(name):
        raise EnrolmentError(f"{name!r} is no name of a voice: use a to z, 0 to 9 and _, at most 32")
    return folder / f"{name}{_SUFFIX}"
