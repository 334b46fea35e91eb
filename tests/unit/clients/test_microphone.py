"""The microphone and its command, with a PortAudio that the tests play."""

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
from vivavoce import microphone as microphones
from vivavoce.cli import run
from vivavoce.microphone import Microphone, devices

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
    assert Microphone().device.name == "Headset"
    assert Microphone(1).device.name == "Webcam"
    assert Microphone("webc").device.name == "Webcam"
    assert Microphone(devices()[0]).device.name == "Webcam"
    with pytest.raises(vivavoce.MicrophoneUnavailable, match=r"^There is no input device Radio; "):
        Microphone("Radio")


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
    assert "install it with `pip install './clients[mic]'` in a checkout" in capsys.readouterr().err


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
    assert microphones.MAX_QUEUED_SECONDS >= 30.0, "what is said meanwhile is kept"


def test_a_device_that_cannot_record_at_16_khz_records_at_its_own_rate(portaudio: FakePortAudio) -> None:
    portaudio.rates = {48_000}

    assert Microphone().format == vivavoce.AudioFormat(sample_rate_hz=48_000)


def _blocks(*numbers: int) -> Callable[[Callable[..., None]], None]:
    def play(callback: Callable[..., None]) -> None:
        for number in numbers:
            callback(np.full((800, 1), number, np.int16), 800, None, _flags())

    return play


def test_what_nobody_takes_is_dropped_and_counted(portaudio: FakePortAudio) -> None:
    portaudio.play = _blocks(*range(603))
    with Microphone() as microphone:
        pass
    microphone.stop()
    portaudio.play = _blocks()

    assert [int(chunk[0]) for chunk in microphone] == list(range(600))
    assert microphone.lost_seconds == pytest.approx(0.15)


@pytest.mark.parametrize("asynchronous", [True, False])
async def test_chunks_come_as_they_are_recorded(portaudio: FakePortAudio, asynchronous: bool) -> None:
    taken, levels, go_on = [], [], threading.Event()

    def play(callback: Callable[..., None]) -> None:
        _blocks(8_192)(callback)
        assert go_on.wait(5)
        _blocks(-16_384)(callback)

    portaudio.play = play
    with Microphone(on_level=levels.append, chunk_seconds=0.1) as microphone:

        def take(chunk: np.ndarray) -> None:
            taken.append(int(chunk[0]))
            go_on.set()
            if len(taken) == 2:
                microphone.stop()

        if asynchronous:
            async for chunk in microphone:
                take(chunk)
        else:
            for chunk in microphone:
                take(chunk)

    assert taken == [8_192, -16_384]
    assert levels == [0.25, 0.5]
    assert portaudio.opened["blocksize"] == 1_600


def test_a_microphone_is_opened_by_its_iteration_too(portaudio: FakePortAudio) -> None:
    portaudio.play = _blocks(1, 2)
    microphone = Microphone()
    for chunk in microphone:
        if chunk[0] == 2:
            microphone.stop()

    assert portaudio.opened["device"] == 2


def test_both_clients_take_a_microphone(portaudio: FakePortAudio, service: FakeService) -> None:
    portaudio.play = _blocks(*[1_000] * 5)

    async def listen() -> list[vivavoce.Event]:
        async with vivavoce.connect(service.address) as client:
            microphone = Microphone()
            asyncio.get_running_loop().call_later(0.3, microphone.stop)
            return [event async for event in client.converse(microphone, audio=microphone.format)]

    assert isinstance(asyncio.run(listen())[-1], vivavoce.Reply)
    with vivavoce.sync.connect(service.address) as client, Microphone() as microphone:
        threading.Timer(0.3, microphone.stop).start()
        assert isinstance(list(client.converse(microphone, audio=microphone.format))[-1], vivavoce.Reply)
    assert service.audio() == np.full(8_000, 1_000, "<i2").tobytes()


@pytest.mark.parametrize("asynchronous", [True, False])
async def test_a_device_that_falls_silent_is_told(
    portaudio: FakePortAudio, monkeypatch: pytest.MonkeyPatch, asynchronous: bool
) -> None:
    monkeypatch.setattr(microphones, "PATIENCE_SECONDS", 0.1)

    with pytest.raises(vivavoce.MicrophoneUnavailable, match="Headset delivers no more; is it still connected"):
        if asynchronous:
            async for _ in Microphone():
                pass
        else:
            list(Microphone())


def test_a_device_that_cannot_be_opened_is_told(portaudio: FakePortAudio, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: object) -> None:
        raise PortAudioError("Device unavailable")

    monkeypatch.setattr(portaudio, "InputStream", refuse)
    with pytest.raises(
        vivavoce.MicrophoneUnavailable, match="Headset cannot be opened \\(Device unavailable\\); choose"
    ):
        Microphone().__enter__()


def test_without_the_package_a_program_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sounddevice", None)
    with pytest.raises(ModuleNotFoundError, match="install it with `pip install sounddevice`"):
        devices()
    with pytest.raises(ModuleNotFoundError, match="install it with `pip install sounddevice`"):
        Microphone()
