"""Audio intake: buffering, voice activity, and fairness."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import numpy as np

from pipelines.audio.high_pass import BLOCK_SAMPLES, HighPass
from pipelines.audio.resampling import NO_SAMPLES
from pipelines.audio.timeline import Timeline
from pipelines.load.pacing import Lead
from pipelines.vad.foreground import Foreground
from pipelines.vad.voice_activity import WINDOW_SAMPLES, WINDOW_SECONDS

if TYPE_CHECKING:
    import numpy.typing as npt

    from pipelines.load.workload import Workload
    from pipelines.vad.voice_activity import VoiceActivity

WINDOWS_AT_A_TIME = 16
"""Windows that are judged before other conversations have a turn: half a second of audio, 1 ms of work."""


class Intake:
    """The audio of one conversation, behind a high-pass filter.

    Args:
        voice: judges it; None where none will come.

    Attributes:
        held_back: whether the caller is made to wait because he sends more than his share.
    """

    def __init__(self, voice: VoiceActivity | None) -> None:
        self.held_back = False
        self._voice = voice
        self._foreground = Foreground()
        self._high_pass = HighPass()
        self._timeline = Timeline()
        # What is no whole block of the filter yet, as it came.
        self._unfiltered = NO_SAMPLES
        self._lead = Lead()
        self._judged_to = 0

    @property
    def end(self) -> int:
        """Number of the sample that comes next, 16 kHz."""
        return self._timeline.end + len(self._unfiltered)

    def add(self, samples: npt.NDArray[np.float32]) -> None:
        """Take audio in, float32 ``[samples]`` at 16 kHz."""
        heard = np.concatenate((self._unfiltered, samples)) if len(self._unfiltered) else samples
        whole = len(heard) - len(heard) % BLOCK_SAMPLES
        if whole:
            self._timeline.append(self._high_pass.filter(heard[:whole].reshape(-1, BLOCK_SAMPLES)).ravel())
        # A copy: the block that it is a part of need not be kept.
        self._unfiltered = heard[whole:].copy()

    def get(self, start: int, stop: int) -> npt.NDArray[np.float32]:
        """Return samples ``start`` up to ``stop``, exclusive, float32 ``[samples]``.

        Raises:
            IndexError: some of them were forgotten, or were not heard yet.
        """
        filtered = self._timeline.end
        if stop <= filtered:
            return self._timeline.get(start, stop)
        if not start <= stop <= self.end:
            raise IndexError(f"samples {start} to {stop} are not held: they were heard up to {self.end}")
        begun = self._high_pass.peek(self._unfiltered)[max(0, start - filtered) : stop - filtered]
        return np.concatenate((self._timeline.get(min(start, filtered), filtered), begun))

    def judge(self) -> list[tuple[float, bool]]:
        """Judge the next windows; return nothing where none is whole yet.

        Returns:
            For each how likely it is speech, 0 to 1, and whether that is a voice in the background.
        """
        assert self._voice is not None
        judged = self._judged_to // WINDOW_SAMPLES
        windows = min(self._timeline.end // WINDOW_SAMPLES - judged, WINDOWS_AT_A_TIME - judged % WINDOWS_AT_A_TIME)
        if not windows:
            return []
        start, self._judged_to = self._judged_to, self._judged_to + windows * WINDOW_SAMPLES
        self._lead.add(windows * WINDOW_SECONDS)
        samples = self._timeline.get(start, self._judged_to).reshape(windows, WINDOW_SAMPLES)
        probabilities = self._voice.probabilities(samples)
        return list(zip(probabilities, self._foreground.follow(samples, probabilities), strict=True))

    async def give_way(self, workload: Workload) -> None:
        """Yield to others; throttle excess audio while overloaded.

        Args:
            workload: what this conversation shares with others.
        """
        if self._judged_to % (WINDOWS_AT_A_TIME * WINDOW_SAMPLES):
            return
        loop = asyncio.get_running_loop()
        await asyncio.sleep(0)
        self._lead.drain(workload.share, loop.time())
        try:
            while workload.short and (seconds := self._lead.wait_seconds(workload.share)):
                self.held_back = True
                await workload.wait_while_short(seconds)
                self._lead.drain(workload.share, loop.time())
        finally:
            self.held_back = False

    def forget_before(self, sample: int) -> None:
        """Forget all audio before ``sample`` that was judged."""
        self._timeline.forget_before(min(sample, self._judged_to))
