"""The loudspeaker and `mic --speak`, with a PortAudio that the tests play."""

from __future__ import annotations

import os
import signal
import sys
import threading
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import vivavoce
from tests.unit.clients.test_microphone import FakePortAudio, PortAudioError
from vivavoce.cli import run
from vivavoce.speaker import Playback, Speaker
from vivavoce.testing import Turn, scripted

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.clients.fake_service import FakeService

Capture = pytest.CaptureFixture[str]


class FakeDevices(FakePortAudio):
    """As much of sounddevice as recording and playing use."""

    def __init__(self) -> None:
        super().__init__()
        self.output_rates = {24_000, 48_000}
        self.fill: Callable[..., None] | None = None
        self.closed = False

    def check_output_settings(self, *, samplerate: int, **_: object) -> None:
        if samplerate not in self.output_rates:
            raise PortAudioError("invalid sample rate")

    def OutputStream(self, **settings: Any) -> SimpleNamespace:  # noqa: N802 - sounddevice's name
        self.fill = settings["callback"]
        return SimpleNamespace(start=lambda: None, close=lambda: setattr(self, "closed", True))

    def play_out(self, frames: int) -> list[int]:
        out = np.full((frames, 1), 99, np.int16)
        self.fill(out, frames, None, None)
        return out[:, 0].tolist()


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> FakeDevices:
    fake = FakeDevices()
    monkeypatch.setitem(sys.modules, "sounddevice", fake)
    return fake


def piece(turn: int, *samples: int, is_last: bool = False) -> vivavoce.ReplyAudio:
    return vivavoce.ReplyAudio(turn, np.array(samples, "<i2").tobytes(), 0.0, is_last)


def test_what_comes_is_played_in_order_and_then_silence(device: FakeDevices) -> None:
    with Speaker() as speaker:
        assert speaker.playback() is None
        speaker.hear(piece(1, 1, 2, 3))
        speaker.hear(piece(1, 4, is_last=True))
        assert device.play_out(2) == [1, 2]
        assert speaker.playback() == Playback(1, 2 / 24_000, finished=False)
        assert not speaker.silent
        assert device.play_out(4) == [3, 4, 0, 0]
        assert speaker.playback() == Playback(1, 4 / 24_000, finished=True)
        assert speaker.silent
        speaker.hear(piece(2, 5))
        assert device.play_out(2) == [5, 0]
        assert speaker.playback() == Playback(2, 1 / 24_000, finished=False)
    assert device.closed


def test_an_interruption_stops_it_at_once(device: FakeDevices) -> None:
    with Speaker() as speaker:
        speaker.hear(piece(1, 1, 2, 3))
        speaker.hear(vivavoce.Interrupted(1, 0.0, "", vivavoce.InterruptionReason.SPEECH))
        speaker.hear(vivavoce.Started("c-1"))
        assert device.play_out(2) == [0, 0]


@pytest.mark.parametrize(
    ("after", "heard"),
    [
        (vivavoce.ReplyResumed(1, 0.0), [2, 3]),
        (vivavoce.Interrupted(1, 0.0, "", vivavoce.InterruptionReason.SPEECH), [0, 0]),
    ],
)
def test_a_reply_that_is_held_is_kept_until_it_is_judged(
    device: FakeDevices, after: vivavoce.Event, heard: list[int]
) -> None:
    with Speaker() as speaker:
        speaker.hear(piece(1, 1, 2, 3))
        assert device.play_out(1) == [1]
        speaker.hear(vivavoce.ReplyHeld(1, 0.0))
        assert device.play_out(2) == [0, 0]
        assert speaker.playback() == Playback(1, 1 / 24_000, finished=False)
        speaker.hear(after)
        assert device.play_out(2) == heard


def test_a_last_piece_without_audio_ends_it(device: FakeDevices) -> None:
    with Speaker() as speaker:
        speaker.hear(piece(1, 1))
        speaker.hear(piece(1, is_last=True))
        assert device.play_out(2) == [1, 0]
        assert speaker.playback().finished


def test_a_device_that_cannot_play_at_the_rate_of_the_voice_plays_at_another(device: FakeDevices) -> None:
    device.output_rates = {48_000}
    assert Speaker().format == vivavoce.AudioFormat(sample_rate_hz=48_000)
    device.output_rates = set()
    with pytest.raises(vivavoce.SpeakerUnavailable, match="no loudspeaker"):
        Speaker()


def test_a_device_that_cannot_be_opened(device: FakeDevices, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(**_: object) -> SimpleNamespace:
        raise PortAudioError("busy")

    monkeypatch.setattr(device, "OutputStream", broken)
    with pytest.raises(vivavoce.SpeakerUnavailable, match=r"cannot be opened \(busy\)"):
        Speaker().__enter__()


def test_the_microphone_speaks(device: FakeDevices, service: FakeService, capsys: Capture) -> None:
    turn = Turn("when does it open", speech_text="It opens at nine.")
    service.script = scripted(turn)
    is_over = threading.Event()

    def play() -> None:
        while not is_over.wait(0.01):
            if device.fill is not None:
                device.play_out(480)

    def record(callback: Callable[..., None]) -> None:
        callback(np.full((800, 1), 1_000, np.int16), 800, None, SimpleNamespace(input_overflow=False))
        service.config_arrived.wait(10)
        os.kill(os.getpid(), signal.SIGINT)

    device.play = record
    player = threading.Thread(target=play)
    player.start()
    try:
        assert run(["mic", "--server", service.address, "--speak", "--voice", "heart"]) == 0
    finally:
        is_over.set()
        player.join()
    config = service.config().reply_audio
    assert (config.sample_rate_hz, config.voice) == (24_000, "heart")
    assert "says    It opens at nine." in capsys.readouterr().out
    assert device.closed


def test_without_the_option_nothing_is_played(device: FakeDevices, service: FakeService) -> None:
    def record(_callback: Callable[..., None]) -> None:
        service.config_arrived.wait(10)
        os.kill(os.getpid(), signal.SIGINT)

    device.play = record
    assert run(["mic", "--server", service.address]) == 0
    assert not service.config().HasField("reply_audio")
    assert device.fill is None
