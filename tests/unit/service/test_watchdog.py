"""Which models are asked when, and what becomes of those that do not answer, in virtual time."""

from __future__ import annotations

import asyncio
import dataclasses
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from pipelines.errors import ModelControlError, ModelDeadError, ModelError, ModelUnavailableError
from pipelines.models.contracts import EngineRegistry
from pipelines.models.shipped import SHIPPED
from pipelines.models.versions import probes
from service.triton.watchdog import INTERVAL_SECONDS, PATIENCE_SECONDS, Watchdog
from tests import virtual_time

if TYPE_CHECKING:
    from collections.abc import Coroutine

ENGINES = ("asr", "intent_slot", "qa")


class World:
    """A Triton that answers, or not, as a test says; every part that a watchdog is given."""

    def __init__(self) -> None:
        self.active = SimpleNamespace(get=lambda role: role)
        self.open_sequences: set[int] = set()
        self.mending: set[str] = set()
        self.hanging: set[str] = set()
        self.errors: dict[str, Exception] = {}
        self.absent: list[str] = []
        self.asked: list[tuple[str, float]] = []
        self.answered: dict[str, float] = {}
        self.mended: list[tuple[str, float]] = []
        self.loaded: list[str] = []
        self.can_mend = True
        self.serving = True

    # The client.
    def answered_at(self, model: str) -> float | None:
        return self.answered.get(model)

    async def unloaded(self, names: list[str]) -> list[str]:
        if self.absent == ["Triton"]:
            raise ModelUnavailableError("it is not there")
        return [name for name in names if name in self.absent]

    async def load(self, model: str) -> None:
        self.loaded.append(model)
        if model in self.errors:
            raise self.errors[model]
        self.absent.remove(model)

    # The versions.
    def active_models(self) -> dict[str, str]:
        return {role: role for role in SHIPPED.names}

    def models_to_load(self) -> list[str]:
        return ["punctuation", "qa_bert", *ENGINES]

    # The model server.
    async def missing(self) -> list[str]:
        return []

    async def warm_up(self) -> None:
        pass

    # The heartbeat of every engine.
    async def ask(self, engine: str) -> bool:
        loop = asyncio.get_running_loop()
        self.asked.append((engine, loop.time()))
        if engine in self.hanging:
            await asyncio.Event().wait()
        await asyncio.sleep(0.01)
        if engine in self.errors:
            raise self.errors[engine]
        self.answered[engine] = loop.time()
        return True

    def mend(self, model: str) -> bool:
        if self.can_mend:
            self.mended.append((model, asyncio.get_running_loop().time()))
        return self.can_mend

    def asked_of(self, engine: str) -> int:
        return sum(name == engine for name, _ in self.asked)


@pytest.fixture
def world() -> World:
    return World()


def run(world: World, body: Coroutine[None, None, None], *, loads: bool = True) -> Watchdog:
    """Runs ``body`` while a watchdog watches."""
    registry = EngineRegistry(*(dataclasses.replace(contract, heartbeat=world) for contract in SHIPPED))
    watchdog = Watchdog(world, world, world, world.mend, loads=loads, registry=registry)
    world.watchdog = watchdog

    async def main() -> None:
        watching = asyncio.create_task(watchdog.watch(lambda: world.serving))
        try:
            await body
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
            # A probe that is given up ends by itself.
            await asyncio.sleep(0)
            await asyncio.sleep(0)

    virtual_time.run(main())
    return watchdog


def test_models_that_nobody_asks_are_asked_every_few_seconds(world: World):
    async def body() -> None:
        await asyncio.sleep(60)

    run(world, body())
    for engine in ENGINES:
        assert 60 / (2 * INTERVAL_SECONDS + 1) <= world.asked_of(engine) <= 60 / INTERVAL_SECONDS
    assert not world.mended


def test_a_model_that_callers_keep_busy_is_not_asked(world: World):
    async def body() -> None:
        for _ in range(600):
            world.answered["asr"] = asyncio.get_running_loop().time()
            await asyncio.sleep(0.1)

    run(world, body())
    assert world.asked_of("asr") == 0
    assert world.asked_of("qa") > 5


def test_a_model_that_hangs_is_mended_within_fifteen_seconds(world: World):
    async def body() -> None:
        await asyncio.sleep(20)
        world.hanging.add("qa")
        began = asyncio.get_running_loop().time()
        while not world.mended:
            await asyncio.sleep(0.1)
        assert world.mended[0][0] == "qa"
        assert world.mended[0][1] - began < 15

    run(world, body())
    assert {model for model, _ in world.mended} == {"qa"}


def test_a_machine_that_is_overloaded_does_not_hang(world: World):
    async def body() -> None:
        await asyncio.sleep(20)
        world.hanging.add("asr")
        for _ in range(10):
            # Others have answers, a probe waits in the queue behind them.
            await asyncio.sleep(PATIENCE_SECONDS / 2)
            world.answered["asr"] = asyncio.get_running_loop().time()

    run(world, body())
    assert not world.mended


def test_a_model_that_never_has_answered_is_slow_to_start(world: World):
    async def body() -> None:
        world.hanging.add("qa")
        await asyncio.sleep(60)

    run(world, body())
    assert not world.mended


