"""The microphone command, with a PortAudio that the tests play."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import threading
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import vivavoce
from vivavoce.cli import _microphone, run
from vivavoce.cli._microphone import BLOCK_SECONDS, QUEUE_BLOCKS, Microphone, choose_device, list_devices

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.clients.fake_service import FakeService

Capture = pytest.CaptureFixture[str]


class PortAudioError(Exception):
    """As sounddevice's."""


class FakePortAudio(ModuleType):
    """As much of sounddevice as the command uses; `play` runs on a thread of its own, like PortAudio's callback."""

    PortAudioError = PortAudioError

    def __init__(self, play: Callable[[Callable[..., None]], None] = lambda _: None) -> None:
        super().__init__("sounddevice")
        self.default = SimpleNamespace(device=(2, 0))
        self.rates = {16_000, 44_100}
        self.play = play
        self.opened: dict[str, Any] = {}

    def query_devices(self) -> list[dict[str, Any]]:
        return [
            {"name": "Speaker", "max_input_channels": 0, "default_samplerate": 44_100.0},
            {"name": "Webcam", "max_input_channels": 2, "default_samplerate": 44_100.0},
            {"name": "Headset", "max_input_channels": 1, "default_samplerate": 48_000.0},
        ]

    def check_input_settings(self, *, samplerate: int, **_: object) -> None:
        if samplerate not in self.rates:
            raise PortAudioError("invalid sample rate")

    def InputStream(self, **settings: Any) -> SimpleNamespace:  # noqa: N802 - sounddevice's name
        self.opened = settings
        thread = threading.Thread(target=self.play, args=(settings["callback"],))
        return SimpleNamespace(start=thread.start, close=thread.join)


def _flags(*, overflow: bool = False) -> SimpleNamespace:
    return SimpleNamespace(input_overflow=overflow)


@pytest.fixture
def portaudio(monkeypatch: pytest.MonkeyPatch) -> FakePortAudio:
    fake = FakePortAudio()
    monkeypatch.setitem(sys.modules, "sounddevice", fake)
    return fake


def test_the_device_list(portaudio: FakePortAudio, capsys: Capture) -> None:
    assert run(["mic", "--list-devices"]) == 0
    assert capsys.readouterr().out.splitlines() == ["    1  Webcam (44100 Hz)", "*   2  Headset (48000 Hz)"]


def test_the_device_list_as_json(portaudio: FakePortAudio, capsys: Capture) -> None:
    assert run(["mic", "--list-devices", "--json"]) == 0
    devices = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(device["event"], device["index"], device["is_default"]) for device in devices] == [
        ("device", 1, False),
        ("device", 2, True),
    ]


