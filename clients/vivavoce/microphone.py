"""The microphone as a source of audio, through PortAudio.

    import vivavoce
    from vivavoce.microphone import Microphone

    with Microphone() as microphone, vivavoce.sync.connect() as client:
        for event in client.converse(microphone, audio=microphone.format):
            print(event)

A microphone is iterated with `for` or with `async for`, and is what both clients take as audio. It needs the package
sounddevice and the PortAudio library.
"""

from __future__ import annotations

import asyncio
import queue
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from vivavoce._config import AudioFormat
from vivavoce._errors import MicrophoneUnavailable
from vivavoce._timeout import timeout

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from types import ModuleType, TracebackType

    from numpy.typing import NDArray
    from typing_extensions import Self

__all__ = ["Device", "Microphone", "MicrophoneUnavailable", "devices"]

PREFERRED_SAMPLE_RATE_HZ = 16_000
MAX_QUEUED_SECONDS = 30.0
"""What is said while a lost connection is made anew."""
PATIENCE_SECONDS = 3.0
"""A device that says nothing for so long, not even silence, is gone."""
_TICK_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Device:
    """An input device."""

    index: int
    """Its number, for `Microphone` and `vivavoce mic --device`."""
    name: str
    """What the system calls it."""
    channel_count: int
    """How many channels it records."""
    sample_rate_hz: int
    """Its own sample rate."""
    is_default: bool
    """Whether it is taken when none is named."""


class _CallbackFlags(Protocol):
    """Status flags that PortAudio reports with a block."""

    input_overflow: bool


def devices() -> list[Device]:
    """List the devices that can record.

    Raises:
        ModuleNotFoundError: The package sounddevice is not installed.
        MicrophoneUnavailable: The PortAudio library is not installed.
    """
    portaudio = load_portaudio()
    default = portaudio.default.device[0]
    return [
        Device(index, info["name"], info["max_input_channels"], round(info["default_samplerate"]), index == default)
        for index, info in enumerate(portaudio.query_devices())
        if info["max_input_channels"] > 0
    ]


