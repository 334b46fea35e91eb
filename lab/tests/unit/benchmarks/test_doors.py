"""What the comparison of doors makes of what it measured."""

from __future__ import annotations

import numpy as np
import soundfile

from benchmarks.doors import run
from benchmarks.doors.clients import CHUNK, RATE_HZ, _Speech


def test_a_door_is_compared_turn_by_turn():
    pairs = [(410.0, 400.0), (390.0, 420.0), (700.0, 690.0)]
    assert run._summary(pairs) == {"turns": 3, "median": 410.0, "median_difference": 10.0}


def test_recordings_are_read_at_one_rate_with_silence_behind_them(tmp_path):
    soundfile.write(tmp_path / "b.wav", np.full(8_000, 0.5, np.float32), 8_000)
    soundfile.write(tmp_path / "a.flac", np.full(16_000, 0.5, np.float32), 16_000)
    (tmp_path / "labels.json").write_text("{}")
    first, second = run.recordings_in(tmp_path, 5)
    assert (first.name, second.name) == ("a.flac", "b.wav")
    for path in (first, second):
        samples = run._read(path)
        assert len(samples) == round((1 + run.SILENCE_SECONDS) * RATE_HZ)
        assert samples[RATE_HZ // 2] > 10_000
        assert not samples[-RATE_HZ:].any()


async def test_speech_is_sent_in_pieces_of_a_tenth_of_a_second():
    samples = np.arange(2 * CHUNK + 10, dtype="<i2")
    speech = _Speech(samples, is_live=False)
    pieces = [piece async for piece in speech.chunks()]
    assert [len(piece) for piece in pieces] == [2 * CHUNK, 2 * CHUNK, 20]
    assert b"".join(pieces) == samples.tobytes()
    assert speech.began_at > 0
