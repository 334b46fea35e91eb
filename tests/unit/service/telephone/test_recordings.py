"""Recordings of calls: told before, two channels, encrypted, deleted by session and by age."""

from __future__ import annotations

import asyncio
import base64
import io
import os
import time
from typing import TYPE_CHECKING

import numpy as np
import pytest
import soundfile
from click.testing import CliRunner

from pipelines.audio.formats import AudioFormat, Encoding
from service.config import ConfigError, ServiceConfig
from service.lines import Lines
from service.recording_cli import recording
from service.sessions.session_cipher import VARIABLE, SessionCipher
from service.telephone.audiosocket import AudioSocketServer
from service.telephone.audiosocket_frames import HANG_UP
from service.telephone.recordings import BrokenRecordingError, Recording, Recordings
from tests.unit.service.telephone.test_audiosocket import CALL, ringing

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.service.telephone.exchange import Exchange

KEY = bytes(range(32))
ANNOUNCEMENT = "This call is recorded."
PCM = AudioFormat(Encoding.LINEAR_PCM, 8_000)


@pytest.fixture
def recordings(tmp_path: Path) -> Recordings:
    return Recordings(tmp_path / "recordings", SessionCipher(KEY))


def tone(seconds: float) -> bytes:
    return (8_000 * np.sin(np.arange(round(8_000 * seconds)) / 5)).astype("<i2").tobytes()


def test_both_sides_lie_where_they_were(recordings: Recordings):
    recorder = recordings.begin("call", PCM)
    recorder.speak(tone(0.5))
    recorder.listen()
    for number in range(200):
        recorder.hear(tone(0.02) if number < 50 else bytes(320))
        if number >= 100:
            recorder.speak(tone(0.02))
    recorder.close()
    (path,) = recordings.of_session("call")
    samples, rate = soundfile.read(io.BytesIO(recordings.read(path)))
    assert (rate, samples.shape[1]) == (16_000, 2)
    assert len(samples) / rate == pytest.approx(4.5, abs=0.15)
    loud = [np.flatnonzero(np.abs(samples[:, side]) > 0.05) / rate for side in (0, 1)]
    assert loud[0][0] == pytest.approx(0.5, abs=0.1)
    assert loud[0][-1] == pytest.approx(1.5, abs=0.1)
    assert loud[1][0] == pytest.approx(0.0, abs=0.1)
    between = loud[1][(loud[1] > 0.6)]
    assert (between[0], between[-1]) == pytest.approx((2.5, 4.5), abs=0.15)


def test_a_recording_is_read_by_its_key_alone_and_whole(recordings: Recordings, tmp_path: Path):
    recorder = recordings.begin("call", PCM)
    recorder.listen()
    rng = np.random.default_rng(0)
    for _ in range(200):
        recorder.hear(rng.integers(-9_000, 9_000, 800).astype("<i2").tobytes())
    recorder.close()
    (path,) = recordings.of_session("call")
    data = path.read_bytes()
    assert len(data) > 2 * (64 << 10)
    assert b"fLaC" not in data
    assert "call" not in path.name
    assert path.stat().st_mode & 0o077 == 0
    with pytest.raises(BrokenRecordingError, match="another key"):
        Recordings(tmp_path / "recordings", SessionCipher(bytes(32))).read(path)
    first = 4 + int.from_bytes(data[:4], "big")
    for broken, wrong in ((data[: len(data) // 2], "changed"), (data[:first], "no end"), (data[first:], "changed")):
        path.write_bytes(broken)
        with pytest.raises(BrokenRecordingError, match=wrong):
            recordings.read(path)


def test_recordings_are_deleted_by_session_and_by_age(recordings: Recordings):
    for session in ("one", "one", "two", "old"):
        recordings.begin(session, PCM).close()
    (old,) = recordings.of_session("old")
    os.utime(old, (0, time.time() - 31 * 86_400))
    recordings.sweep()
    assert recordings.of_session("old") == []
    assert recordings.delete("one") == 2
    assert recordings.delete("one") == 0
    assert len(recordings.of_session("two")) == 1


async def test_a_call_is_told_and_then_recorded(
    exchange: Exchange, recordings: Recordings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    server = AudioSocketServer(exchange.host, "127.0.0.1", 0, "bar", recording=Recording(recordings, ANNOUNCEMENT))
    await server.open()
    exchange.server = server
    async with ringing(exchange) as telephone:
        await telephone.until(lambda: exchange.models.spoken_texts[:2] == [ANNOUNCEMENT, "Hello."])
        await telephone.talk(1.0)
        telephone.send(HANG_UP)
        await asyncio.wait_for(telephone.hung_up.wait(), 10)
    await server.leave()
    await server.close()
    monkeypatch.setenv(VARIABLE, base64.b64encode(KEY).decode())
    options = ["--recordings", str(tmp_path / "recordings")]
    result = CliRunner().invoke(recording, ["get", str(CALL), *options, "--out", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    samples, rate = soundfile.read(result.output.strip())
    assert len(samples) / rate > 1.2
    # The announcement and the greeting are a constant of 0.1, a quarter of a second each.
    assert np.count_nonzero(samples[:, 1] > 0.05) / rate == pytest.approx(0.5, abs=0.15)
    assert not samples[:, 0].any()
    result = CliRunner().invoke(recording, ["delete", str(CALL), *options])
    assert result.output == "1 deleted\n"
    result = CliRunner().invoke(recording, ["get", str(CALL), *options, "--out", str(tmp_path / "out")])
    assert "no recording of this session" in result.output
    monkeypatch.delenv(VARIABLE)
    result = CliRunner().invoke(recording, ["delete", str(CALL), *options])
    assert VARIABLE in result.output


def test_without_a_key_nothing_is_recorded(exchange: Exchange, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    with pytest.raises(ConfigError, match="recordings are encrypted"):
        Lines(exchange.host, ServiceConfig(audiosocket_port=0, call_agent="bar", record_calls=tmp_path))
