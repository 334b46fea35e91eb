"""Second opinions: finished speech, read by a heavier recognizer as well.

A sequence of its own gets all audio of a segment at once. Requests of a sequence are never cancelled: an answer that
is of no use any more is ignored.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipelines.errors import ModelError
from pipelines.unexpected_errors import MISTAKE, log_mistake

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    import numpy.typing as npt

    from pipelines.data.recognition import Hypothesis, RecognitionOptions, Timing
    from pipelines.models.ports import Recognizer

logger = logging.getLogger(__name__)

SECOND_OPINION = "second_opinion"
"""Name of this work among the stages that are observed."""

MAX_WAIT_SHARE = 0.5
"""Share of the reply's budget for which the text waits for a second opinion: the other half is for the stages."""
MAX_TRANSCRIPT_WAIT_SECONDS = 1.0
"""Time for which a transcript waits where nothing is replied to."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Speech of a segment that is to be read.

    Attributes:
        turn: its turn.
        segment: number of the segment.
        stop: one past its last sample.
        audio: float32 ``[samples]`` at 16 kHz.
        recognizer: reads it; None: there is none for this speech.
        options: what is asked beside the words.
    """

    turn: int
    segment: int
    stop: int
    audio: npt.NDArray[np.float32]
    recognizer: Recognizer | None
    options: RecognitionOptions


class SecondOpinions:
    """Reads the segments of a conversation again, one at a time.

    Args:
        on_answer: called with each reading that is waited for and what came of it; None: nothing, or not in time.
        is_awaited: tells whether a reading is still waited for, by turn, segment and last sample.
        on_timing: called with the turn and the cost of each answer; turn 0 where it is not waited for any more.
        on_failure: called with the turn and the reason of each failure, likewise.
        has_time: tells whether the machine has time for it; otherwise nothing is read.
    """

    def __init__(
        self,
        on_answer: Callable[[Reading, Hypothesis | None], None],
        is_awaited: Callable[[Reading], bool],
        on_timing: Callable[[int, Timing], None],
        on_failure: Callable[[int, ModelError], None],
        has_time: Callable[[], bool],
    ) -> None:
        self._on_answer, self._is_awaited, self._has_time = on_answer, is_awaited, has_time
        self._on_timing, self._on_failure = on_timing, on_failure
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[int, Reading] = {}
        self._open: dict[int, Reading] = {}
        self._timers: dict[int, asyncio.TimerHandle] = {}
        self._task: asyncio.Task[None] | None = None
        self._under_way: Reading | None = None
        self._began = self._pace = 0.0

    def read(self, reading: Reading) -> None:
        """Have a segment read, in place of an earlier reading of it."""
        self._waiting[reading.segment] = self._open[reading.segment] = reading
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run(), name="second-opinions")

    def end(self, turn: int, wait_seconds: float) -> None:
        """Answer all readings of a turn that is over within ``wait_seconds``.

        One that would not be ready by then, at the pace of the last one, is answered at once.
        """
        awaited = [reading for reading in self._open.values() if reading.turn == turn]
        if awaited:
            seconds = wait_seconds if all(self._expected(one) <= wait_seconds for one in awaited) else 0.0
            self._timers[turn] = self._loop.call_later(seconds, self._give_up, turn)

    def cancel(self) -> None:
        """Read nothing more; the model answers what it was asked all the same."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        self._waiting.clear()
        self._open.clear()

    async def wait(self) -> None:
        """Wait until nothing is read."""
        if self._task is not None:
            await asyncio.wait((self._task,))

    async def _run(self) -> None:
        while self._waiting:
            reading = self._waiting.pop(next(iter(self._waiting)))
            if self._is_awaited(reading):
                recognizer = reading.recognizer if self._has_time() else None
                self._answer(reading, None if recognizer is None else await self._hypothesis(reading, recognizer))
            elif self._open.get(reading.segment) is reading:
                del self._open[reading.segment]

    async def _hypothesis(self, reading: Reading, recognizer: Recognizer) -> Hypothesis | None:
        try:
            self._under_way, self._began = reading, self._loop.time()
            hypothesis = await recognizer.open_sequence(reading.options).send(reading.audio, decode=True, end=True)
            self._pace = (self._loop.time() - self._began) / max(1, len(reading.audio))
        except ModelError as error:
            failure = error
        except Exception as error:  # noqa: BLE001 - whatever happened, the first text stands
            log_mistake(logger, "speech was not read a second time", error)
            failure = ModelError(MISTAKE)
        else:
            self._on_timing(self._turn(reading), hypothesis.timing)
            return hypothesis
        self._on_failure(self._turn(reading), failure)
        return None

    def _expected(self, reading: Reading) -> float:
        """Return the seconds until a reading is ready, as far as that can be told."""
        gone = self._loop.time() - self._began if self._under_way is reading else 0.0
        return self._pace * len(reading.audio) - gone

    def _turn(self, reading: Reading) -> int:
        return reading.turn if self._is_awaited(reading) else 0

    def _answer(self, reading: Reading, hypothesis: Hypothesis | None) -> None:
        if self._open.get(reading.segment) is reading:
            del self._open[reading.segment]
            self._on_answer(reading, hypothesis)

    def _give_up(self, turn: int) -> None:
        del self._timers[turn]
        for reading in [reading for reading in self._open.values() if reading.turn == turn]:
            self._waiting.pop(reading.segment, None)
            self._answer(reading, None)
