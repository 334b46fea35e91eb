"""Queue of spoken replies, taken frame by frame at the pace of a line or a track."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

FRAME_SECONDS = 0.02
LEAD_SECONDS = 0.06
"""How long after a frame was taken it is heard: the other side's buffer, which evens out the jitter of a network."""
REPORT_SECONDS = 0.1
"""How often it is told how far a reply was played."""


@dataclass(slots=True)
class _Piece:
    turn: int
    start_seconds: float
    audio: bytes
    is_last: bool


class ReplyQueue:
    """Speech that waits to be played, in frames of 20 ms.

    Args:
        bytes_per_second: of the audio.

    Attributes:
        on_played: called with the turn, the seconds of its reply that were played, and whether that is all of it: at
            the first frame of a reply, every 0.1 s, and at its end.
    """

    def __init__(self, bytes_per_second: int) -> None:
        self.bytes_per_second = bytes_per_second
        self.on_played: Callable[[int, float, bool], None] = lambda *_: None
        self._frame_bytes = round(bytes_per_second * FRAME_SECONDS)
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[_Piece] = deque()
        self._held: set[int] = set()
        self._changed = asyncio.Event()
        self._silent = asyncio.Event()
        self._silent.set()
        self._reported = (0, 0.0)

    def add(self, turn: int, start_seconds: float, audio: bytes, *, is_last: bool) -> None:
        """Queue the next piece of a reply."""
        self._waiting.append(_Piece(turn, start_seconds, audio, is_last))
        self._silent.clear()
        self._changed.set()

    def hold(self, turn: int) -> None:
        """Give out no more of a reply, and keep what is left of it."""
        self._held.add(turn)

    def resume(self, turn: int) -> None:
        """Go on with a reply that was held."""
        self._held.discard(turn)
        self._changed.set()

    def drop(self, turn: int | None = None) -> None:
        """Drop what is left of a reply; None: of all."""
        self._held = set() if turn is None else self._held - {turn}
        self._waiting = deque(piece for piece in self._waiting if turn is not None and piece.turn != turn)
        if not self._waiting:
            self._silent.set()

    async def silence(self) -> None:
        """Wait until everything was taken."""
        await self._silent.wait()

    async def speech(self) -> None:
        """Wait until something can be taken."""
        while not self._can_play:
            self._changed.clear()
            await self._changed.wait()

    def take(self) -> bytes:
        """Take the next frame; a short one at the end, an empty one for silence."""
        frame = bytearray()
        turn = self._waiting[0].turn if self._waiting else 0
        while self._can_play and self._waiting[0].turn == turn and len(frame) < self._frame_bytes:
            piece = self._waiting[0]
            more, piece.audio = (
                piece.audio[: self._frame_bytes - len(frame)],
                piece.audio[self._frame_bytes - len(frame) :],
            )
            frame += more
            piece.start_seconds += len(more) / self.bytes_per_second
            is_over = not piece.audio
            if is_over:
                self._waiting.popleft()
            self._report(piece, finishes=is_over and piece.is_last)
        if not self._waiting:
            self._silent.set()
        return bytes(frame)

    @property
    def _can_play(self) -> bool:
        return bool(self._waiting) and self._waiting[0].turn not in self._held

    def _report(self, piece: _Piece, *, finishes: bool) -> None:
        turn, at = self._reported
        if finishes or piece.turn != turn or self._loop.time() >= at + REPORT_SECONDS:
            self._reported = (piece.turn, self._loop.time())
            self.on_played(piece.turn, max(0.0, piece.start_seconds - LEAD_SECONDS), finishes)
