"""Adaptive concurrency limit, driven by speech and reply latency."""

from __future__ import annotations

import asyncio
import collections
import logging
from typing import TYPE_CHECKING

from pipelines.errors import ModelError
from service.admission.capacity import AdaptiveLimit, Evidence, Shortage, safe_part, slowest_twentieth
from service.admission.processor import is_quiet
from service.refusals import LateRepliesError, TooManySpeakersError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from pipelines.load.utilization import Utilization
    from pipelines.load.workload import Workload
    from service.refusals import ServiceError
    from service.sessions.open_conversations import OpenConversations
    from service.sessions.readiness import ModelServer

logger = logging.getLogger(__name__)

RECOGNIZER_PLACES = 64
"""Utterances that the model ``asr``, as shipped, has open at a time; of more, Triton would let some wait for ever."""

UNMEASURED_SPEAKERS = 4
"""Speakers that any machine is trusted with."""

_PERIOD_SECONDS = 1.0
_UTILIZATION_SECONDS = 10.0
_BUSY_PERIODS = 3
_AGAIN_SECONDS = 10.0
_LOOK_SECONDS = 0.02


class CapacityWatch:
    """Measures the machine once, then watches it once a second.

    Args:
        open_conversations: what is said.
        workload: told whether the machine is short of time.
        utilization: how well it is answered.
        busy_seconds: returns for how long each model has computed so far, on average of its instances.
        speakers: what :attr:`limit` is until the machine is measured.
        places: utterances that the recognizer has open at a time.
    """

    def __init__(
        self,
        open_conversations: OpenConversations,
        workload: Workload,
        utilization: Utilization,
        busy_seconds: Callable[[], Awaitable[Mapping[str, float]]],
        speakers: float = UNMEASURED_SPEAKERS,
        places: int = RECOGNIZER_PLACES,
    ) -> None:
        self._open = open_conversations
        self._workload = workload
        self._utilization = utilization
        self._busy_seconds = busy_seconds
        self._limit: AdaptiveLimit | None = None
        self._unmeasured = speakers
        self._places = places
        self._shortage = Shortage()
        self._overloaded = False
        self._utilizations: collections.deque[tuple[float, float]] = collections.deque()
        self._demands: collections.deque[float] = collections.deque(
            maxlen=round(_UTILIZATION_SECONDS / _PERIOD_SECONDS)
        )
        self._busy: collections.deque[float] = collections.deque(maxlen=_BUSY_PERIODS)

    @property
    def limit(self) -> float:
        """Speakers that can be answered in time."""
        return self._limit.speakers if self._limit is not None else self._unmeasured

    def utilization(self) -> float:
        """Return the speakers now as a share of :attr:`limit`; above 1 if over it."""
        return self._open.speakers(0) / self.limit

    @property
    def measured(self) -> bool:
        """True once the machine was measured."""
        return self._limit is not None

    def refusal(self, conversations: int, typed_turns: int, retry_seconds: float) -> ServiceError | None:
        """Return why there is no time for so many and one more, or None."""
        if self._overloaded:
            return LateRepliesError(retry_seconds)
        if self._open.speakers(conversations + typed_turns) > self.limit:
            return TooManySpeakersError(self.limit, retry_seconds)
        return None

    def set_throughput(self, speakers: float, alone_seconds: float, known: float = 0.0) -> None:
        """Take in what the machine carries when nothing but throughput counts.

        Args:
            speakers: as it was measured.
            alone_seconds: how long a single reply takes.
            known: speakers that a processor of this kind is known to carry.
        """
        known = min(known, self._places)
        self._limit = AdaptiveLimit(min(speakers, self._places), safe_part(alone_seconds), known)
        floor = f" ({known:.1f} by the kind of the processor)" if known > speakers else ""
        logger.info("capacity: %.1f speakers at most%s, of which %.1f are let in at first", speakers, floor, self.limit)

    async def watch(self) -> None:
        """Follow the machine until cancelled."""
        loop = asyncio.get_running_loop()
        at, before = loop.time(), await self._read_busy()
        while True:
            await asyncio.sleep(_PERIOD_SECONDS)
            now, after = loop.time(), await self._read_busy()
            self._open.observe(now - at)
            self._busy.append(busiest_share(before, after, now - at))
            self._take_in(now)
            at, before = now, after

    def _take_in(self, now: float) -> None:
        self._utilizations.extend((now, utilization) for utilization in self._utilization.take())
        while self._utilizations and self._utilizations[0][0] < now - _UTILIZATION_SECONDS:
            self._utilizations.popleft()
        utilization = slowest_twentieth([utilization for _, utilization in self._utilizations])
        busy = sum(self._busy) / len(self._busy)
        self._demands.append(self._open.speakers(0))
        evidence = Evidence(utilization, busy, demand=self._demands[-1], carried=min(self._demands))
        was_short = self._workload.short
        self._workload.short = self._shortage.update(evidence)
        self._overloaded = evidence.overloaded
        # Everybody's part of what the machine carries: one long file on an idle machine has all of it.
        self._workload.share = max(1.0, self.limit / max(1, self._open.active()))
        changed = self._limit is not None and self._limit.update(evidence, now)
        if changed or self._workload.short != was_short:
            logger.info(
                "capacity: %.1f speakers, %.1f there; replies need %.0f %% of their time, the busiest model %.0f %%%s",
                self.limit,
                evidence.demand,
                100 * (evidence.utilization or 0.0),
                100 * evidence.busy,
                "; short of time" if self._workload.short else "",
            )

    async def _read_busy(self) -> Mapping[str, float]:
        try:
            return await self._busy_seconds()
        except ModelError:
            # Readiness notices, and shuts the door.
            return {}


