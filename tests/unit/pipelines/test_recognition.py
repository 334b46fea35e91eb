"""What a segment sends to its sequence, and when: in virtual time, beside a recognizer that the test speaks for."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import numpy as np
import pytest

from pipelines.data.recognition import NO_OPTIONS, Hypothesis
from pipelines.recognition.segment_stream import (
    FIRST_REQUEST_SAMPLES,
    MAX_REQUEST_SAMPLES,
    REQUEST_SAMPLES,
    SECOND_REQUEST_SAMPLES,
    SegmentStream,
)
from tests import virtual_time
from tests.unit.pipelines.fakes import INSTANT

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import numpy.typing as npt

    from pipelines.data.recognition import RecognitionOptions

TENTH = np.zeros(1600, np.float32)


class Recognizer:
    """One sequence, which looks at its audio only while it has time.

    Attributes:
        sent: samples of each request.
        left: seconds until its answer is of no use, None where nobody said.
    """

    def __init__(self, *, has_time: bool) -> None:
        self.has_time = has_time
        self.sent: list[int] = []
        self.left: list[float | None] = []
        self._covered = 0

    def open_sequence(self, _: RecognitionOptions = NO_OPTIONS) -> Recognizer:
        return self

    async def send(
        self, audio: npt.NDArray[np.float32], *, decode: bool, end: bool, due: float | None = None
    ) -> Hypothesis:
        self.sent.append(len(audio))
        self.left.append(None if due is None else due - asyncio.get_running_loop().time())
        await asyncio.sleep(0.001)
        if self.has_time or decode or end:
            self._covered = sum(self.sent)
        return Hypothesis("", self._covered, end, INSTANT)


async def speak(segment: SegmentStream, seconds: float) -> None:
    for _ in range(round(10 * seconds)):
        segment.send(TENTH, decode=False)
        await asyncio.sleep(0.1)


def recognize(scene: Callable[[Recognizer, SegmentStream], Awaitable[None]], *, has_time: bool) -> Recognizer:
    """Plays a scene, ends the segment, and returns the recognizer that it was sent to."""
    recognizer = Recognizer(has_time=has_time)

    async def main() -> None:
        segment = SegmentStream(recognizer, lambda _: None, lambda error: pytest.fail(str(error)))
        await scene(recognizer, segment)
        segment.close()
        await segment.task

    virtual_time.run(main())
    return recognizer


def test_audio_goes_in_pieces_of_one_size_after_the_first_words_while_there_is_time_for_its_text():
    async def scene(_: Recognizer, segment: SegmentStream) -> None:
        await speak(segment, 2)

    first_words = [FIRST_REQUEST_SAMPLES, SECOND_REQUEST_SAMPLES]
    assert recognize(scene, has_time=True).sent == [*first_words, *[REQUEST_SAMPLES] * 3, 0]


def test_a_recognizer_without_time_is_troubled_less_and_less():
    async def scene(recognizer: Recognizer, segment: SegmentStream) -> None:
        await speak(segment, 6.0)
        assert recognizer.sent == [FIRST_REQUEST_SAMPLES, *(REQUEST_SAMPLES * count for count in (1, 2, 3, 4))]
        assert max(recognizer.sent) == MAX_REQUEST_SAMPLES
        recognizer.has_time = True
        await speak(segment, 2.4)
        assert recognizer.sent[5:] == [MAX_REQUEST_SAMPLES, *[REQUEST_SAMPLES] * 5]

    recognize(scene, has_time=False)


def test_a_text_that_is_asked_for_is_asked_for_at_once():
    async def scene(recognizer: Recognizer, segment: SegmentStream) -> None:
        await speak(segment, 0.7)
        segment.send(TENTH, decode=True)
        await asyncio.sleep(0.01)
        assert recognizer.sent == [FIRST_REQUEST_SAMPLES, 2 * len(TENTH)]

    recognize(scene, has_time=False)


def test_the_recognizer_is_told_until_when_a_text_is_of_use():
    async def scene(recognizer: Recognizer, segment: SegmentStream) -> None:
        now = asyncio.get_running_loop().time
        await speak(segment, 0.6)
        segment.send(TENTH, decode=True, due=now() + 0.7)
        await asyncio.sleep(0.01)
        await speak(segment, 0.4)
        segment.close(now() + 0.3)
        await segment.task
        assert recognizer.left == [None, pytest.approx(0.7, abs=0.05), None, pytest.approx(0.3, abs=0.05)]

    recognize(scene, has_time=True)
