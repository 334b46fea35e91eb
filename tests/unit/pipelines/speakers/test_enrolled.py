"""Enrolled voices in a folder."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

import numpy as np
import pytest

from pipelines.speakers import enrolled
from pipelines.speakers.enrolled import DIMENSIONS, EnrolledVoices, EnrolmentError, delete, enrol, read_voices

if TYPE_CHECKING:
    from pathlib import Path


def voice(*numbers: int) -> np.ndarray:
    rows = np.zeros((len(numbers), DIMENSIONS), np.float32)
    rows[range(len(numbers)), numbers] = 1.0
    return rows


def mixed(number: int, other: int, share: float) -> np.ndarray:
    """A unit vector with a cosine to the one voice, and the rest to the other."""
    return (share * voice(number) + np.sqrt(1 - share**2) * voice(other))[0]


def test_a_voice_is_told_while_it_is_enrolled(tmp_path: Path):
    folder = tmp_path / "voices"
    enrol(folder, "ann", voice(1), 6.0)
    enrol(folder, "bob", voice(2), 6.0)
    told = read_voices(folder)
    assert [told.name_of(voice(n)[0], 2.0) for n in (1, 2, 3)] == ["ann", "bob", ""]
    delete(folder, "ann")
    assert read_voices(folder).name_of(voice(1)[0], 2.0) == ""
    with pytest.raises(EnrolmentError, match=r"choose one of them \(bob\)"):
        delete(folder, "ann")


def test_what_is_not_sure_has_no_name():
    told = EnrolledVoices(("ann", "bob"), voice(1, 2))
    assert told.name_of(mixed(1, 3, enrolled.NAME_SIMILARITY + 0.01), 2.0) == "ann"
    assert told.name_of(mixed(1, 3, enrolled.NAME_SIMILARITY - 0.01), 2.0) == ""
    assert told.name_of(voice(1)[0], enrolled.MIN_NAMED_SECONDS - 0.1) == ""
    alike = EnrolledVoices(("ann", "bob"), np.stack([voice(1)[0], mixed(1, 2, 0.97)]))
    assert alike.name_of(voice(1)[0], 2.0) == ""
    assert EnrolledVoices().name_of(voice(1)[0], 2.0) == ""


def test_files_are_for_their_owner_alone_and_hold_no_sound(tmp_path: Path):
    folder = tmp_path / "voices"
    enrol(folder, "ann", voice(1), 60.0)
    enrol(folder, "ann", voice(2), 61.0)
    (path,) = folder.iterdir()
    assert (stat.S_IMODE(folder.stat().st_mode), stat.S_IMODE(path.stat().st_mode)) == (0o700, 0o600)
    assert path.stat().st_size < 4_000
    assert read_voices(folder).name_of(voice(2)[0], 2.0) == "ann"


@pytest.mark.parametrize(
    ("name", "embeddings", "seconds", "complaint"),
    [
        ("../ann", voice(1), 6.0, "no name"),
        ("Ann", voice(1), 6.0, "no name"),
        ("ann", voice(1), 4.9, "too little"),
        ("ann", voice(1, 2), 6.0, "several voices"),
    ],
)
def test_what_cannot_be_enrolled_leaves_nothing(
    tmp_path: Path, name: str, embeddings: np.ndarray, seconds: float, complaint: str
):
    with pytest.raises(EnrolmentError, match=complaint):
        enrol(tmp_path, name, embeddings, seconds)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"{}", b'{"seconds": 1, "embedding": [1.0, 0.0]}'])
def test_a_damaged_file_is_named(tmp_path: Path, content: bytes):
    (tmp_path / "ann.voice.json").write_bytes(content)
    with pytest.raises(EnrolmentError, match=r"ann\.voice\.json"):
        read_voices(tmp_path)
    with pytest.raises(EnrolmentError, match="no folder"):
        read_voices(tmp_path / "none")
