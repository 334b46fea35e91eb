"""Versions that do not pass their trial, or do not even come to it, with a model server that is only pretended."""

from __future__ import annotations

import asyncio
import gc

import pytest

from pipelines.errors import InvalidInputError, ModelError, ModelUnavailableError, RolloutRefusedError
from pipelines.models.versions.probes import IntentProbe
from tests import virtual_time
from tests.unit.pipelines.rollout_fakes import ENGINE, Files, Stage


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        ({"confidence": float("nan")}, "WARM_UP_FAILED"),
        ({"fail": {"nlu"}}, "WARM_UP_FAILED"),
        ({"understanding_seconds": 0.4}, "SMOKE_EVALUATION_FAILED"),
        ({"understanding_seconds": 99.0}, "WARM_UP_FAILED"),
    ],
)
def test_a_version_that_does_not_pass_its_trial_leaves_everything_as_it_was(model: dict[str, object], reason: str):
    async def main() -> None:
        stage = Stage(**model)
        with pytest.raises(RolloutRefusedError) as refused:
            await stage.rollout.load(ENGINE)
        assert refused.value.reason == reason
        assert stage.phases == {1: "ACTIVE", 2: "FAILED"}
        assert stage.store.held == set()
        assert stage.control.loaded == {"asr", "intent_slot", "qa"}
        assert (await stage.turn()).understanding.intent == "intent_slot"

    virtual_time.run(main())


def test_a_version_is_not_blamed_for_a_busy_machine():
    async def main() -> None:
        stage = Stage(understanding_seconds=0.4)
        stage.rollout.active.version("intent_slot").model.understanding_seconds = 0.35
        assert (await stage.rollout.load(ENGINE)).version.number == 2
        assert stage.phases == {1: "READY", 2: "ACTIVE"}

    virtual_time.run(main())


@pytest.mark.parametrize("seconds", [2.5, 5.0])
def test_rolling_back_during_a_trial_is_no_fault_of_the_version(seconds: float):
    """Before the active version is asked for comparison, and while it is."""

    async def main() -> None:
        stage = Stage(understanding_seconds=0.4)
        stage.rollout.active.version("intent_slot").model.understanding_seconds = 0.35
        await stage.rollout.load(ENGINE)
        loading = asyncio.create_task(stage.rollout.load(ENGINE))
        await asyncio.sleep(seconds)
        await stage.rollout.roll_back("intent_slot")
        assert (await loading).version.number == 3
        await asyncio.sleep(1)
        assert stage.phases == {1: "READY", 3: "ACTIVE"}

    virtual_time.run(main())


@pytest.mark.parametrize("error", [ModelError("out of order"), AttributeError("no such output")])
def test_a_version_is_not_blamed_for_an_active_one_that_does_not_answer(error: Exception):
    async def main() -> None:
        stage = Stage(understanding_seconds=0.4)
        stage.rollout.active.version("intent_slot").model.fail.add("nlu")
        stage.rollout.active.version("intent_slot").model.error = error
        assert (await stage.rollout.load(ENGINE)).version.number == 2

    virtual_time.run(main())


def test_a_version_that_gets_its_labelled_examples_wrong_does_not_take_over():
    async def main() -> None:
        stage = Stage()
        stage.store.files = Files(examples=[IntentProbe("a", "intent_slot.2"), IntentProbe("b", "another one")])
        with pytest.raises(RolloutRefusedError, match="1 of 2"):
            await stage.rollout.load(ENGINE)
        assert stage.phases == {1: "ACTIVE", 2: "FAILED"}
        (failed,) = (status for status in stage.rollout.status() if status.version.reason)
        assert "1 of 2" in failed.version.reason

    virtual_time.run(main())


def test_a_version_that_cannot_be_loaded_leaves_nothing_behind():
    async def main() -> None:
        stage = Stage()
        stage.control.refuses = {"intent_slot.2"}
        with pytest.raises(RolloutRefusedError, match="no such weights"):
            await stage.rollout.load(ENGINE)
        assert stage.phases == {1: "ACTIVE", 2: "FAILED"}
        assert "step.2" not in stage.control.loaded
        assert stage.store.held == set()
        await stage.rollout.load(ENGINE)
        assert stage.phases == {1: "READY", 2: "FAILED", 3: "ACTIVE"}

    virtual_time.run(main())


