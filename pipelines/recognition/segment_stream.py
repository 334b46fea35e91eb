"""Audio of a segment as one recognizer sequence, one request at a time.

A sequence that was begun is always ended, also when the caller is gone or the conversation was cancelled: its slot
in the model server would stay taken otherwise. Requests of a sequence are never cancelled.

The audio of a segment is kept until it is over: where the sequence is lost with the model's process or with
the model server, a new one gets all of it.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from pipelines.audio.formats import MODEL_RATE_HZ
from pipelines.data.recognition import NO_OPTIONS
from pipelines.errors import ModelError
from pipelines.models.bulk import RECOGNITION
from pipelines.models.recovery import Recovery
from pipelines.unexpected_errors import MISTAKE, log_mistake

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import numpy.typing as npt

    from pipelines.data.recognition import Hypothesis, RecognitionOptions
    from pipelines.models.bulk import BulkGate
    from pipelines.models.ports import Recognizer

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


async def at_once() -> None:
    """Wait for nothing."""


def unheard_of(*_: object) -> None:
    """Tell nobody."""


class SegmentStream:
    """One segment under recognition.

    Args:
        recognizer: opens the sequence.
        on_hypothesis: called with every answer.
        on_failure: called once, with the reason, if the recognizer gives up; nothing is called after it.
        options: what is asked beside the words.
        before_end: awaited before the sequence is ended, for which there is no hurry.
        bulk: lets requests pass for whose answers there is no hurry; None where there is.
        on_recovery: called with None whenever the sequence is lost, and the segment waits for the recognizer to be
            back; with the seconds of audio that were sent again, once another one has answered for them.

    Attributes:
        recovery: bounds how often, and for how long.
    """

    def __init__(
        self,
        recognizer: Recognizer,
        on_hypothesis: Callable[[Hypothesis], None],
        on_failure: Callable[[ModelError], None],
        options: RecognitionOptions = NO_OPTIONS,
        before_end: Callable[[], Awaitable[None]] = at_once,
        bulk: BulkGate | None = None,
        on_recovery: Callable[[float | None], None] = unheard_of,
    ) -> None:
        self._before_end = before_end
        self._bulk = bulk
        self._open_sequence = partial(recognizer.open_sequence, options)
        self._sequence = self._open_sequence()
        self._on_recovery = on_recovery
        self.recovery = Recovery()
        self._waiting: asyncio.Task[None] | None = None
        self._is_replay = False
        self._replayed_samples = 0
        self._sent_audio: list[npt.NDArray[np.float32]] = []
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
        """Queue audio, float32 ``[samples]``.

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
        """Queue the end: a final answer follows, which is of use until ``due``."""
        self._end = True
        self._due = due
        self._wake.set()

    def abandon(self) -> None:
        """Queue the end; nothing is called any more."""
        self._wanted = False
        self._pending.clear()
        self._pending_samples = 0
        if self._waiting is not None:
            self._waiting.cancel()
        self.close()

    async def _run(self) -> None:
        """Send up to the end; a failure ends the sequence too, if possible."""
        try:
            while not self._end:
                await self._wake.wait()
                self._wake.clear()
                while self._has_enough() and not self._end:
                    await self._request_or_replay(end=False)
            if not self._ended and (self._begun or self._wanted):
                await self._before_end()
                await self._request_or_replay(end=True)
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

    async def _request_or_replay(self, *, end: bool) -> None:
        """Send what is pending; after a loss, the whole segment to a new sequence."""
        while True:
            try:
                await self._request_in_turn(end=end)
            except ModelError as error:
                if not self._wanted or not self.recovery.may_follow(error):
                    raise
                await self._open_another(error)
                end = end or self._end
            else:
                return

    async def _open_another(self, error: ModelError) -> None:
        """Wait for the recognizer, and have everything sent to a new sequence."""
        self._on_recovery(None)
        if not self._ended:
            # The lost one holds its version, and counts as open.
            await self._release()
        self._ended = True
        if self._wanted:
            self._waiting = asyncio.create_task(self.recovery.wait(error), name="segment-recovery")
            await asyncio.wait((self._waiting,))
        if not self._wanted or self._waiting is None or self._waiting.cancelled():
            raise error
        self._waiting.result()
        self._sequence = self._open_sequence()
        self._begun = self._ended = False
        self._pending[:0] = self._sent_audio
        self._pending_samples += self._sent
        self._replayed_samples = self._sent
        self._sent_audio.clear()
        self._sent = self._unread = 0
        self._due, self._decode, self._is_replay = None, self._bulk is None, True

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
        self._sent_audio.append(audio)
        self._sent += len(audio)
        try:
            hypothesis = await self._sequence.send(audio, decode=decode, end=end, due=self._due)
        finally:
            self._sending = 0
        if self._is_replay and self._wanted:
            self._is_replay = False
            self._on_recovery(self._replayed_samples / MODEL_RATE_HZ)
        self._unread = 0 if hypothesis.covered_samples >= self._sent else self._unread + 1
        if self._wanted:
            self._on_hypothesis(hypothesis)

    async def _release(self) -> None:
        """End a sequence after a failed request; the model may have forgotten it."""
        try:
            await self._sequence.send(np.zeros(0, np.float32), decode=False, end=True)
        except ModelError:
            return