def test_only_time_in_which_the_service_runs_counts(world: World):
    async def body() -> None:
        await asyncio.sleep(20)
        world.hanging.add("qa")
        asked = world.asked_of("qa")
        while world.asked_of("qa") == asked:
            await asyncio.sleep(0.1)
        # The service is stopped, or the machine asleep; when it wakes up the answer comes.
        asyncio.get_running_loop().pass_seconds(3_600)
        await asyncio.sleep(1)
        world.answered["qa"] = asyncio.get_running_loop().time()
        world.hanging.clear()
        await asyncio.sleep(60)

    run(world, body())
    assert not world.mended


def test_nobody_is_asked_while_the_models_come_up_or_the_machine_is_measured(world: World):
    async def body() -> None:
        world.serving = False
        await asyncio.sleep(60)

    run(world, body())
    assert not world.asked


def test_a_triton_that_hangs_is_asked_after_the_door_is_shut(world: World):
    async def body() -> None:
        await asyncio.sleep(20)
        world.hanging.update(ENGINES)
        world.serving = False
        await asyncio.sleep(15)

    run(world, body())
    assert {model for model, _ in world.mended} == set(ENGINES)


def test_asr_is_not_asked_where_a_probe_would_wait_for_a_place(world: World):
    async def body() -> None:
        world.open_sequences.update(range(60))
        await asyncio.sleep(30)

    run(world, body())
    assert world.asked_of("asr") == 0
    assert world.asked_of("qa") > 2


@pytest.mark.parametrize(
    "error",
    [
        ModelError("it is too short"),
        probes.MalformedAnswerError("no name"),
        TypeError("no such output"),
        ModelUnavailableError("gone"),
    ],
)
def test_an_answer_that_is_an_error_and_a_triton_that_is_not_there_are_not_mended(world: World, error: Exception):
    async def body() -> None:
        await asyncio.sleep(20)
        world.errors["qa"] = error
        await asyncio.sleep(60)
        assert await world.watchdog.missing() == []

    run(world, body())
    assert not world.mended


def test_what_cannot_be_mended_is_missing_until_it_answers(world: World):
    async def body() -> None:
        world.can_mend = False
        await asyncio.sleep(20)
        world.errors["qa"] = ModelDeadError("gone")
        world.hanging.add("asr")
        await asyncio.sleep(15)
        world.serving = False
        assert await world.watchdog.missing() == ["asr", "qa"]
        await asyncio.sleep(600)
        assert await world.watchdog.missing() == ["asr", "qa"]
        world.errors.clear()
        world.hanging.clear()
        await asyncio.sleep(15)
        assert await world.watchdog.missing() == []

    run(world, body())


def test_what_somebody_has_unloaded_is_loaded_again(world: World):
    async def body() -> None:
        await asyncio.sleep(20)
        world.absent = ["qa_bert", "qa"]
        await asyncio.sleep(5)
        assert world.absent == []

    run(world, body())
    assert world.loaded == ["qa_bert", "qa"]


def test_what_cannot_be_loaded_is_told_once_and_tried_again(world: World, caplog: pytest.LogCaptureFixture):
    async def body() -> None:
        world.absent, world.errors = ["punctuation"], {"punctuation": ModelControlError("its file is gone")}
        await asyncio.sleep(60)

    run(world, body())
    assert len(world.loaded) > 5
    assert [record.message for record in caplog.records] == [
        "the model punctuation was unloaded and cannot be loaded: its file is gone"
    ]


def test_nothing_is_loaded_into_the_triton_of_somebody_else_or_into_one_that_is_not_there(world: World):
    async def body() -> None:
        world.absent = ["qa"]
        await asyncio.sleep(30)

    run(world, body(), loads=False)

    async def without_triton() -> None:
        world.absent = ["Triton"]
        await asyncio.sleep(30)

    run(world, without_triton())
    assert not world.loaded


def test_a_model_that_nobody_needs_is_mended_and_shuts_no_door(world: World):
    async def body() -> None:
        await asyncio.sleep(20)
        world.hanging.add("punctuation")
        await asyncio.sleep(15)
        assert [model for model, _ in world.mended] == ["punctuation"]
        world.can_mend = False
        await asyncio.sleep(60)
        assert await world.watchdog.missing() == []

    run(world, body())


def test_a_model_that_a_triton_has_not_is_not_asked(world: World):
    async def body() -> None:
        world.absent = ["punctuation"]
        await asyncio.sleep(60)

    run(world, body(), loads=False)
    assert world.asked_of("punctuation") == 0
    assert world.asked_of("qa") > 5


def test_a_model_that_is_loaded_anew_shuts_the_door_only_if_it_recognizes_speech(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    async def missing() -> list[str]:
        return ["asr", "qa"]

    async def body() -> None:
        assert await world.watchdog.missing() == ["asr", "qa"]
        world.mending = {"qa_bert"}
        assert await world.watchdog.missing() == ["asr"]

    monkeypatch.setattr(world, "missing", missing)
    run(world, body())


def test_what_is_loaded_anew_is_not_loaded_twice(world: World):
    async def body() -> None:
        world.absent, world.mending = ["qa_bert"], {"qa_bert"}
        await asyncio.sleep(10)
        assert world.loaded == []
        world.mending = set()
        await asyncio.sleep(10)
        assert world.loaded == ["qa_bert"]

    run(world, body())
