"""Playout of spoken replies at the pace of a telephone line."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

FRAME_SECONDS = 0.02
LEAD_SECONDS = 0.06
"""How far ahead of its playback audio is sent: the jitter of a network, which the switch's own buffer evens out."""
REPORT_SECONDS = 0.1
"""How often it is told how far a reply was played."""


@dataclass(slots=True)
class _Piece:
    turn: int
    start_seconds: float
    audio: bytes
    is_last: bool


class Playout:
    """Sends frames of 20 ms at the pace at which they are heard.

    Args:
        bytes_per_second: of the audio.
        send: sends a frame to the switch.
        on_played: called with the turn, the seconds of its reply that were played, and whether that is all of it.
    """

    def __init__(
        self,
        bytes_per_second: int,
        send: Callable[[bytes], Awaitable[None]],
        on_played: Callable[[int, float, bool], None],
    ) -> None:
        self._bytes_per_second = bytes_per_second
        self._frame_bytes = round(bytes_per_second * FRAME_SECONDS)
        self._send, self._on_played = send, on_played
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[_Piece] = deque()
        self._held: set[int] = set()
        self._changed = asyncio.Event()
        self._silent = asyncio.Event()
        self._silent.set()
        self._reported_at = 0.0

    def add(self, turn: int, start_seconds: float, audio: bytes, *, is_last: bool) -> None:
        """Queue the next piece of a reply."""
        self._waiting.append(_Piece(turn, start_seconds, audio, is_last))
        self._silent.clear()
        self._changed.set()

    def hold(self, turn: int) -> None:
        """Stop sending a reply, and keep what is left of it."""
        self._held.add(turn)

    def resume(self, turn: int) -> None:
        """Go on with a reply that was held."""
        self._held.discard(turn)
        self._changed.set()

    def drop(self, turn: int) -> None:
        """Drop what is left of a reply."""
        self._held.discard(turn)
        self._waiting = deque(piece for piece in self._waiting if piece.turn != turn)
        if not self._waiting:
            self._silent.set()

    async def silence(self) -> None:
        """Wait until everything was played."""
        await self._silent.wait()

    async def run(self) -> None:
        """Send what is queued, until it is cancelled."""
        due = 0.0
        while True:
            piece = self._waiting[0] if self._waiting else None
            if piece is None or piece.turn in self._held:
                self._changed.clear()
                await self._changed.wait()
                continue
            # After a silence the line begins anew.
            due = max(due, self._loop.time() - LEAD_SECONDS)
            await asyncio.sleep(due - self._loop.time())
            if self._waiting and self._waiting[0] is piece and piece.turn not in self._held:
                due += await self._send_frame(piece)

    async def _send_frame(self, piece: _Piece) -> float:
        """Send the next frame of a piece; return the seconds that it lasts."""
        frame, piece.audio = piece.audio[: self._frame_bytes], piece.audio[self._frame_bytes :]
        seconds = len(frame) / self._bytes_per_second
        piece.start_seconds += seconds
        is_over = not piece.audio
        if is_over:
            self._waiting.popleft()
        if frame:
            await self._send(frame)
        finishes = is_over and piece.is_last
        if finishes or self._loop.time() >= self._reported_at + REPORT_SECONDS:
            self._reported_at = self._loop.time()
            self._on_played(piece.turn, max(0.0, piece.start_seconds - LEAD_SECONDS), finishes)
        if not self._waiting:
            self._silent.set()
        return seconds
