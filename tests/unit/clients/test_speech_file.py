"""A spoken conversation as a stereo file, and `converse --speech-out`."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import numpy as np
import pytest
import soundfile

import vivavoce
from tests.virtual_time import Clock
from vivavoce.cli import run
from vivavoce.cli.speech_file import SpeechFile
from vivavoce.testing import Turn, scripted

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.unit.clients.fake_service import FakeService

RATE = 8_000
Capture = pytest.CaptureFixture[str]


def audio(seconds: float, level: int = 1_000) -> vivavoce.ReplyAudio:
    samples = np.full(round(seconds * RATE), level, "<i2")
    return vivavoce.ReplyAudio(1, samples.tobytes(), 0.0, False)


def test_both_sides_lie_where_they_were_heard(tmp_path: Path) -> None:
    path, clock = tmp_path / "talk.wav", Clock(100.0)
    file = SpeechFile(path, RATE, clock)

    async def said() -> AsyncIterator[np.ndarray]:
        for _ in range(4):
            clock.seconds += 0.5
            yield np.full(RATE // 2, 0.5, np.float32)

    async def talk() -> None:
        async for _ in file.saying(said()):
            if clock.seconds == 101.0:
                file.hear(audio(0.5))
                file.hear(audio(1.0, 2_000))
        clock.seconds = 102.1
        told = vivavoce.Interrupted(1, 1.1, "It", vivavoce.InterruptionReason.SPEECH)
        file.hear(told)

    asyncio.run(talk())
    file.write()
    sides, rate = soundfile.read(path, dtype="int16")
    assert rate == RATE
    assert len(sides) == round(2.1 * RATE)
    assert set(sides[: 2 * RATE, 0]) == {round(0.5 * 32_767)}
    right = sides[:, 1]
    assert not right[:RATE].any()
    assert set(right[RATE : RATE * 3 // 2]) == {1_000}
    assert set(right[RATE * 3 // 2 :]) == {2_000}, "the piece behind another one is played after it, up to the end"


def test_a_gap_stays_a_gap(tmp_path: Path) -> None:
    clock = Clock(0.0)
    file = SpeechFile(tmp_path / "talk.wav", RATE, clock)

    async def nothing() -> AsyncIterator[np.ndarray]:
        return
        yield

    async def talk() -> None:
        async for _ in file.saying(nothing()):
            pass
        file.hear(audio(0.5))
        clock.seconds = 1.0
        file.hear(audio(0.5))

    asyncio.run(talk())
    file.write()
    right = soundfile.read(tmp_path / "talk.wav", dtype="int16")[0][:, 1]
    assert not right[RATE // 2 : RATE].any()
    assert right[RATE:].all()


@pytest.mark.parametrize("goes_on", [True, False])
def test_a_reply_that_is_held_is_silent_meanwhile(tmp_path: Path, goes_on: bool) -> None:
    clock = Clock(0.0)
    file = SpeechFile(tmp_path / "talk.wav", RATE, clock)

    async def nothing() -> AsyncIterator[np.ndarray]:
        return
        yield

    async def talk() -> None:
        async for _ in file.saying(nothing()):
            pass
        file.hear(audio(1.0))
        clock.seconds = 0.4
        file.hear(vivavoce.ReplyHeld(1, 0.4))
        clock.seconds = 0.9
        heard_on = vivavoce.ReplyResumed(1, 0.4)
        stopped = vivavoce.Interrupted(1, 0.4, "It", vivavoce.InterruptionReason.SPEECH)
        file.hear(heard_on if goes_on else stopped)

    asyncio.run(talk())
    file.write()
    right = soundfile.read(tmp_path / "talk.wav", dtype="int16")[0][:, 1]
    at = round(0.4 * RATE)
    assert right[:at].all()
    if goes_on:
        assert not right[at : round(0.9 * RATE)].any()
        assert right[round(0.9 * RATE) :].all()
        assert len(right) == round(1.5 * RATE)
    else:
        assert not right[at:].any()


def test_a_conversation_is_written_as_it_was_heard(service: FakeService, recording: Path, tmp_path: Path) -> None:
    service.script = scripted(Turn("when does it open", speech_text="It opens at nine."))
    out = tmp_path / "talk.wav"
    assert run(["converse", str(recording), "--server", service.address, "--speech-out", str(out)]) == 0
    config = service.config()
    assert config.reply_audio.sample_rate_hz == config.audio.sample_rate_hz
    sides, rate = soundfile.read(out, dtype="int16")
    spoken = round(0.4 * rate)
    said, _ = soundfile.read(recording, dtype="float32")
    np.testing.assert_allclose(sides[: len(said), 0] / 32_767, said.mean(axis=1), atol=1e-4)
    assert len(sides) >= len(said) + spoken - rate // 10


def test_the_lines_tell_of_speech(service: FakeService, recording: Path, tmp_path: Path, capsys: Capture) -> None:
    turn = Turn("when does it open", speech_text="It opens at nine.", interrupted_after_words=2)
    service.script = scripted(turn)
    out = str(tmp_path / "talk.wav")
    arguments = ["converse", str(recording), "--server", service.address, "--speech-out", out]
    assert run([*arguments, "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    pieces = [line for line in lines if line["event"] == "reply_audio"]
    assert [line["turn"] for line in pieces] == [1, 1]
    assert pieces[0]["first_audio_ms"] >= 0
    (reply,) = (line for line in lines if line["event"] == "reply")
    assert reply["speech_text"] == "It opens at nine."
    assert lines[-1]["heard_text"] == "It opens"
    assert run(arguments) == 0
    told = capsys.readouterr().out
    assert "  says    It opens at nine." in told
    assert '! The reply was stopped after 0.2 s; "It opens" was heard.' in told


@pytest.mark.parametrize(
    ("arguments", "cure"),
    [
        (["a.wav", "b.wav", "--speech-out", "talk.wav"], "give one FILE"),
        (["a.wav", "--speech-out", "talk.mp3"], "name one"),
        (["a.wav", "--no-realtime", "--speech-out", "talk.wav"], "leave --no-realtime out"),
        (["a.wav", "--speech-out", "nowhere/talk.wav"], "there is no folder"),
    ],
)
def test_what_cannot_be_written_is_told_before_the_work(arguments: list[str], cure: str, capsys: Capture) -> None:
    assert run(["converse", *arguments]) == 2
    assert cure in capsys.readouterr().err
