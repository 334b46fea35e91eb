"""The segments of a conversation under recognition."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING

from pipelines.data.recognition import NO_OPTIONS
from pipelines.models.recovery import Recovery
from pipelines.recognition.segment_stream import SegmentStream, at_once, unheard_of
from pipelines.unexpected_errors import log_mistake

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import numpy as np
    import numpy.typing as npt

    from pipelines.data.recognition import Hypothesis, RecognitionOptions
    from pipelines.errors import ModelError
    from pipelines.models.bulk import BulkGate
    from pipelines.models.ports import Recognizer

logger = logging.getLogger(__name__)


class Segments:
    """The segments of a conversation under recognition, by number.

    Args:
        on_hypothesis: called with the segment and every answer.
        on_failure: called once for a segment whose recognition fails, with the reason; nothing is called after it.
        on_end: called whenever a segment is over.
        options: what is asked beside the words.
        before_end, bulk: see :class:`SegmentStream`.
        on_recovery: called with the segment, and as for :class:`SegmentStream`.
    """

    def __init__(
        self,
        on_hypothesis: Callable[[int, Hypothesis], None],
        on_failure: Callable[[int, ModelError], None],
        on_end: Callable[[], None],
        options: RecognitionOptions = NO_OPTIONS,
        before_end: Callable[[], Awaitable[None]] = at_once,
        bulk: BulkGate | None = None,
        on_recovery: Callable[[int, float | None], None] = unheard_of,
    ) -> None:
        self._on_hypothesis, self._on_failure, self._on_end = on_hypothesis, on_failure, on_end
        self._on_recovery = on_recovery
        self._options, self._before_end, self._bulk = options, before_end, bulk
        self._streams: dict[int, SegmentStream] = {}
        self._loses_recognizer = False

    def __len__(self) -> int:
        return len(self._streams)

    @property
    def backlog_samples(self) -> int:
        """Samples that the recognizer has not answered for yet."""
        return sum([stream.backlog_samples for stream in self._streams.values()])

    def open(self, number: int, recognizer: Recognizer, options: RecognitionOptions | None = None) -> None:
        """Open a recognizer sequence, by default with the options of all segments."""
        stream = SegmentStream(
            recognizer,
            partial(self._tell, number),
            partial(self._fail, number),
            self._options if options is None else options,
            self._before_end,
            self._bulk,
            partial(self._on_recovery, number),
        )
        if self._loses_recognizer:
            stream.recovery = Recovery(repeats=0)
        self._streams[number] = stream
        stream.task.add_done_callback(partial(self._forget, number))

    def send(self, number: int, audio: npt.NDArray[np.float32], *, decode: bool, due: float | None = None) -> None:
        """See :meth:`SegmentStream.send`."""
        self._streams[number].send(audio, decode=decode, due=due)

    def close(self, number: int, due: float | None = None) -> None:
        """See :meth:`SegmentStream.close`."""
        self._streams[number].close(due)

    def abandon(self, number: int) -> None:
        """Queue the end of a segment; nothing is called for it any more."""
        if number in self._streams:
            self._streams[number].abandon()

    async def wait(self) -> None:
        """Wait for all sequences, even if cancelled: open ones must be ended."""
        tasks = [stream.task for stream in self._streams.values()]
        if tasks:
            await asyncio.shield(asyncio.gather(*tasks, return_exceptions=True))

    def _tell(self, number: int, hypothesis: Hypothesis) -> None:
        self._loses_recognizer = False
        self._on_hypothesis(number, hypothesis)

    def _fail(self, number: int, error: ModelError) -> None:
        # Speech that itself ends the recognizer would do so again and again with every further segment.
        self._loses_recognizer = error.recovery is not None
        self._on_failure(number, error)

    def _forget(self, number: int, task: asyncio.Task[None]) -> None:
        del self._streams[number]
        if not task.cancelled() and (error := task.exception()) is not None:
            log_mistake(logger, "a sequence was not ended", error)
        self._on_end()
