"""What the service says of a Triton that somebody else runs."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from pipelines.models.contracts import EngineRegistry
from pipelines.models.shipped import SHIPPED
from pipelines.models.triton import TritonClient
from service.triton import remote
from service.triton.remote import RemoteModels, WrongTritonError
from tests.fake_triton import FakeTriton, serving

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


class Rollout:
    """The first versions of the engines."""

    def __init__(self, client: TritonClient) -> None:
        self._client = client
        self.active = SimpleNamespace(get=lambda _: client)

    def active_models(self) -> dict[str, str]:
        return {role: role for role in SHIPPED.names}

    async def missing(self) -> list[str]:
        return list(await self._client.missing(SHIPPED.required))

    async def warm_up(self) -> None:
        pass


class Heartbeat:
    async def ask(self, client: TritonClient) -> None:
        await client.infer("intent_slot", [])


def registry(heartbeat: Heartbeat) -> EngineRegistry:
    return EngineRegistry(*(dataclasses.replace(contract, heartbeat=heartbeat) for contract in SHIPPED))


@contextlib.asynccontextmanager
async def models_at(address: str, heartbeat: Heartbeat | None = None) -> AsyncIterator[RemoteModels]:
    client = TritonClient(address)
    yield RemoteModels(Rollout(client), client, address, registry(heartbeat or Heartbeat()))
    await client.close()


async def test_the_right_one_is_served_without_a_word(caplog: pytest.LogCaptureFixture):
    async with serving(FakeTriton()) as address, models_at(address) as models:
        assert await models.missing() == []
        await models.warm_up()
        assert await models.missing() == []
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_another_contract_ends_the_start_and_is_named():
    fake = FakeTriton()
    fake.tensors["qa"] = frozenset(("QUESTION", "DOCUMENT"))
    async with serving(fake) as address, models_at(address) as models:
        with pytest.raises(WrongTritonError) as raised:
            await models.missing()
    assert str(raised.value) == (
        f"Triton at {address} has models with another contract (its model qa has no ANSWER_SPAN and no COMPUTE_MS and "
        "no SCORE): serve the model_repository/ of this version there"
    )


async def test_another_server_ends_the_start():
    async with serving(None) as address, models_at(address) as models:
        with pytest.raises(WrongTritonError, match="is a gRPC server, but no Triton"):
            await models.missing()


async def test_one_that_changes_while_it_serves_is_waited_for(caplog: pytest.LogCaptureFixture):
    fake = FakeTriton()
    async with serving(fake) as address, models_at(address) as models:
        assert await models.missing() == []
        await models.warm_up()
        fake.ready.clear()
        assert await models.missing() == ["asr", "intent_slot", "qa"]
        fake.ready.update(fake.tensors)
        fake.tensors["qa"] = frozenset(("QUESTION",))
        assert await models.missing() == ["qa"]


async def test_what_is_waited_for_is_said_now_and_then(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    fake = FakeTriton()
    fake.ready.discard("asr")
    async with serving(fake) as address, models_at(address) as models:
        for _ in range(5):
            assert await models.missing() == ["asr"]
        said = f"waiting: Triton at {address} does not serve asr: load what is missing"
        assert [record.message for record in caplog.records] == [said]
        monkeypatch.setattr(remote, "_SAY_SECONDS", 0.0)
        await models.missing()
    assert [record.message for record in caplog.records] == [said] * 2


async def test_one_that_is_not_there_yet_is_waited_for(caplog: pytest.LogCaptureFixture):
    async with models_at("127.0.0.1:1") as models:
        for _ in range(5):
            assert len(await models.missing()) == 3
    (said,) = [record.message for record in caplog.records]
    assert said.startswith("waiting: nothing listens at Triton's address 127.0.0.1:1")
