"""The microphone as a source of audio, through PortAudio.

PortAudio calls back on a thread of its own, which must never wait. The samples pass through a bounded queue; when
nobody takes them for so long that it is full, the newest are dropped, counted, and told about.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import click
import numpy as np

from vivavoce.cli._extras import how_to_install

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterator
    from types import ModuleType

    from numpy.typing import NDArray

PREFERRED_SAMPLE_RATE_HZ = 16_000
BLOCK_SECONDS = 0.05
QUEUE_BLOCKS = 600
"""30 s of speech: what is said while a lost connection is made anew."""
PATIENCE_SECONDS = 3.0
"""A device that says nothing for so long, not even silence, is gone."""


@dataclass(frozen=True, slots=True)
class Device:
    """An input device."""

    index: int
    """What `--device` takes."""
    name: str
    """What the system calls it."""
    channel_count: int
    """How many channels it records."""
    sample_rate_hz: int
    """Its own sample rate."""
    is_default: bool
    """Whether it is taken when none is named."""


class _CallbackFlags(Protocol):
    """What PortAudio reports with a block."""

    input_overflow: bool


def load_portaudio() -> ModuleType:
    """Imports sounddevice, which brings PortAudio into the process.

    Raises:
        click.ClickException: One of the two is missing; the sentence says which.
    """
    try:
        import sounddevice  # noqa: PLC0415 - an extra, and a native library
    except ModuleNotFoundError as error:
        raise click.ClickException(f"The microphone needs the package sounddevice; {how_to_install('mic')}.") from error
    except OSError as error:
        raise click.ClickException(
            "The microphone needs the PortAudio library; install it (`apt-get install libportaudio2` on Debian)."
        ) from error
    module: ModuleType = sounddevice
    return module


def list_devices(portaudio: ModuleType) -> list[Device]:
    """Lists the devices that can record."""
    default = portaudio.default.device[0]
    return [
        Device(index, info["name"], info["max_input_channels"], round(info["default_samplerate"]), index == default)
        for index, info in enumerate(portaudio.query_devices())
        if info["max_input_channels"] > 0
    ]


def choose_device(devices: list[Device], index: int | None) -> Device:
    """Picks the device `index`, or the default one when it is None.

    Raises:
        click.ClickException: There is no such device, or none at all.
    """
    if not devices:
        raise click.ClickException("There is no microphone; connect one, or start the sound server that offers it.")
    for device in devices:
        if device.index == index or (index is None and device.is_default):
            return device
    if index is None:  # The system has microphones but prefers none of them.
        return devices[0]
    raise click.ClickException(f"There is no input device {index}; `vivavoce mic --list-devices` shows them.")


class Microphone:
    """Records from a device, from `recording` on until `stop`."""

    def __init__(self, portaudio: ModuleType, device: Device) -> None:
        self._portaudio = portaudio
        self._device = device
        self._blocks: asyncio.Queue[NDArray[np.int16]] = asyncio.Queue(QUEUE_BLOCKS)
        self._stopped = False
        self._loop = asyncio.get_running_loop()
        self.sample_rate_hz = self._choose_sample_rate()
        self.lost_blocks = 0
        """Blocks that were dropped, by PortAudio or by us, because nobody took them in time."""

    def stop(self) -> None:
        """Ends the recording; what was recorded is still delivered."""
        self._stopped = True

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Keeps the device open.

        Raises:
            click.ClickException: The device cannot be opened.
        """
        try:
            stream = self._portaudio.InputStream(
                device=self._device.index,
                samplerate=self.sample_rate_hz,
                channels=1,
                dtype="int16",
                blocksize=round(BLOCK_SECONDS * self.sample_rate_hz),
                callback=self._heard,
            )
            stream.start()
        except self._portaudio.PortAudioError as error:
            raise click.ClickException(f"{self._device.name} cannot be opened ({error}); choose another.") from error
        try:
            yield
        finally:
            stream.close()

    async def blocks(self, on_level: Callable[[float], None]) -> AsyncGenerator[NDArray[np.int16], None]:
        """Yields what is recorded, as int16 arrays of shape [n], until `stop`.

        Args:
            on_level: Is told the highest absolute sample of every block, 0 to 1.

        Raises:
            click.ClickException: The device is gone.
        """
        silent_seconds = 0.0
        while not (self._stopped and self._blocks.empty()):
            try:
                async with asyncio.timeout(BLOCK_SECONDS):
                    samples = await self._blocks.get()
            except TimeoutError:
                silent_seconds += BLOCK_SECONDS
                if silent_seconds > PATIENCE_SECONDS:
                    raise click.ClickException(
                        f"{self._device.name} delivers no more; is it still connected?"
                    ) from None
                continue
            silent_seconds = 0.0
            on_level(float(np.abs(samples.astype(np.float32)).max(initial=0.0)) / 32_768)
            yield samples

    def _heard(self, samples: NDArray[np.int16], _frames: int, _time: object, flags: _CallbackFlags) -> None:
        """Runs on PortAudio's thread; its buffer is valid only until it returns."""
        self._loop.call_soon_threadsafe(self._keep, samples[:, 0].copy(), flags.input_overflow)

    def _keep(self, samples: NDArray[np.int16], overflowed: bool) -> None:
        if overflowed:
            self.lost_blocks += 1
        if self._stopped:
            return
        try:
            self._blocks.put_nowait(samples)
        except asyncio.QueueFull:
            self.lost_blocks += 1

    def _choose_sample_rate(self) -> int:
        """Chooses 16 kHz, which the service works at, unless the device itself cannot."""
        try:
            self._portaudio.check_input_settings(
                device=self._device.index, channels=1, dtype="int16", samplerate=PREFERRED_SAMPLE_RATE_HZ
            )
        except self._portaudio.PortAudioError:
            return self._device.sample_rate_hz
        return PREFERRED_SAMPLE_RATE_HZ