def test_the_name_of_a_device_needs_no_particular_encoding(
    portaudio: FakePortAudio, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    device = {"name": "Kopfhörer", "max_input_channels": 1, "default_samplerate": 48_000.0}
    monkeypatch.setattr(portaudio, "query_devices", lambda: [device])
    assert run(["mic", "--list-devices", "--json"]) == 0
    printed = capsys.readouterr().out
    assert printed.isascii()
    assert json.loads(printed)["name"] == "Kopfhörer"


def test_the_default_device_is_taken_unless_another_is_named(portaudio: FakePortAudio) -> None:
    devices = list_devices(portaudio)

    assert choose_device(devices, None).name == "Headset"
    assert choose_device(devices, 1).name == "Webcam"


def test_a_device_that_is_not_there(portaudio: FakePortAudio, capsys: Capture) -> None:
    assert run(["mic", "--device", "0"]) == 1
    assert capsys.readouterr().err == "There is no input device 0; `vivavoce mic --list-devices` shows them.\n"


def test_no_microphone_at_all(portaudio: FakePortAudio, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setattr(portaudio, "query_devices", list)

    assert run(["mic"]) == 1
    assert capsys.readouterr().err.startswith("There is no microphone; connect one")
    assert run(["mic", "--list-devices"]) == 0


def test_sounddevice_is_missing(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setitem(sys.modules, "sounddevice", None)

    assert run(["mic"]) == 1
    assert "run `make setup`, or `pip install '.[mic]'`" in capsys.readouterr().err


def test_portaudio_is_missing(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    """sounddevice raises OSError when it does not find the library."""

    class Finder:
        @staticmethod
        def find_spec(name: str, *_: object) -> None:
            if name == "sounddevice":
                raise OSError("PortAudio library not found")

    monkeypatch.delitem(sys.modules, "sounddevice", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Finder, *sys.meta_path])

    assert run(["mic"]) == 1
    assert "needs the PortAudio library; install it" in capsys.readouterr().err


def test_speaking_until_interrupted(portaudio: FakePortAudio, service: FakeService, capsys: Capture) -> None:
    def play(callback: Callable[..., None]) -> None:
        block = np.full((800, 1), 1_000, np.int16)
        callback(block, 800, None, _flags())
        block[:] = 2_000  # PortAudio uses its buffer again.
        callback(block, 800, None, _flags(overflow=True))
        service.config_arrived.wait(10)
        os.kill(os.getpid(), signal.SIGINT)

    portaudio.play = play

    assert run(["mic", "--server", service.address, "--json"]) == 0

    captured = capsys.readouterr()
    assert json.loads(captured.out.splitlines()[-1])["event"] == "reply"
    assert service.audio() == np.repeat(np.array([1_000, 2_000], "<i2"), 800).tobytes()
    assert service.config().audio.sample_rate_hz == 16_000
    assert portaudio.opened["device"] == 2
    assert "Listening to Headset" in captured.err
    assert "At least 0.05 s of speech were lost" in captured.err


def test_a_lost_connection_is_made_anew(
    portaudio: FakePortAudio, service: FakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: dict[str, Any] = {}
    converse = vivavoce.Client.converse

    def remembered(client: vivavoce.Client, blocks: Any, **chosen: Any) -> vivavoce.Conversation:
        options.update(chosen)
        return converse(client, blocks, **chosen)

    def play(_callback: Callable[..., None]) -> None:
        service.config_arrived.wait(10)
        os.kill(os.getpid(), signal.SIGINT)

    portaudio.play = play
    monkeypatch.setattr(vivavoce.Client, "converse", remembered)

    assert run(["mic", "--server", service.address, "--json"]) == 0
    assert options["reconnect_seconds"] == 30.0
    assert QUEUE_BLOCKS * BLOCK_SECONDS >= 30.0, "what is said meanwhile is kept"


def test_a_device_that_cannot_record_at_16_khz_records_at_its_own_rate(portaudio: FakePortAudio) -> None:
    portaudio.rates = {48_000}

    async def rate() -> int:
        return Microphone(portaudio, choose_device(list_devices(portaudio), None)).sample_rate_hz

    assert asyncio.run(rate()) == 48_000


async def test_what_nobody_takes_is_dropped_and_counted(portaudio: FakePortAudio) -> None:
    microphone = Microphone(portaudio, list_devices(portaudio)[0])
    for number in range(QUEUE_BLOCKS + 3):
        microphone._heard(np.full((800, 1), number, np.int16), 800, None, _flags())
    await asyncio.sleep(0)
    microphone.stop()

    taken = [int(block[0]) async for block in microphone.blocks(lambda _: None)]

    assert taken == list(range(QUEUE_BLOCKS))
    assert microphone.lost_blocks == 3


async def test_a_device_that_falls_silent_is_told(portaudio: FakePortAudio, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_microphone, "PATIENCE_SECONDS", 0.1)
    microphone = Microphone(portaudio, list_devices(portaudio)[0])

    with pytest.raises(Exception, match="Webcam delivers no more"):
        [block async for block in microphone.blocks(lambda _: None)]
