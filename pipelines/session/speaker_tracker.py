"""Speakers of a conversation, told apart beside recognition."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Protocol

from pipelines.errors import ModelError
from pipelines.models.contracts import SPEAKER
from pipelines.models.speaker_port import MAX_WINDOWS
from pipelines.speakers.clustering import Voices
from pipelines.speakers.spans import only_name
from pipelines.speakers.utterance import Utterance
from pipelines.turns import events
from pipelines.unexpected_errors import MISTAKE, log_mistake

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    import numpy.typing as npt

    from pipelines.data.recognition import SpeakerSpan
    from pipelines.models.bulk import BulkGate
    from pipelines.models.ports import TurnModels
    from pipelines.models.speaker_port import SpeakerModel
    from pipelines.speakers.diarization import Diarization
    from pipelines.speakers.enrolled import EnrolledVoices

    class Failed(Protocol):
        """Takes a turn whose speakers are not known."""

        def __call__(self, turn: int, *, error: ModelError) -> None:
            """Take it, with the reason."""


logger = logging.getLogger(__name__)

MAX_WAIT_SECONDS = 0.2
"""Time for which a reply waits for its speaker, from the end of the utterance; less than a budget …"""
MAX_TRANSCRIPT_WAIT_SECONDS = 1.0
"""… and a transcript for its speakers where nothing is replied to."""
MIN_BATCH = 2
"""Whole windows that are embedded together while somebody speaks: one alone takes nearly as long."""


MAX_NAMES = 16
"""Turns whose name is kept for stages that run later: more than may wait for their reply."""


class SpeakerTracker:
    """Embeds the speech of each turn as it comes, and tells its speakers at its end.

    Args:
        diarization: how speakers are told apart.
        on_event: called with the speakers of each turn, in the order of the turns.
        on_failure: called with a turn whose speakers are not known, and the reason.
        bulk: lets requests of recordings pass; None for live conversations.
        replies: whether replies wait for what is told.
    """

    def __init__(
        self,
        diarization: Diarization,
        on_event: Callable[[events.SpeakersFound], None],
        on_failure: Failed,
        bulk: BulkGate | None = None,
        *,
        replies: bool = True,
    ) -> None:
        self._on_event, self._on_failure, self._bulk = on_event, on_failure, bulk
        self._wait_seconds = MAX_WAIT_SECONDS if replies else MAX_TRANSCRIPT_WAIT_SECONDS
        self._enrolled: EnrolledVoices = diarization.enrolled
        self._voices = Voices.none_yet(diarization.max_speakers)
        self._utterances: dict[int, Utterance] = {}
        self._models: dict[int, TurnModels] = {}
        self._names: dict[int, str] = {}
        self._due: dict[int, float] = {}
        self._at_work = 0
        self._bound: asyncio.Timeout | None = None
        self._failures: dict[int, ModelError] = {}
        self._wanted: set[int] = set()
        self._changed, self._done = asyncio.Event(), asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def hear(
        self, turn: int, start: int, samples: npt.NDArray[np.float32], models: TurnModels, *, is_pause: bool
    ) -> None:
        """Take speech of a turn.

        Args:
            turn: its number.
            start: sample of the conversation that it begins with.
            samples: float32 ``[samples]`` at 16 kHz.
            models: of the turn.
            is_pause: whether all that was heard is embedded now: the turn may be over.
        """
        self._utterances.setdefault(turn, Utterance()).add(start, samples)
        self._models[turn] = models
        if is_pause:
            self._wanted.add(turn)
        self._go_on()

    def end(self, turn: int) -> None:
        """Tell the speakers of a turn that is over."""
        self._utterances.setdefault(turn, Utterance()).is_over = True
        if self._bulk is None:  # A recording waits as long as it takes.
            self._due[turn] = asyncio.get_running_loop().time() + self._wait_seconds
            if self._bound is not None and self._at_work == turn:
                self._bound.reschedule(self._due[turn])
        self._go_on()

    async def name_of(self, turn: int) -> str:
        """Return the enrolled name of a turn's only speaker; "" where not sure.

        It is waited for, for a short time at most.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + MAX_WAIT_SECONDS
        while turn in self._utterances and self._utterances[turn].due(at_once=True):
            self._done.clear()
            try:
                async with asyncio.timeout_at(until):
                    await self._done.wait()
            except TimeoutError:
                return ""
        if turn in self._utterances:
            return only_name(self._utterances[turn].told(self._voices, self._enrolled)[1])
        return self._names.get(turn, "")

    def cancel(self) -> None:
        """Tell no more speakers. The model answers all the same."""
        if self._task is not None:
            self._task.cancel()

    async def wait(self) -> None:
        """Wait until nothing runs."""
        if self._task is not None:
            await asyncio.wait((self._task,))

    def _go_on(self) -> None:
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name="speakers")
        self._changed.set()

    async def _run(self) -> None:
        while True:
            self._changed.clear()
            for turn in sorted(self._utterances):
                await self._work(turn)
                if turn in self._utterances:
                    break
            await self._changed.wait()

    async def _work(self, turn: int) -> None:
        """Embed what there is of a turn, and tell its speakers if it is over."""
        utterance = self._utterances[turn]
        try:
            async with asyncio.timeout_at(self._due.get(turn)) as self._bound:
                self._at_work = turn
                await self._embed(turn, utterance)
        except TimeoutError:
            if not utterance.is_embedded:
                self._failures[turn] = ModelError("the voices were not compared in time")
        except ModelError as error:
            self._failures[turn] = error
        except Exception as error:  # noqa: BLE001 - whatever happened, the turn goes on
            log_mistake(logger, "speakers were not told apart", error)
            self._failures[turn] = ModelError(MISTAKE)
        self._bound = None
        if utterance.is_over:
            self._tell(turn, utterance)
        self._done.set()

    async def _embed(self, turn: int, utterance: Utterance) -> None:
        while turn not in self._failures:
            at_once = utterance.is_over or turn in self._wanted
            due = utterance.due(at_once=at_once)
            self._wanted.discard(turn)
            if not due or (len(due) < MIN_BATCH and not at_once):
                return
            due = due[:MAX_WINDOWS]
            model: SpeakerModel = self._models[turn].get(SPEAKER)
            windows = [utterance.samples(window) for window in due]
            if self._bulk is None:
                found = await model.embed(windows)
            else:
                async with self._bulk.piece(SPEAKER):
                    found = await model.embed(windows)
            utterance.take(due, found.vectors)
            self._done.set()

    def _tell(self, turn: int, utterance: Utterance) -> None:
        spans: tuple[SpeakerSpan, ...] = ()
        if turn in self._failures:
            self._on_failure(turn, error=self._failures.pop(turn))
        else:
            self._voices, spans = utterance.told(self._voices, self._enrolled)
        del self._utterances[turn]
        self._models.pop(turn, None)
        self._due.pop(turn, None)
        self._wanted.discard(turn)
        self._names = {**dict(list(self._names.items())[-MAX_NAMES:]), turn: only_name(spans)}
        self._on_event(events.SpeakersFound(turn, spans))
