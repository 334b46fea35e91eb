"""Versions that come and go under turns that run, with a model server and files that are only pretended."""

from __future__ import annotations

import asyncio

import pytest

from pipelines.errors import ModelError, ModelUnavailableError, RolloutRefusedError
from pipelines.models.shipped import SHIPPED
from tests import virtual_time
from tests.unit.pipelines.rollout_fakes import ENGINE, FakeStore, Files, Stage


def test_a_version_takes_over_for_turns_that_begin_after_it_is_loaded():
    async def main() -> None:
        stage = Stage()
        loading = asyncio.create_task(stage.rollout.load(ENGINE))
        await asyncio.sleep(0.5)
        assert stage.phases == {1: "ACTIVE", 2: "LOADING"}
        assert (await stage.turn()).understanding.intent == "intent_slot"
        status = await loading
        assert (status.version.number, status.version.source) == (2, str(ENGINE))
        assert stage.phases == {1: "READY", 2: "ACTIVE"}
        reply = await stage.turn()
        assert reply.understanding.intent == "intent_slot.2"
        assert reply.model_versions == {"intent_slot": 2}
        assert stage.rollout.models_to_load() == [
            "another", "asr", "intent_slot", "step.2", "intent_slot.2", "qa",
        ]  # fmt: skip

    virtual_time.run(main())


def test_a_turn_ends_on_the_version_that_it_began_with_and_keeps_it_loaded():
    async def main() -> None:
        stage = Stage()
        old = stage.rollout.active.begin_turn()
        for _ in range(2):
            await stage.rollout.load(ENGINE)
        await asyncio.sleep(60)
        assert stage.phases == {1: "DRAINING", 2: "READY", 3: "ACTIVE"}
        assert (await old.intents.predict("hello")).intent == "intent_slot"
        assert old.versions == {"intent_slot": 1}
        old.release()
        old.release()
        await asyncio.sleep(1)
        assert stage.phases == {2: "READY", 3: "ACTIVE"}
        assert "intent_slot" not in stage.control.loaded

    virtual_time.run(main())


def test_a_sequence_keeps_its_version_until_its_end_was_answered():
    async def main() -> None:
        stage = Stage()
        stage.store.files = Files("asr")
        sequence = stage.rollout.active.recognizer.open_sequence()
        await sequence.send([0.0] * 100, decode=False, end=False)
        for _ in range(2):
            await stage.rollout.load(ENGINE)
        await asyncio.sleep(60)
        assert "asr" in stage.control.loaded
        await sequence.send([], decode=False, end=True)
        await asyncio.sleep(1)
        assert "asr" not in stage.control.loaded

    virtual_time.run(main())


def test_rolling_back_unloads_the_version_that_served():
    async def main() -> None:
        stage = Stage()
        await stage.rollout.load(ENGINE)
        status = await stage.rollout.roll_back("intent_slot")
        assert status.version.number == 1
        assert (await stage.turn()).understanding.intent == "intent_slot"
        await asyncio.sleep(1)
        assert stage.phases == {1: "ACTIVE"}
        assert stage.store.held == set()
        assert stage.control.loaded == {"asr", "intent_slot", "qa"}

    virtual_time.run(main())


def test_a_version_is_unloaded_when_the_model_server_is_back():
    async def main() -> None:
        stage = Stage()
        await stage.rollout.load(ENGINE)
        stage.control.lost = True
        stage.rollout.unload("intent_slot", 1)
        await asyncio.sleep(40)
        assert stage.phases == {1: "DRAINING", 2: "ACTIVE"}
        assert stage.store.removed == []
        stage.control.lost = False
        await asyncio.sleep(10)
        assert "intent_slot" not in stage.control.loaded
        assert stage.store.removed == [("intent_slot", 1)]
        assert stage.phases == {2: "ACTIVE"}

    virtual_time.run(main())


def test_a_version_that_the_model_server_will_not_unload_is_given_up_all_the_same():
    async def main() -> None:
        stage = Stage()
        await stage.rollout.load(ENGINE)
        stage.control.keeps = {"intent_slot"}
        stage.rollout.unload("intent_slot", 1)
        await asyncio.sleep(1)
        assert stage.phases == {2: "ACTIVE"}
        assert stage.store.removed == [("intent_slot", 1)]

    virtual_time.run(main())


def test_closing_does_not_wait_for_a_model_server_that_is_lost():
    async def main() -> None:
        stage = Stage()
        await stage.rollout.load(ENGINE)
        stage.control.lost = True
        stage.rollout.unload("intent_slot", 1)
        await asyncio.sleep(5)
        await stage.rollout.close()

    virtual_time.run(main())


def test_rolling_back_while_the_model_server_is_lost_is_worth_trying_again():
    async def main() -> None:
        stage = Stage()
        await stage.rollout.load(ENGINE)
        stage.control.loaded.clear()
        with pytest.raises(ModelUnavailableError, match="try again"):
            await stage.rollout.roll_back("intent_slot")
        assert stage.phases == {1: "READY", 2: "ACTIVE"}

    virtual_time.run(main())


def test_a_version_that_is_not_ready_is_not_rolled_back_to():
    async def main() -> None:
        stage = Stage()
        await stage.rollout.load(ENGINE)
        stage.control.loaded.discard("intent_slot")
        with pytest.raises(RolloutRefusedError) as refused:
            await stage.rollout.roll_back("intent_slot")
        assert refused.value.reason == "VERSION_NOT_READY"
        assert stage.phases == {1: "READY", 2: "ACTIVE"}

    virtual_time.run(main())