class Microphone:
    """Records from a device, in mono, while its `with` block lasts.

    The recording waits in a bounded queue. What is not taken within 30 s is dropped and counted. Outside a `with`
    block, iterating records until it ends.

    Args:
        device: Number of the device, part of its name, or the device itself; None takes the system's default.
        chunk_seconds: How long a chunk is.
        on_level: Is told the highest absolute sample of every chunk that is taken, 0 to 1.

    Attributes:
        device: The device.
        sample_rate_hz: Samples a second: 16,000, or the device's own rate where it cannot record at that.

    Raises:
        ModuleNotFoundError: The package sounddevice is not installed.
        MicrophoneUnavailable: There is no such device, or the PortAudio library is not installed.
    """

    def __init__(
        self,
        device: int | str | Device | None = None,
        *,
        chunk_seconds: float = 0.05,
        on_level: Callable[[float], None] | None = None,
    ) -> None:
        self._portaudio = load_portaudio()
        self.device = device if isinstance(device, Device) else _choose_device(devices(), device)
        self.sample_rate_hz = self._choose_sample_rate()
        self._chunk_seconds = chunk_seconds
        self._on_level = on_level
        self._chunks: queue.Queue[NDArray[np.int16]] = queue.Queue(max(1, round(MAX_QUEUED_SECONDS / chunk_seconds)))
        self._lost_chunks = 0
        self._stopped = False
        self._open = ExitStack()
        self._is_open = False
        self._wake: Callable[[], object] | None = None

    @property
    def format(self) -> AudioFormat:
        """The format of the chunks: 16-bit PCM, mono."""
        return AudioFormat(sample_rate_hz=self.sample_rate_hz)

    @property
    def lost_seconds(self) -> float:
        """Seconds that were dropped, at least, because nobody took them in time."""
        return self._lost_chunks * self._chunk_seconds

    def __enter__(self) -> Self:
        self._open.enter_context(self._recording())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._open.close()

    def stop(self) -> None:
        """End the recording; the iteration ends after what was recorded."""
        self._stopped = True
        self._awaken()

    def __iter__(self) -> Iterator[NDArray[np.int16]]:
        """Yield what is recorded, as int16 arrays of shape [n], until `stop`.

        Raises:
            MicrophoneUnavailable: The device cannot be opened, or is gone.
        """
        with self._recording():
            silent_seconds = 0.0
            while not self._over():
                try:
                    chunk = self._chunks.get(timeout=_TICK_SECONDS)
                except queue.Empty:
                    silent_seconds = self._be_patient(silent_seconds)
                    continue
                silent_seconds = 0.0
                yield self._taken(chunk)

    async def __aiter__(self) -> AsyncIterator[NDArray[np.int16]]:
        """Yield what is recorded, as int16 arrays of shape [n], until `stop`.

        Raises:
            MicrophoneUnavailable: The device cannot be opened, or is gone.
        """
        loop, arrived = asyncio.get_running_loop(), asyncio.Event()
        with self._recording(), self._waking(lambda: loop.call_soon_threadsafe(arrived.set)):
            silent_seconds = 0.0
            while not self._over():
                arrived.clear()
                try:
                    chunk = self._chunks.get_nowait()
                except queue.Empty:
                    try:
                        async with timeout(_TICK_SECONDS):
                            await arrived.wait()
                    except TimeoutError:
                        silent_seconds = self._be_patient(silent_seconds)
                    continue
                silent_seconds = 0.0
                yield self._taken(chunk)

    @contextmanager
    def _recording(self) -> Iterator[None]:
        """Keep the device open, unless it is already."""
        if self._is_open:
            yield
            return
        try:
            stream = self._portaudio.InputStream(
                device=self.device.index,
                samplerate=self.sample_rate_hz,
                channels=1,
                dtype="int16",
                blocksize=round(self._chunk_seconds * self.sample_rate_hz),
                callback=self._heard,
            )
            stream.start()
        except self._portaudio.PortAudioError as error:
            raise MicrophoneUnavailable(f"{self.device.name} cannot be opened ({error}); choose another.") from error
        self._is_open = True
        try:
            yield
        finally:
            self._is_open = False
            stream.close()

    @contextmanager
    def _waking(self, wake: Callable[[], object]) -> Iterator[None]:
        self._wake = wake
        try:
            yield
        finally:
            self._wake = None

    def _over(self) -> bool:
        return self._stopped and self._chunks.empty()

    def _be_patient(self, silent_seconds: float) -> float:
        silent_seconds += _TICK_SECONDS
        if silent_seconds > PATIENCE_SECONDS and not self._stopped:
            raise MicrophoneUnavailable(f"{self.device.name} delivers no more; is it still connected?")
        return silent_seconds

    def _taken(self, chunk: NDArray[np.int16]) -> NDArray[np.int16]:
        if self._on_level is not None:
            self._on_level(float(np.abs(chunk.astype(np.float32)).max(initial=0.0)) / 32_768)
        return chunk

    def _heard(self, samples: NDArray[np.int16], _frames: int, _time: object, flags: _CallbackFlags) -> None:
        """Take a block on PortAudio's thread, which must never wait."""
        if flags.input_overflow:
            self._lost_chunks += 1
        if self._stopped:
            return
        try:
            self._chunks.put_nowait(samples[:, 0].copy())
        except queue.Full:
            self._lost_chunks += 1
        self._awaken()

    def _awaken(self) -> None:
        wake = self._wake
        if wake is not None:
            with suppress(RuntimeError):  # The loop was closed meanwhile.
                wake()

    def _choose_sample_rate(self) -> int:
        """Choose 16 kHz, which the service works at, unless the device itself cannot."""
        try:
            self._portaudio.check_input_settings(
                device=self.device.index, channels=1, dtype="int16", samplerate=PREFERRED_SAMPLE_RATE_HZ
            )
        except self._portaudio.PortAudioError:
            return self.device.sample_rate_hz
        return PREFERRED_SAMPLE_RATE_HZ


def load_portaudio() -> ModuleType:
    """Import sounddevice, which brings PortAudio into the process."""
    try:
        import sounddevice  # noqa: PLC0415 - an extra, and a native library
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "The microphone needs the package sounddevice; install it with `pip install sounddevice`.",
            name="sounddevice",
        ) from error
    except OSError as error:
        raise MicrophoneUnavailable(
            "The microphone needs the PortAudio library; install it (`apt-get install libportaudio2` on Debian)."
        ) from error
    module: ModuleType = sounddevice
    return module


def _choose_device(found: list[Device], wanted: int | str | None) -> Device:
    if not found:
        raise MicrophoneUnavailable("There is no microphone; connect one, or start the sound server that offers it.")
    for device in found:
        if wanted is None:
            fits = device.is_default
        elif isinstance(wanted, str):
            fits = wanted.lower() in device.name.lower()
        else:
            fits = device.index == wanted
        if fits:
            return device
    if wanted is None:  # The system has microphones but prefers none of them.
        return found[0]
    raise MicrophoneUnavailable(f"There is no input device {wanted}; `vivavoce mic --list-devices` shows them.")
