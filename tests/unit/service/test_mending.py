"""Models that are loaded anew, and when Triton is started again instead, in virtual time."""

from __future__ import annotations

import asyncio

import pytest

from pipelines.errors import ModelControlError, ModelUnavailableError
from service.triton.model_reload import MAX_MENDS, MEND_SECONDS, Mender
from tests import virtual_time

USERS = {"asr": {"asr"}, "qa_bert": {"qa"}, "qa": {"qa"}}


class World:
    """A Triton with its supervisor, and the connection to it."""

    def __init__(self) -> None:
        self.mending: set[str] = set()
        self.lost: list[set[str]] = []
        self.reloaded: list[str] = []
        self.ended: list[str] = []
        self.restarts: list[str] = []
        self.starts = 1
        self.error: Exception | None = None
        self.reload_seconds = 1.0

    def lose(self, models: set[str]) -> None:
        self.lost.append(models)

    async def reload(self, model: str) -> None:
        assert self.ended[-1] == model, "what still hangs holds requests up"
        await asyncio.sleep(self.reload_seconds)
        if self.error:
            raise self.error
        self.reloaded.append(model)

    def has_process(self, model: str) -> bool:
        return model != "qa"

    async def end_processes(self, model: str) -> None:
        self.ended.append(model)

    def restart(self, verdict: str) -> None:
        self.restarts.append(verdict)


def mended(world: World, *models: str, seconds: float = 60.0) -> list[bool]:
    """Has models mended one right after the other, and waits."""

    async def main() -> list[bool]:
        mender = Mender(world, lambda model: USERS.get(model, set()), world)
        answers = [mender.mend(model) for model in models]
        assert world.mending == {model for model in models if model in USERS and model != "qa"}
        await asyncio.sleep(seconds)
        await mender.close()
        return answers

    return virtual_time.run(main())


def test_a_model_is_loaded_anew_and_what_uses_it_is_told():
    world = World()
    assert mended(world, "qa_bert", "qa_bert") == [True, True]
    assert world.reloaded == ["qa_bert"]
    assert world.lost == [{"qa"}]
    assert world.mending == set()
    assert world.restarts == []


def test_what_is_not_in_service_is_left_alone():
    world = World()
    assert mended(world, "qa_bert.2") == [False]
    assert world.restarts == world.reloaded == []


def test_triton_is_started_again_for_an_ensemble_that_hangs():
    world = World()
    assert mended(world, "qa") == [True]
    assert "qa" in world.restarts[0]
    assert world.reloaded == []


@pytest.mark.parametrize("error", [ModelControlError("no memory"), ModelUnavailableError("it does not answer")])
def test_triton_is_started_again_where_loading_fails(error: Exception):
    world = World()
    world.error = error
    mended(world, "asr")
    assert str(error) in world.restarts[0]
    assert world.mending == set()


def test_triton_is_started_again_where_loading_hangs():
    world = World()
    world.reload_seconds = 10 * MEND_SECONDS
    mended(world, "asr")
    assert "takes too long" in world.restarts[0]
    assert world.mending == set()


def test_the_next_triton_is_not_blamed_for_the_last():
    async def main() -> None:
        world = World()
        world.error = ModelUnavailableError("it is gone")
        mender = Mender(world, lambda model: {model}, world)
        mender.mend("asr")
        await asyncio.sleep(0.5)
        world.starts = 2
        await asyncio.sleep(5)
        assert world.restarts == []

    virtual_time.run(main())


def test_a_model_that_ends_again_and_again_has_triton_started_again():
    async def main() -> None:
        world = World()
        mender = Mender(world, lambda model: {model}, world)
        for _ in range(MAX_MENDS):
            mender.mend("asr")
            await asyncio.sleep(5)
        assert world.restarts == []
        mender.mend("asr")
        assert len(world.restarts) == 1
        world.starts = 2
        mender.mend("asr")
        await asyncio.sleep(5)
        assert len(world.reloaded) == MAX_MENDS + 1

    virtual_time.run(main())