class RecognizerRoom:
    """The room that the recognizer has, however fast the machine is.

    Args:
        open_conversations: what is said.
        places: utterances that the recognizer has open at a time.
    """

    def __init__(self, open_conversations: OpenConversations, places: int = RECOGNIZER_PLACES) -> None:
        self._open = open_conversations
        self.limit = float(places)

    def refusal(self, conversations: int, typed_turns: int, retry_seconds: float) -> ServiceError | None:  # noqa: ARG002 - what is typed needs no place
        """Return why there are too few recognizer places, or None."""
        if self._open.utterances(conversations) > self.limit:
            return TooManySpeakersError(self.limit, retry_seconds)
        return None


class MeasuredModels:
    """Models, measured when warm and once more on a quiet machine.

    Args:
        models: the models.
        measure: returns the speakers that they carry, and the seconds that a single reply takes.
        capacity: is told of it.
        known: speakers that a processor of this kind is known to carry.
        is_quiet: looks whether nobody else computes.
    """

    def __init__(
        self,
        models: ModelServer,
        measure: Callable[[], Awaitable[tuple[float, float]]],
        capacity: CapacityWatch,
        known: float = 0.0,
        is_quiet: Callable[[], Awaitable[bool]] = is_quiet,
    ) -> None:
        self._models = models
        self._measure = measure
        self._capacity = capacity
        self._known, self._is_quiet = known, is_quiet
        self._was_quiet = False

    async def missing(self) -> Sequence[str]:
        """Return the names of the models that are not ready."""
        return await self._models.missing()

    async def warm_up(self) -> None:
        """Warm the models up, and measure them the first time."""
        await self._models.warm_up()
        if not self._capacity.measured:
            await self._take()

    async def measure_when_quiet(self, is_busy: Callable[[], bool]) -> None:
        """Measure again, unserved and alone, what was measured beside others.

        Args:
            is_busy: returns whether somebody is served. Who comes meanwhile ends the measurement.
        """
        while not self._was_quiet:
            await asyncio.sleep(_AGAIN_SECONDS)
            if not self._capacity.measured or is_busy() or not await self._is_quiet() or is_busy():
                continue
            measuring = asyncio.create_task(self._take(), name="capacity measurement")
            while not measuring.done():
                await asyncio.wait((measuring,), timeout=_LOOK_SECONDS)
                if is_busy():
                    measuring.cancel()
            await asyncio.wait((measuring,))

    async def _take(self) -> None:
        try:
            was_quiet = await self._is_quiet()
            measured = await self._measure()
            self._was_quiet = was_quiet and await self._is_quiet()
        except ModelError as error:
            logger.warning("capacity: it could not be measured: %s", error)
        else:
            self._capacity.set_throughput(*measured, self._known)


def busiest_share(before: Mapping[str, float], after: Mapping[str, float], seconds: float) -> float:
    """Return the busiest model's share of computing time, 0 to 1."""
    shares = [(after[name] - before[name]) / seconds for name in after.keys() & before.keys()]
    # What a model computed is counted when it is done: a long batch may count in the second after its own.
    return min(1.0, max(shares, default=0.0))
