"""The watch in virtual time, with conversations and models that only count."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from pipelines.data.messages import Reply, Status
from pipelines.errors import ModelUnavailableError
from pipelines.load.utilization import Utilization
from pipelines.load.workload import Workload
from pipelines.session.conversation import Conversation, ConversationConfig
from pipelines.turns.state import TurnSettings
from service.sessions.capacity_watch import (
    RECOGNIZER_PLACES,
    CapacityWatch,
    MeasuredModels,
    RecognizerRoom,
    busiest_share,
)
from service.sessions.open_conversations import OpenConversations
from tests import virtual_time
from tests.unit.pipelines.fakes import FakeModels

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@dataclass(eq=False)
class FakeConversation:
    recognized_samples: int = 0
    closed: bool = False
    name: str = ""

    def abandon(self) -> None:
        pass

    async def close(self) -> None:
        self.closed = True


@dataclass
class FakeMachine:
    """Models that compute for a share of the time."""

    busy: float = 0.1
    lost: bool = False
    computed: dict[str, float] = field(default_factory=lambda: {"asr": 0.0, "qa": 0.0})
    _read_at: float = 0.0

    async def busy_seconds(self) -> dict[str, float]:
        if self.lost:
            raise ModelUnavailableError("gone")
        now = asyncio.get_running_loop().time()
        self.computed["asr"] += self.busy * (now - self._read_at)
        self._read_at = now
        return dict(self.computed)


class Service:
    def __init__(self) -> None:
        self.utilization, self.machine = Utilization(), FakeMachine()
        self.workload = Workload(observer=self.utilization)
        self.open = OpenConversations(self.workload)
        self.watch = CapacityWatch(self.open, self.workload, self.utilization, self.machine.busy_seconds)

    async def talk(
        self, seconds: float, *conversations: FakeConversation, share: float = 1.0, utilization: float = 0.1
    ):
        """Lets time pass in which so much is said and replied to."""
        for _ in range(round(seconds)):
            await asyncio.sleep(1)
            for conversation in conversations:
                conversation.recognized_samples += round(share * 16_000)
                self.utilization.add(utilization)


@contextlib.asynccontextmanager
async def watched(throughput: float = 10 / 0.3) -> AsyncIterator[Service]:
    service = Service()
    service.watch.set_throughput(throughput, 0.1)
    task = asyncio.create_task(service.watch.watch())
    try:
        yield service
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def test_newcomers_fill_the_room_and_those_who_only_listen_make_room_again():
    async def main() -> None:
        async with watched() as service, contextlib.AsyncExitStack() as held:
            assert service.watch.limit == 10
            assert service.watch.refusal(20, 0, 2.0) is None
            assert service.watch.refusal(21, 0, 2.0) is not None
            for _ in range(20):
                await held.enter_async_context(service.open.holding(FakeConversation()))
            assert service.watch.refusal(21, 0, 2.0) is not None
            await service.talk(60)
            assert service.watch.refusal(31, 0, 2.0) is None

    virtual_time.run(main())


def test_the_recognizer_has_as_many_places_whoever_is_let_in():
    async def main() -> None:
        async with watched() as service, contextlib.AsyncExitStack() as held:
            room = RecognizerRoom(service.open)
            assert room.refusal(2 * RECOGNIZER_PLACES, 1, 2.0) is None
            assert room.refusal(2 * RECOGNIZER_PLACES + 1, 0, 2.0) is not None
            hasty = [FakeConversation() for _ in range(RECOGNIZER_PLACES - 1)]
            for conversation in hasty:
                await held.enter_async_context(service.open.holding(conversation))
            await service.talk(60, *hasty, share=10.0)
            assert service.open.speakers(0) > 2 * RECOGNIZER_PLACES
            assert room.refusal(RECOGNIZER_PLACES + 1, 0, 2.0) is None
            assert room.refusal(RECOGNIZER_PLACES + 2, 0, 2.0) is not None

    virtual_time.run(main())


def test_conversations_are_closed_and_forgotten():
    async def main() -> None:
        service, conversation = Service(), FakeConversation()
        async with service.open.holding(conversation):
            assert not conversation.closed
        assert conversation.closed
        assert service.open.speakers(0) == 0

    virtual_time.run(main())


def test_nobody_comes_in_while_replies_are_late_and_somebody_does_afterwards():
    async def main() -> None:
        async with watched() as service, contextlib.AsyncExitStack() as held:
            speakers = [FakeConversation() for _ in range(6)]
            for speaker in speakers:
                await held.enter_async_context(service.open.holding(speaker))
            await service.talk(3, *speakers)
            assert service.watch.refusal(7, 0, 2.0) is None
            await service.talk(3, *speakers, utilization=1.1)
            assert service.watch.refusal(7, 0, 2.0) is not None
            assert service.watch.limit < 6
            assert service.workload.short
            await service.talk(30, *speakers[:2])
            assert service.watch.refusal(7, 0, 2.0) is None
            assert not service.workload.short

    virtual_time.run(main())


def test_who_wants_replies_sooner_than_the_models_compute_shuts_nobody_out():
    async def main() -> None:
        async with watched() as service:
            models = FakeModels(0.03, 0.03, 0.03)
            impatient = Conversation(
                ConversationConfig(turns=TurnSettings(budget_seconds=0.02)), models, None, service.workload
            )
            async with service.open.holding(impatient):
                for _ in range(8):
                    await impatient.add_text("hello there")
                    await asyncio.sleep(1)
                await impatient.half_close()
                statuses = [one.status async for one in impatient.outbox if isinstance(one, Reply)]
                assert statuses == [Status.PARTIAL, Status.COMPLETE] * 8
                assert service.watch.refusal(2, 0, 2.0) is None
                assert service.watch.limit == 10
                assert not service.workload.short

    virtual_time.run(main())


def test_a_busy_model_alone_is_a_shortage_but_keeps_nobody_out():
    async def main() -> None:
        async with watched() as service:
            service.machine.busy = 1.0
            await asyncio.sleep(6)
            assert service.workload.short
            assert service.watch.refusal(1, 0, 2.0) is None
            service.machine.busy = 0.1
            await asyncio.sleep(6)
            assert not service.workload.short

    virtual_time.run(main())


def test_everybody_has_the_same_part_of_what_the_machine_carries():
    async def main() -> None:
        async with watched() as service, contextlib.AsyncExitStack() as held:
            await asyncio.sleep(2)
            assert service.workload.share == 10
            for _ in range(4):
                await held.enter_async_context(service.open.holding(FakeConversation()))
            await asyncio.sleep(2)
            assert service.workload.share == 2.5
            for _ in range(20):
                await held.enter_async_context(service.open.holding(FakeConversation()))
            await asyncio.sleep(2)
            assert service.workload.share == 1

    virtual_time.run(main())


def test_a_model_server_that_is_lost_does_not_end_the_watch():
    async def main() -> None:
        async with watched() as service:
            service.machine.lost = True
            await asyncio.sleep(3)
            service.machine.lost = False
            service.machine.busy = 1.0
            await asyncio.sleep(6)
            assert service.workload.short

    virtual_time.run(main())


class Warm:
    """Models that are warm."""

    async def missing(self) -> list[str]:
        return ["qa"]

    async def warm_up(self) -> None:
        pass


async def quiet() -> bool:
    return True


@pytest.mark.parametrize(
    ("throughput", "alone_seconds", "known", "limit"),
    [
        # Whatever else runs is measured too: less than the processor is known to carry is not believed.
        (3.0, 2.0, 8.0, 2.4),
        (0.1, 30.0, 24.0, 7.2),
        (24.0, 0.1, 8.0, 7.2),
        (24.0, 0.6, 8.0, 3.4),
        (24.0, 0.6, 0.0, 3.4),
        (1.0, 0.1, 0.0, 1.0),
        (500.0, 0.1, 500.0, 0.3 * RECOGNIZER_PLACES),
    ],
)
def test_the_limit_starts_at_what_the_processor_is_known_to_carry(
    throughput: float, alone_seconds: float, known: float, limit: float
):
    async def main() -> None:
        service = Service()
        service.watch.set_throughput(throughput, alone_seconds, known)
        assert round(service.watch.limit, 1) == limit

    virtual_time.run(main())


def test_what_was_measured_beside_others_is_measured_again_when_it_is_quiet_and_nobody_is_served():
    async def main() -> None:
        service = Service()
        now = asyncio.get_running_loop().time
        is_quiet, is_busy, begun, ended = False, True, [], []

        async def look() -> bool:
            return is_quiet

        async def measure() -> tuple[float, float]:
            begun.append(now())
            await asyncio.sleep(2)
            ended.append(now())
            return (5.0, 0.1) if len(ended) == 1 else (20.0, 0.1)

        models = MeasuredModels(Warm(), measure, service.watch, known=4.0, is_quiet=look)
        await models.warm_up()
        assert service.watch.limit == 1.5
        again = asyncio.create_task(models.measure_when_quiet(lambda: is_busy))
        await asyncio.sleep(60)
        is_quiet = True
        await asyncio.sleep(60)
        assert len(begun) == 1, "somebody is served"
        is_busy = False
        while len(begun) < 2:
            await asyncio.sleep(0.1)
        is_busy = True
        await asyncio.sleep(5)
        assert len(ended) == 1, "who comes ends the measurement"
        is_busy = False
        await again
        assert service.watch.limit == 6.0
        assert len(ended) == 2

    virtual_time.run(main())


def test_models_are_measured_once_and_again_if_it_failed():
    async def main() -> None:
        service, results = Service(), [ModelUnavailableError("gone"), (200.0, 0.1), AssertionError("measured twice")]

        async def measure() -> tuple[float, float]:
            result = results.pop(0)
            if isinstance(result, Exception):
                raise result
            return result

        models = MeasuredModels(Warm(), measure, service.watch, is_quiet=quiet)
        assert await models.missing() == ["qa"]
        await models.warm_up()
        assert (service.watch.measured, service.watch.limit) == (False, 4)
        await models.warm_up()
        assert service.watch.limit == RECOGNIZER_PLACES * 0.3
        await models.warm_up()

    virtual_time.run(main())


def test_the_busiest_model_counts():
    before, after = {"asr": 1.0, "qa": 1.0, "old": 3.0}, {"asr": 1.2, "qa": 1.5, "new": 9.0}
    assert busiest_share(before, after, 1.0) == 0.5
    assert busiest_share(before, after, 0.1) == 1.0
    assert busiest_share({}, after, 1.0) == 0.0
