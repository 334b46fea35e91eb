"""Speech of replies at the pace of a line, in virtual time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from service.sessions.reply_queue import FRAME_SECONDS, LEAD_SECONDS
from service.telephone.playout import Playout
from tests import virtual_time

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

BYTES_PER_SECOND = 16_000
FRAME = round(BYTES_PER_SECOND * FRAME_SECONDS)


class Line:
    """Keeps what was sent, when, and what was told of it."""

    def __init__(self) -> None:
        self.frames: list[tuple[float, bytes]] = []
        self.told: list[tuple[float, int, float, bool]] = []
        self._loop = asyncio.get_running_loop()

    async def send(self, frame: bytes) -> None:
        self.frames.append((self._loop.time(), frame))

    def played(self, turn: int, seconds: float, is_all: bool) -> None:
        self.told.append((self._loop.time(), turn, round(seconds, 3), is_all))


def playing(what: Callable[[Playout, Line], Awaitable[None]]) -> Line:
    async def main() -> Line:
        line = Line()
        playout = Playout(BYTES_PER_SECOND, line.send, line.played)
        running = asyncio.create_task(playout.run())
        await what(playout, line)
        running.cancel()
        await asyncio.wait((running,))
        return line

    return virtual_time.run(main())


def test_speech_is_sent_at_the_pace_of_the_line_a_little_ahead():
    async def say(playout: Playout, _: Line) -> None:
        await asyncio.sleep(1)
        playout.add(1, 0.0, bytes(BYTES_PER_SECOND), is_last=True)
        await playout.silence()

    line = playing(say)
    assert {len(frame) for _, frame in line.frames} == {FRAME}
    assert len(line.frames) == 50
    for number, (at, _) in enumerate(line.frames):
        assert at == pytest.approx(max(1, 1 + number * FRAME_SECONDS - LEAD_SECONDS), abs=0.001)
    assert line.told[-1][1:] == (1, pytest.approx(1 - LEAD_SECONDS), True)
    assert [seconds for _, _, seconds, _ in line.told] == sorted(seconds for _, _, seconds, _ in line.told)


def test_what_is_held_waits_and_what_is_dropped_is_gone():
    async def say(playout: Playout, line: Line) -> None:
        playout.add(1, 0.0, bytes(BYTES_PER_SECOND), is_last=True)
        await asyncio.sleep(0.3)
        playout.hold(1)
        sent = len(line.frames)
        await asyncio.sleep(2)
        assert len(line.frames) <= sent + 1
        playout.resume(1)
        await asyncio.sleep(0.3)
        assert len(line.frames) > sent + 10
        playout.drop(1)
        playout.add(2, 0.0, bytes(FRAME), is_last=True)
        await playout.silence()

    line = playing(say)
    assert len(line.frames) < 40
    assert line.told[-1][1] == 2
    assert not any(turn == 1 and is_all for _, turn, _, is_all in line.told)


def test_a_piece_that_is_no_whole_frame():
    async def say(playout: Playout, _: Line) -> None:
        playout.add(1, 0.0, bytes(FRAME + 2), is_last=False)
        playout.add(1, (FRAME + 2) / BYTES_PER_SECOND, b"", is_last=True)
        await playout.silence()

    line = playing(say)
    assert [len(frame) for _, frame in line.frames] == [FRAME, 2]
    assert line.told[-1][3]
