"""Stereo recording of a spoken conversation: caller left, service right."""

from __future__ import annotations

import os
import time
import wave
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from vivavoce import AudioFormat, Event, Interrupted, ReplyAudio, ReplyHeld, ReplyResumed

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from numpy.typing import NDArray

_FULL_SCALE = 32_767


@dataclass(slots=True)
class _Piece:
    """Audio of the service, and the sample of the conversation that it is heard from."""

    start: int
    samples: NDArray[np.int16]


class SpeechFile:
    """Both sides of a conversation that is held at the pace of speech.

    Args:
        path: The WAV file.
        sample_rate_hz: Samples a second, of both sides.
        clock: Tells the time in seconds.
    """

    def __init__(self, path: Path, sample_rate_hz: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._rate = sample_rate_hz
        self._clock = clock
        self._began: float | None = None
        self._said: list[NDArray[np.int16]] = []
        self._heard: list[_Piece] = []
        self._held_at: int | None = None

    @property
    def format(self) -> AudioFormat:
        """Format that replies have to be spoken in."""
        return AudioFormat(sample_rate_hz=self._rate)

    async def saying(self, chunks: AsyncIterator[NDArray[np.float32]]) -> AsyncIterator[NDArray[np.float32]]:
        """Yield what the caller says, and keep it."""
        self._began = self._clock()
        async for chunk in chunks:
            self._said.append(np.clip(np.rint(chunk * _FULL_SCALE), -_FULL_SCALE, _FULL_SCALE).astype(np.int16))
            yield chunk

    def hear(self, event: Event) -> None:
        """Keep speech of the service: each piece behind the one before."""
        match event:
            case ReplyAudio(audio=audio) if audio:
                end = self._heard[-1].start + len(self._heard[-1].samples) if self._heard else 0
                self._heard.append(_Piece(max(end, self._now()), np.frombuffer(audio, "<i2").astype(np.int16)))
            case ReplyHeld():
                self._held_at = self._now()
            case ReplyResumed() if self._held_at is not None:
                self._delay(self._held_at, self._now() - self._held_at)
                self._held_at = None
            case Interrupted():
                now = self._now() if self._held_at is None else self._held_at
                self._held_at = None
                self._heard = [_Piece(piece.start, piece.samples[: max(0, now - piece.start)]) for piece in self._heard]

    def _delay(self, at: int, samples: int) -> None:
        """Move what was to be heard from the sample `at` on."""
        pieces: list[_Piece] = []
        for piece in self._heard:
            heard = min(len(piece.samples), max(0, at - piece.start))
            if heard:
                pieces.append(_Piece(piece.start, piece.samples[:heard]))
            if heard < len(piece.samples):
                pieces.append(_Piece(piece.start + heard + samples, piece.samples[heard:]))
        self._heard = pieces

    def write(self) -> None:
        """Write the file. One that was there is replaced when all is written."""
        said = np.concatenate(self._said) if self._said else np.zeros(0, np.int16)
        length = max([len(said), *(piece.start + len(piece.samples) for piece in self._heard)])
        sides = np.zeros((length, 2), "<i2")
        sides[: len(said), 0] = said
        for piece in self._heard:
            sides[piece.start : piece.start + len(piece.samples), 1] = piece.samples
        partial = self._path.with_name(f".{self._path.name}.{os.getpid()}.part")
        try:
            with wave.open(str(partial), "wb") as file:
                file.setnchannels(2)
                file.setsampwidth(2)
                file.setframerate(self._rate)
                file.writeframes(sides.tobytes())
            partial.replace(self._path)
        finally:
            partial.unlink(missing_ok=True)

    def _now(self) -> int:
        """Return the sample that is said now."""
        return 0 if self._began is None else round((self._clock() - self._began) * self._rate)