def test_closing_gives_up_a_load_and_versions_that_are_still_used():
    async def main() -> None:
        stage = Stage()
        stage.rollout.active.begin_turn()
        for _ in range(2):
            await stage.rollout.load(ENGINE)
        loading = asyncio.create_task(stage.rollout.load(ENGINE))
        await asyncio.sleep(0.5)
        await stage.rollout.close()
        with pytest.raises(asyncio.CancelledError):
            await loading
        assert stage.store.held == {("intent_slot", 2), ("intent_slot", 3)}

    virtual_time.run(main())


def test_an_unknown_model_is_named_with_those_that_there_are():
    async def main() -> None:
        stage = Stage()
        with pytest.raises(RolloutRefusedError, match="asr, intent_slot, qa"):
            stage.rollout.unload("tts", 1)
        with pytest.raises(RolloutRefusedError, match="asr, intent_slot, qa"):
            await stage.rollout.roll_back("tts")

    virtual_time.run(main())


def test_an_optional_engine_that_is_there_has_versions():
    async def main() -> None:
        stage = Stage(store=FakeStore(Files("punctuation"), optional={"punctuation"}))
        assert await stage.rollout.missing() == [], "nobody waits for it"
        active = stage.rollout.active
        assert active.version("punctuation").model.name == "punctuation"
        status = await stage.rollout.load(ENGINE)
        assert (status.version.engine, status.version.number) == ("punctuation", 2)
        assert await active.get("punctuation").punctuate(["hello there"]) == ["Hello there."]
        assert active.version("punctuation").model.name == "punctuation.2"
        assert active.version("punctuation").model.punctuated[-1] == ["hello there"]
        assert stage.rollout.models_to_load()[-3:] == ["punctuation", "step.2", "punctuation.2"]

    virtual_time.run(main())


def test_an_optional_engine_that_is_not_there_is_neither_listed_nor_loaded():
    async def main() -> None:
        stage = Stage()
        assert {status.version.engine for status in stage.rollout.status()} == {"asr", "intent_slot", "qa"}
        assert "punctuation" not in stage.rollout.models_to_load()
        assert stage.rollout.active_models()["punctuation"] == "punctuation"
        with pytest.raises(RolloutRefusedError, match=r"name one of asr, intent_slot, qa$"):
            stage.rollout.unload("punctuation", 1)

    virtual_time.run(main())


def test_models_are_warmed_up_and_one_that_fails_does_not_keep_the_others_from_it():
    async def main() -> None:
        stage = Stage()
        stage.rollout.active.version("intent_slot").model.fail.add("nlu")
        stage.rollout.active.version("asr").model.sequences.clear()
        await stage.rollout.warm_up()
        assert stage.rollout.active.version("asr").model.sequences
        assert not stage.rollout.active.version("asr").model.open_sequences
        assert [status.turns for status in stage.rollout.status()] == [0, 0, 0]

    virtual_time.run(main())


@pytest.mark.parametrize("error", [ModelError("out of order"), ModelUnavailableError("gone")])
def test_a_warm_up_that_fails_keeps_no_version_from_being_unloaded(error: ModelError):
    async def main() -> None:
        stage = Stage()
        stage.rollout.active.version("asr").model.fail.add("asr")
        stage.rollout.active.version("asr").model.error = error
        await stage.rollout.warm_up()
        assert stage.rollout.active.version("asr").holders == 0
        assert not stage.rollout.active.version("asr").model.open_sequences

    virtual_time.run(main())


def test_an_engine_that_loads_after_the_warm_up_is_prepared_then():
    async def main() -> None:
        stage = Stage(SHIPPED.with_variant("tts", "anna"))
        voice = stage.rollout.active.version("tts-anna").model
        voice.fail.add("prepare")
        await stage.rollout.warm_up()
        await asyncio.sleep(60)
        assert voice.prepared == 0
        voice.fail.clear()
        await asyncio.sleep(6)
        assert voice.prepared == 1
        await asyncio.sleep(60)
        assert voice.prepared == 1, "once is enough"
        voice.fail.add("prepare")
        await stage.rollout.warm_up()
        await stage.rollout.close()

    virtual_time.run(main())


def test_readiness_follows_the_active_versions():
    async def main() -> None:
        stage = Stage()
        await stage.rollout.load(ENGINE)
        stage.control.loaded.discard("intent_slot")
        assert await stage.rollout.missing() == []
        stage.control.loaded.discard("intent_slot.2")
        assert await stage.rollout.missing() == ["intent_slot.2"]

    virtual_time.run(main())


def test_turns_and_holders_are_counted():
    async def main() -> None:
        stage = Stage()
        for _ in range(3):
            await stage.turn()
        under_way = stage.rollout.active.begin_turn()
        (status,) = (status for status in stage.rollout.status() if status.version.engine == "intent_slot")
        assert (status.turns, status.holders) == (3, 1)
        under_way.release()
        assert stage.rollout.status()[0].holders == 0

    virtual_time.run(main())


def test_a_step_serves_the_models_that_are_asked_for_it():
    stage = Stage()
    models = stage.store.models("qa", 1)
    assert stage.rollout.models_using(models[0]) == {models[-1]}
    assert stage.rollout.models_using(models[-1]) == {models[-1]}
    assert stage.rollout.models_using("qa.2") == set()
    assert all(stage.rollout.models_using(other) == {other} for other in stage.store.others())
