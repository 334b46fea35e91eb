"""Feeds each segment's audio to one sequence of the recognizer, with one request under way at a time.

A sequence that was begun is always ended, also when the caller is gone or the conversation was cancelled: its slot
in the model server would stay taken otherwise. Requests of a sequence are never cancelled.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from pipelines.audio.formats import MODEL_RATE_HZ
from pipelines.errors import ModelError
from pipelines.load.bulk import RECOGNITION
from pipelines.models.ports import NO_OPTIONS
from pipelines.unexpected_errors import MISTAKE, log_mistake

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import numpy.typing as npt

    from pipelines.load.bulk import BulkGate
    from pipelines.models.ports import Hypothesis, RecognitionOptions, Recognizer

logger = logging.getLogger(__name__)

FIRST_REQUEST_SAMPLES = round(0.6 * MODEL_RATE_HZ)
"""Audio before the first request: of less, with what comes from before the onset, no word can be told."""

SECOND_REQUEST_SAMPLES = round(0.2 * MODEL_RATE_HZ)
"""Audio before the second request: two decodings in a row soon show what of the first words will stay."""

REQUEST_SAMPLES = round(0.4 * MODEL_RATE_HZ)
"""Audio is collected to this many samples before it is sent, unless a text is asked for at once …"""

BULK_REQUEST_SAMPLES = 8 * MODEL_RATE_HZ
"""What is collected where nobody wants texts that may still change: less than a conversation may have waiting."""

MAX_REQUEST_SAMPLES = 4 * REQUEST_SAMPLES
"""… and by and by to as many while the recognizer has no time for a text: requests that tell nothing cost time too."""


async def _at_once() -> None:
    """Waits for nothing."""


class SegmentStream:
    """One segment under recognition.

    Args:
        recognizer: opens the sequence.
        on_hypothesis: called with every answer.
        on_failure: called once, with the reason, if the recognizer gives up; nothing is called after it.
        options: what is asked beside the words.
        before_end: awaited before the sequence is ended, for which there is no hurry.
        bulk: lets requests pass for whose answers there is no hurry; None where there is.
    """

    def __init__(
        self,
        recognizer: Recognizer,
        on_hypothesis: Callable[[Hypothesis], None],
        on_failure: Callable[[ModelError], None],
        options: RecognitionOptions = NO_OPTIONS,
        before_end: Callable[[], Awaitable[None]] = _at_once,
        bulk: BulkGate | None = None,
    ) -> None:
        self._before_end = before_end
        self._bulk = bulk
        self._sequence = recognizer.open_sequence(options)
        self._on_hypothesis = on_hypothesis
        self._on_failure = on_failure
        self._pending: list[npt.NDArray[np.float32]] = []
        self._pending_samples = 0
        self._decode = False
        self._end = False
        self._wanted = True
        self._begun = self._ended = False
        self._due: float | None = None
        self._wake = asyncio.Event()
        self._sending = self._sent = 0
        self._unread = 0
        self.task = asyncio.create_task(self._run(), name="segment")

    @property
    def backlog_samples(self) -> int:
        """Samples that the recognizer has not answered for yet."""
        return self._sending + self._pending_samples

    def send(self, audio: npt.NDArray[np.float32], *, decode: bool, due: float | None = None) -> None:
        """Queues audio, float32 ``[samples]``.

        Args:
            audio: it.
            decode: ask for the text of all of it at once.
            due: until when that is of use, on the loop's clock, as far as this is known.
        """
        self._pending.append(audio)
        self._pending_samples += len(audio)
        self._decode = self._decode or decode
        self._due = due
        self._wake.set()

    def close(self, due: float | None = None) -> None:
        """Queues the end: a final answer follows, which is of use until ``due``."""
        self._end = True
        self._due = due
        self._wake.set()

    def abandon(self) -> None:
        """Queues the end; nothing is called any more."""
        self._wanted = False
        self._pending.clear()
        self._pending_samples = 0
        self.close()

    async def _run(self) -> None:
        """Sends until the end was sent. A failure ends the sequence too, as far as the server can be reached."""
        try:
            while not self._end:
                await self._wake.wait()
                self._wake.clear()
                while self._has_enough() and not self._end:
                    await self._request_in_turn(end=False)
            if self._begun or self._wanted:
                await self._before_end()
                await self._request_in_turn(end=True)
        except Exception as error:  # noqa: BLE001 - whatever happened, the sequence has to be ended
            try:
                self._fail(error)
            finally:
                if self._begun and not self._ended:
                    await self._release()

    def _fail(self, error: Exception) -> None:
        if not isinstance(error, ModelError):
            log_mistake(logger, "recognition failed", error)
            error = ModelError(MISTAKE)
        if self._wanted:
            self._on_failure(error)

    def _has_enough(self) -> bool:
        if self._bulk is not None:
            return self._decode or self.backlog_samples >= BULK_REQUEST_SAMPLES
        if self._sent < FIRST_REQUEST_SAMPLES:
            enough = FIRST_REQUEST_SAMPLES
        elif self._sent < FIRST_REQUEST_SAMPLES + SECOND_REQUEST_SAMPLES and not self._unread:
            enough = SECOND_REQUEST_SAMPLES
        else:
            enough = min(max(1, self._unread) * REQUEST_SAMPLES, MAX_REQUEST_SAMPLES)
        return self._decode or self.backlog_samples >= enough

    async def _request_in_turn(self, *, end: bool) -> None:
        if self._bulk is None or not self._wanted:
            await self._request(end=end)
            return
        async with self._bulk.piece(RECOGNITION):
            # While it waited the caller may have gone, or more may have come.
            await self._request(end=end)

    async def _request(self, *, end: bool) -> None:
        audio = np.concatenate(self._pending) if self._pending else np.zeros(0, np.float32)
        decode, self._decode = self._decode, False
        self._pending.clear()
        self._pending_samples = 0
        self._sending = len(audio)
        self._begun, self._ended = True, end
        try:
            hypothesis = await self._sequence.send(audio, decode=decode, end=end, due=self._due)
        finally:
            self._sending = 0
        self._sent += len(audio)
        self._unread = 0 if hypothesis.covered_samples >= self._sent else self._unread + 1
        if self._wanted:
            self._on_hypothesis(hypothesis)

    async def _release(self) -> None:
        """Ends the sequence after a failed request; the model may have forgotten it already."""
        try:
            await self._sequence.send(np.zeros(0, np.float32), decode=False, end=True)
        except ModelError:
            return


class Segments:
    """The segments of a conversation under recognition, by number.

    Args:
        on_hypothesis: called with the segment and every answer.
        on_failure: called once for a segment whose recognition fails, with the reason; nothing is called after it.
        on_end: called whenever a segment is over.
        options: what is asked beside the words.
        before_end, bulk: see :class:`SegmentStream`.
    """

    def __init__(
        self,
        on_hypothesis: Callable[[int, Hypothesis], None],
        on_failure: Callable[[int, ModelError], None],
        on_end: Callable[[], None],
        options: RecognitionOptions = NO_OPTIONS,
        before_end: Callable[[], Awaitable[None]] = _at_once,
        bulk: BulkGate | None = None,
    ) -> None:
        self._on_hypothesis, self._on_failure, self._on_end = on_hypothesis, on_failure, on_end
        self._options, self._before_end, self._bulk = options, before_end, bulk
        self._streams: dict[int, SegmentStream] = {}

    def __len__(self) -> int:
        return len(self._streams)

    @property
    def backlog_samples(self) -> int:
        """Samples that the recognizer has not answered for yet."""
        return sum(stream.backlog_samples for stream in self._streams.values())

    def open(self, number: int, recognizer: Recognizer, options: RecognitionOptions | None = None) -> None:
        """Opens a sequence of the recognizer; without ``options`` those of all segments hold."""
        stream = SegmentStream(
            recognizer,
            partial(self._on_hypothesis, number),
            partial(self._on_failure, number),
            self._options if options is None else options,
            self._before_end,
            self._bulk,
        )
        self._streams[number] = stream
        stream.task.add_done_callback(partial(self._forget, number))

    def send(self, number: int, audio: npt.NDArray[np.float32], *, decode: bool, due: float | None = None) -> None:
        """See :meth:`SegmentStream.send`."""
        self._streams[number].send(audio, decode=decode, due=due)

    def close(self, number: int, due: float | None = None) -> None:
        """See :meth:`SegmentStream.close`."""
        self._streams[number].close(due)

    def abandon(self, number: int) -> None:
        """Queues the end of a segment, which may be over already; nothing is called for it any more."""
        if number in self._streams:
            self._streams[number].abandon()

    async def wait(self) -> None:
        """Waits until all are over, also where the caller is cancelled: a sequence that was begun has to be ended."""
        tasks = [stream.task for stream in self._streams.values()]
        if tasks:
            await asyncio.shield(asyncio.gather(*tasks, return_exceptions=True))

    def _forget(self, number: int, task: asyncio.Task[None]) -> None:
        del self._streams[number]
        if not task.cancelled() and (error := task.exception()) is not None:
            log_mistake(logger, "a sequence was not ended", error)
        self._on_end()