def test_a_model_server_that_is_lost_while_a_version_is_loaded_ends_the_load():
    async def main() -> None:
        stage = Stage()
        stage.control.lost = True
        with pytest.raises(ModelUnavailableError):
            await stage.rollout.load(ENGINE)
        assert stage.phases == {1: "ACTIVE", 2: "FAILED"}
        assert stage.store.held == set()

    virtual_time.run(main())


def test_a_model_server_that_is_lost_during_the_trial_is_no_fault_of_the_version():
    async def main() -> None:
        stage = Stage(fail={"nlu"}, error=ModelUnavailableError("the model server is gone"))
        with pytest.raises(ModelUnavailableError):
            await stage.rollout.load(ENGINE)
        assert stage.phases == {1: "ACTIVE", 2: "FAILED"}
        assert stage.store.held == set()

    virtual_time.run(main())


def test_what_is_no_engine_is_not_even_listed():
    async def main() -> None:
        stage = Stage()
        stage.store.checks = False
        with pytest.raises(InvalidInputError):
            await stage.rollout.load(ENGINE)
        assert stage.phases == {1: "ACTIVE"}

    virtual_time.run(main())


def test_one_version_is_loaded_at_a_time():
    async def main() -> None:
        stage = Stage()
        first = asyncio.create_task(stage.rollout.load(ENGINE))
        await asyncio.sleep(0.5)
        with pytest.raises(RolloutRefusedError) as refused:
            await stage.rollout.load(ENGINE)
        assert refused.value.reason == "LOAD_UNDER_WAY"
        assert (await first).version.number == 2
        assert (await stage.rollout.load(ENGINE)).version.number == 3
        await asyncio.sleep(1)

    virtual_time.run(main())


def test_a_caller_that_goes_away_takes_the_load_back():
    async def main() -> None:
        stage = Stage()
        loading = asyncio.create_task(stage.rollout.load(ENGINE))
        await asyncio.sleep(1.5)
        loading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await loading
        assert stage.phases == {1: "ACTIVE", 2: "FAILED"}
        assert stage.store.held == set()
        assert stage.control.loaded == {"asr", "intent_slot", "qa"}

    virtual_time.run(main())


def test_a_caller_that_goes_away_while_a_failed_version_is_removed_leaves_it_failed():
    async def main() -> None:
        stage = Stage()
        stage.control.refuses = {"intent_slot.2"}
        loading = asyncio.create_task(stage.rollout.load(ENGINE))
        await asyncio.sleep(2.2)
        loading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await loading
        assert stage.phases == {1: "ACTIVE", 2: "FAILED"}
        assert stage.store.held == set()
        assert "step.2" not in stage.control.loaded
        stage.rollout.unload("intent_slot", 2)
        assert stage.phases == {1: "ACTIVE"}

    virtual_time.run(main())


def test_a_removal_that_takes_too_long_for_a_caller_that_went_away_is_not_waited_for():
    async def main() -> None:
        stage = Stage()
        stage.control.refuses, stage.control.load_seconds = {"step.2"}, 40.0
        loading = asyncio.create_task(stage.rollout.load(ENGINE))
        await asyncio.sleep(41)
        loading.cancel()
        await asyncio.wait((loading,))
        assert asyncio.get_running_loop().time() < 52
        assert stage.phases == {1: "ACTIVE", 2: "FAILED"}
        await asyncio.sleep(0)
        assert stage.store.removed == [("intent_slot", 2)]

    virtual_time.run(main())


def test_files_are_removed_also_when_unloading_goes_wrong_in_an_unforeseen_way():
    async def main() -> None:
        stage = Stage(fail={"nlu"})

        async def unload(_: object) -> None:
            raise OSError("unforeseen")

        stage.control.unload = unload
        with pytest.raises(OSError, match="unforeseen"):
            await stage.rollout.load(ENGINE)
        assert stage.phases == {1: "ACTIVE", 2: "FAILED"}
        assert stage.store.held == set()

    virtual_time.run(main())


def test_what_goes_wrong_after_the_caller_has_left_is_no_surprise():
    async def leave() -> None:
        stage = Stage()
        stage.control.refuses = {"step.2"}
        loading = asyncio.create_task(stage.rollout.load(ENGINE))
        await asyncio.sleep(0.5)
        loading.cancel()
        await asyncio.wait((loading,))

    async def main() -> None:
        surprises = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: surprises.append(context["message"]))
        await leave()
        gc.collect()
        assert surprises == []

    virtual_time.run(main())
