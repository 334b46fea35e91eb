"""A loudspeaker for spoken replies, through PortAudio.

    with Speaker() as speaker:
        voice = vivavoce.ReplyVoice(speaker.format)
        for event in client.converse(microphone, audio=microphone.format, reply_audio=voice):
            speaker.hear(event)

The microphone must not hear it: use headphones, or a device with echo cancellation. It needs the package sounddevice
and the PortAudio library.
"""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from vivavoce._config import AudioFormat
from vivavoce._errors import SpeakerUnavailable
from vivavoce._spoken import Interrupted, ReplyAudio, ReplyHeld, ReplyResumed
from vivavoce.microphone import load_portaudio

if TYPE_CHECKING:
    from types import TracebackType

    from numpy.typing import NDArray
    from typing_extensions import Self

    from vivavoce._events import Event

__all__ = ["Playback", "Speaker", "SpeakerUnavailable"]

PREFERRED_SAMPLE_RATE_HZ = 24_000
_OTHER_SAMPLE_RATES_HZ = (48_000, 44_100, 16_000)


@dataclass(frozen=True, slots=True)
class Playback:
    """Playback position of a spoken reply."""

    turn: int
    """Number of the turn."""
    position_seconds: float
    """Up to where, from the start of its audio."""
    finished: bool
    """Whether nothing more of it will be played."""


@dataclass(slots=True)
class _Piece:
    """A piece of a reply that is not played yet."""

    turn: int
    samples: NDArray[np.int16]
    is_last: bool


class Speaker:
    """Plays spoken replies as they come, in mono, while its `with` block lasts.

    Args:
        device: Number or part of the name of the output device; None takes the system's default.

    Attributes:
        sample_rate_hz: Samples a second: 24,000, or another rate where the device cannot play that.

    Raises:
        ModuleNotFoundError: The package sounddevice is not installed.
        SpeakerUnavailable: There is no such device.
        MicrophoneUnavailable: The PortAudio library is not installed.
    """

    def __init__(self, device: int | str | None = None) -> None:
        self._portaudio = load_portaudio()
        self._device = device
        self.sample_rate_hz = self._choose_sample_rate()
        self._lock = threading.Lock()
        self._pieces: deque[_Piece] = deque()
        self._turn = 0
        self._played = 0
        self._finished = False
        self._held: int | None = None

    @property
    def format(self) -> AudioFormat:
        """The format to ask replies in: 16-bit PCM, mono."""
        return AudioFormat(sample_rate_hz=self.sample_rate_hz)

    def __enter__(self) -> Self:
        try:
            self._stream = self._portaudio.OutputStream(
                device=self._device,
                samplerate=self.sample_rate_hz,
                channels=1,
                dtype="int16",
                latency="low",
                callback=self._fill,
            )
            self._stream.start()
        except self._portaudio.PortAudioError as error:
            raise SpeakerUnavailable(f"The loudspeaker cannot be opened ({error}); choose another.") from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stream.close()

    def hear(self, event: Event) -> None:
        """Play a piece of a reply, hold it, or drop it, as the events tell."""
        match event:
            case ReplyAudio():
                samples = np.frombuffer(event.audio, "<i2").astype(np.int16)
                with self._lock:
                    self._pieces.append(_Piece(event.turn, samples, event.is_last))
            case ReplyHeld():
                with self._lock:
                    self._held = event.turn
            case ReplyResumed():
                with self._lock:
                    self._held = None
            case Interrupted():
                with self._lock:
                    self._held = None
                    self._pieces = deque(piece for piece in self._pieces if piece.turn != event.turn)

    def playback(self) -> Playback | None:
        """Return the playback position for `Conversation.send_playback`, or None."""
        with self._lock:
            if not self._turn:
                return None
            return Playback(self._turn, self._played / self.sample_rate_hz, self._finished)

    @property
    def silent(self) -> bool:
        """True when nothing waits to be played."""
        with self._lock:
            return not self._pieces

    def _fill(self, out: NDArray[np.int16], frames: int, _time: object, _flags: object) -> None:
        """Fill the device's buffer on PortAudio's thread, with silence at the end."""
        at = 0
        with self._lock:
            while at < frames and self._pieces and self._pieces[0].turn != self._held:
                piece = self._pieces[0]
                if piece.turn != self._turn:
                    self._turn, self._played, self._finished = piece.turn, 0, False
                part = piece.samples[: frames - at]
                out[at : at + len(part), 0] = part
                at += len(part)
                self._played += len(part)
                piece.samples = piece.samples[len(part) :]
                if not len(piece.samples):
                    self._finished = piece.is_last
                    self._pieces.popleft()
        out[at:] = 0

    def _choose_sample_rate(self) -> int:
        """Choose the rate of the voice, unless the device cannot play at that."""
        for rate in (PREFERRED_SAMPLE_RATE_HZ, *_OTHER_SAMPLE_RATES_HZ):
            try:
                self._portaudio.check_output_settings(device=self._device, channels=1, dtype="int16", samplerate=rate)
            except (self._portaudio.PortAudioError, ValueError):
                continue
            return rate
        raise SpeakerUnavailable("There is no loudspeaker that plays speech; connect one, or choose another.")
