"""Audio input of a conversation, throttled to what can be processed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from pipelines.audio.formats import MODEL_RATE_HZ
from pipelines.session.real_time import RealTime
from pipelines.session.stall_watch import StallWatch
from pipelines.turns import listening

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    import numpy.typing as npt

    from pipelines.load.workload import Workload
    from pipelines.session.intake import Intake
    from pipelines.turns.state import State

MAX_BACKLOG_SAMPLES = 10 * MODEL_RATE_HZ
"""Audio that may wait for the recognizer before a caller that sends faster than real time is made to wait."""

MAX_OPEN_TURNS = 8
"""Turns that may wait for their reply before the caller is made to wait."""


class Hearing:
    """Audio input with back-pressure.

    Args:
        intake: keeps the audio.
        workload: what the conversation shares with others.
        state: returns the state of the machine.
        hear: lets the machine act on windows of audio, given what :meth:`Intake.judge` says of them and the time;
            returns how many it took before it had to wait.
        backlog_samples: returns how many samples the recognizer has not answered for.
        on_stall: called when the audio of a speaker has stopped coming.
    """

    def __init__(
        self,
        intake: Intake,
        workload: Workload,
        state: Callable[[], State],
        hear: Callable[[Sequence[tuple[float, bool]], float], int],
        backlog_samples: Callable[[], int],
        on_stall: Callable[[], None],
    ) -> None:
        self._intake, self._workload = intake, workload
        self._state, self._hear, self._backlog_samples = state, hear, backlog_samples
        self._loop = asyncio.get_running_loop()
        self._progress = asyncio.Event()
        self._stall_watch = StallWatch(self._makes_wait, on_stall)
        self._real_time = RealTime()
        self._came_from = 0
        self._unheard: Sequence[tuple[float, bool]] = ()
        self._held_up = self._waits_as_if_live = False

    def hold_up(self, *, held_up: bool) -> None:
        """Set whether another part of this stream, such as a channel, is awaited."""
        self._held_up = held_up
        self._stall_watch.reset()

    def progressed(self) -> None:
        """Say that something was worked off."""
        self._progress.set()

    def speech_began(self) -> None:
        """Record an utterance's beginning, and whether its audio is ahead of time."""
        self._real_time = RealTime(self._came_from, self._loop.time())

    def cancel(self) -> None:
        """Watch the audio no more."""
        self._stall_watch.cancel()

    async def listen(self, samples: npt.NDArray[np.float32], at: float) -> None:
        """Take decoded audio in, float32 ``[samples]`` at 16 kHz, that came at ``at``."""
        if self._state().phase != "pausing":
            # Others are served between two blocks. Those whose utterance this audio may complete need not wait for it.
            await asyncio.sleep(0)
        await self._workload.precedence.wait()
        self._stall_watch.reset()
        self._came_from = self._intake.end
        self._intake.add(samples)
        await self.judge(at)
        self._stall_watch.reset()  # Who was made to wait can go on only now.
        if self._state().speaking is not None:
            self._stall_watch.begin()

    async def judge(self, at: float) -> None:
        """Judge every whole window of audio, and let the machine act on it."""
        # What was judged is kept until it is heard: a caller may be cancelled while he waits, and go on later.
        while unheard := self._unheard or self._intake.judge():
            self._unheard = unheard
            while self._unheard:
                if await self._wait_as_if_live():
                    at = self._loop.time()
                self._unheard = self._unheard[self._hear(self._unheard, at) :]
            if self._is_crowded():
                await self.wait_for_room()
            await self._intake.give_way(self._workload)
        self._intake.forget_before(listening.keep_from(self._state()))

    async def wait_for_room(self) -> None:
        """Wait while too much is not worked off."""
        while self._is_crowded():
            self._progress.clear()
            await self._progress.wait()

    async def _wait_as_if_live(self) -> bool:
        """Await a pause's judgement if ahead of real time; return whether it had to.

        Otherwise the rest of the pause would be heard before the model has answered, and a recording that is sent fast
        would be cut by the silence rule.
        """
        waited = False
        while self._state().awaits_judgement:
            seconds = self._real_time.ahead_seconds(self._state().heard_to, self._loop.time())
            if seconds <= 0:
                break
            waited = self._waits_as_if_live = True
            self._progress.clear()
            try:
                async with asyncio.timeout(seconds):
                    await self._progress.wait()
            except TimeoutError:
                break
            finally:
                self._waits_as_if_live = False
        return waited

    def _is_crowded(self) -> bool:
        return self._backlog_samples() > MAX_BACKLOG_SAMPLES or len(self._state().ending) > MAX_OPEN_TURNS

    def _makes_wait(self) -> bool:
        return self._held_up or self._waits_as_if_live or self._is_crowded() or self._intake.held_back
