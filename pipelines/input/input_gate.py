"""Back-pressure on audio: its turn, its share, and the pace of the models."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

from pipelines.audio.formats import MODEL_RATE_HZ
from pipelines.input.audio_input import WINDOWS_AT_A_TIME
from pipelines.load.pacing import Lead
from pipelines.turns import listening
from pipelines.vad.voice_activity import WINDOW_SAMPLES, WINDOW_SECONDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt

    from pipelines.input.audio_input import AudioInput
    from pipelines.load.workload import Workload
    from pipelines.turns.events import Window
    from pipelines.turns.state import State

MAX_BACKLOG_SAMPLES = 10 * MODEL_RATE_HZ
"""Audio that may wait for the recognizer before a caller that sends faster than real time is made to wait."""

MAX_OPEN_TURNS = 8
"""Turns that may wait for their reply before the caller is made to wait."""

STALL_SECONDS = 5.0
"""Time without audio after which a speaker's place in the recognizer is given back."""


class Listener(Protocol):
    """Listener to audio.

    Attributes:
        state: of the turns.
    """

    state: State

    @property
    def backlog_samples(self) -> int:
        """Samples that the recognizer has not answered for."""

    def hear(self, windows: Sequence[Window], at: float) -> int:
        """Act on windows of audio; return how many before a wait is needed.

        Args:
            windows: one or more.
            at: when they came.
        """

    def stalled(self) -> None:
        """Act on the audio of a speaker having stopped."""


class InputGate:
    """Lets audio in, with back-pressure.

    Args:
        audio: takes it in.
        listener: acts on it.
        workload: what the conversation shares with others.
    """

    def __init__(self, audio: AudioInput, listener: Listener, workload: Workload) -> None:
        self._audio, self._listener, self._workload = audio, listener, workload
        self._loop = asyncio.get_running_loop()
        self._progress = asyncio.Event()
        self._lead = Lead()
        self._came_from = 0
        # Where the audio of the utterance is ahead of time: its first sample, and when that came.
        self._live_sample, self._live_at = 0, 0.0
        self._unheard: Sequence[Window] = ()
        self._held_up = self._held_back = self._waits_as_if_live = False
        self._last_audio = self._loop.time()
        self._stall_timer: asyncio.TimerHandle | None = None

    def hold_up(self, *, held_up: bool) -> None:
        """Set whether another part of this stream, such as a channel, is awaited."""
        self._held_up = held_up
        self._last_audio = self._loop.time()

    def progressed(self) -> None:
        """Say that something was worked off."""
        self._progress.set()

    def speech_began(self) -> None:
        """Record an utterance's beginning, and whether its audio is ahead of time."""
        self._live_sample, self._live_at = self._came_from, self._loop.time()

    def cancel(self) -> None:
        """Watch the audio no more."""
        if self._stall_timer is not None:
            self._stall_timer.cancel()

    async def take(self, samples: npt.NDArray[np.float32], at: float) -> None:
        """Take samples in, float32 ``[samples]`` at 16 kHz, that came at ``at``."""
        if self._listener.state.phase != "pausing":
            # Others are served between two blocks. Those whose utterance this audio may complete need not wait for it.
            await asyncio.sleep(0)
        if self._workload.precedence.tellers:
            await self._workload.precedence.wait()
        self._last_audio = self._loop.time()
        self._came_from = self._audio.end
        self._audio.add(samples)
        await self.judge(at)
        self._last_audio = self._loop.time()  # Who was made to wait can go on only now.
        if self._listener.state.speaking is not None and self._stall_timer is None:
            self._stall_timer = self._loop.call_at(self._last_audio + STALL_SECONDS, self._check_stall)

    async def judge(self, at: float) -> None:
        """Judge every whole window of audio, and have it acted on."""
        # What was judged is kept until it is heard: a caller may be cancelled while he waits, and go on later.
        while unheard := self._unheard or self._audio.judge():
            self._unheard = unheard
            while self._unheard:
                if await self._wait_as_if_live():
                    at = self._loop.time()
                self._unheard = self._unheard[self._listener.hear(self._unheard, at) :]
            if self._is_crowded():
                await self.wait_for_room()
            if not self._audio.judged_to % (WINDOWS_AT_A_TIME * WINDOW_SAMPLES):
                await self._give_way()
        self._audio.forget_before(listening.keep_from(self._listener.state))

    async def wait_for_room(self) -> None:
        """Wait while too much is not worked off."""
        while self._is_crowded():
            self._progress.clear()
            await self._progress.wait()

    async def _give_way(self) -> None:
        """Yield to others; while overloaded, hold audio to its share."""
        workload = self._workload
        self._lead.add(WINDOWS_AT_A_TIME * WINDOW_SECONDS)
        await asyncio.sleep(0)
        self._lead.drain(workload.share, self._loop.time())
        try:
            while workload.short and (seconds := self._lead.wait_seconds(workload.share)):
                self._held_back = True
                await workload.wait_while_short(seconds)
                self._lead.drain(workload.share, self._loop.time())
        finally:
            self._held_back = False

    async def _wait_as_if_live(self) -> bool:
        """Await a pause's judgement if ahead of real time; return whether it had to.

        Otherwise the rest of the pause would be heard before the model has answered, and a recording that is sent fast
        would be cut by the silence rule.
        """
        waited = False
        while self._listener.state.awaits_judgement:
            ahead = (self._listener.state.heard_to - self._live_sample) / MODEL_RATE_HZ
            seconds = ahead - (self._loop.time() - self._live_at)
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
        listener = self._listener
        return listener.backlog_samples > MAX_BACKLOG_SAMPLES or len(listener.state.ending) > MAX_OPEN_TURNS

    def _check_stall(self) -> None:
        self._stall_timer = None
        if self._held_up or self._waits_as_if_live or self._held_back or self._is_crowded():
            # Who is made to wait has not fallen silent.
            self._last_audio = self._loop.time()
        if self._loop.time() >= self._last_audio + STALL_SECONDS:
            self._listener.stalled()
        else:
            self._stall_timer = self._loop.call_at(self._last_audio + STALL_SECONDS, self._check_stall)
