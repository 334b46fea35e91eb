"""Recordings whose content is given, rather than a path."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np
import pytest
import soundfile

import vivavoce

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("name", ["a.wav", "a.flac", "a.ogg", "a.mp3"])
def test_the_content_of_a_file_is_read_as_the_file_is(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    soundfile.write(path, np.sin(np.arange(16_000) / 20) / 2, 16_000)
    expected = np.concatenate(list(vivavoce.read_audio(path).chunks()))

    with path.open("rb") as file:
        recordings = [vivavoce.read_audio(path.read_bytes()), vivavoce.read_audio(file)]
    recordings += [
        vivavoce.read_audio(bytearray(path.read_bytes())),
        vivavoce.read_audio(io.BytesIO(path.read_bytes())),
    ]

    for recording in recordings:
        assert str(recording.path) == "<audio>"
        assert (recording.sample_rate_hz, recording.duration_seconds) == (16_000, len(expected) / 16_000)
        assert np.array_equal(np.concatenate(list(recording.chunks())), expected)
        assert np.array_equal(np.concatenate(list(recording.chunks())), expected), "it can be read again"
        assert len(repr(recording)) < 200


@pytest.mark.parametrize(
    ("source", "cure"),
    [
        (io.StringIO("RIFF"), "open the file with mode 'rb'"),
        (3, "from a int; pass a path, bytes or a binary file"),
        (None, "pass a path, bytes or a binary file"),
    ],
)
def test_what_no_recording_can_be_read_from(source: object, cure: str) -> None:
    with pytest.raises(TypeError, match=cure):
        vivavoce.read_audio(source)  # type: ignore[arg-type]


@pytest.mark.parametrize("content", [b"", b"no audio at all"])
def test_content_that_is_no_audio(content: bytes) -> None:
    with pytest.raises(vivavoce.NotAudio, match=r"^The audio cannot be read as audio .*; choose a WAV"):
        vivavoce.read_audio(content)
