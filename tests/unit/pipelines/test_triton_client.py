"""What becomes of requests that nobody waits for any more. The real Triton is met in the integration tests."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from tritonclient.utils import InferenceServerException

from pipelines.errors import ModelUnavailableError
from pipelines.triton import client as module
from pipelines.triton.client import TritonClient

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


class SlowTriton:
    """Takes requests in at once, and answers them when the test says so."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.cancelled = 0
        self.closed = False
        self.answers = asyncio.Event()
        self.error: Exception | None = None

    async def infer(self, model: str, *_: object, **__: object) -> str:
        self.asked.append(model)
        try:
            await self.answers.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if self.error is not None:
            raise self.error
        return f"answer of {model}"

    async def close(self) -> None:
        self.closed = True


@pytest.fixture
def triton() -> SlowTriton:
    return SlowTriton()


@pytest.fixture
async def client(triton: SlowTriton) -> AsyncIterator[TritonClient]:
    client = TritonClient("localhost:1")
    await client._client.close()
    client._client = triton
    yield client
    triton.answers.set()
    await client.close()


async def abandon(client: TritonClient, model: str = "qa", **sequence: int) -> None:
    call = asyncio.create_task(client.infer(model, [], **sequence))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call


async def test_triton_is_not_told_that_nobody_waits(client: TritonClient, triton: SlowTriton):
    await abandon(client)
    triton.answers.set()
    assert await client.infer("intent_slot", []) == "answer of intent_slot"
    assert (triton.asked, triton.cancelled) == (["qa", "intent_slot"], 0)


async def test_what_fails_unheard_disturbs_nobody(client: TritonClient, triton: SlowTriton):
    await abandon(client)
    triton.error = InferenceServerException("no", "StatusCode.UNAVAILABLE")
    triton.answers.set()
    with pytest.raises(ModelUnavailableError):
        await client.infer("qa", [])


async def test_closing_waits_for_what_was_abandoned(client: TritonClient, triton: SlowTriton):
    await abandon(client)
    closing = asyncio.create_task(client.close())
    await asyncio.sleep(0.01)
    assert not triton.closed
    triton.answers.set()
    await closing
    assert (triton.closed, triton.cancelled) == (True, 0)


async def test_closing_does_not_wait_for_ever(client: TritonClient, triton: SlowTriton, monkeypatch):
    monkeypatch.setattr(module, "_FAREWELL_SECONDS", 0.01)
    await abandon(client)
    await client.close()
    assert triton.closed


async def test_what_was_abandoned_is_bounded(client: TritonClient, triton: SlowTriton, monkeypatch):
    monkeypatch.setattr(module, "_MAX_ABANDONED", 3)
    for _ in range(3):
        await abandon(client)
    waiting = asyncio.create_task(client.infer("qa", []))
    sequence = asyncio.create_task(client.infer("asr", [], correlation_id=7))
    await asyncio.sleep(0.01)
    assert triton.asked == ["qa"] * 3 + ["asr"]  # Who speaks does not wait for it.
    triton.answers.set()
    assert await waiting == "answer of qa"
    assert await sequence == "answer of asr"
