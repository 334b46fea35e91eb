"""What becomes of requests that nobody waits for any more. The real Triton is met in the integration tests."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from tritonclient.grpc import model_config_pb2, service_pb2
from tritonclient.utils import InferenceServerException

from pipelines.errors import ModelControlError, ModelDeadError, ModelError, ModelUnavailableError
from pipelines.models.triton import client as module
from pipelines.models.triton.client import TritonClient
from service.sessions.capacity_watch import busiest_share

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
        self.computed = {"asr": 5.0, "intent_slot": 0.0, "qa_bert": 0.0}
        self.configs = {
            "asr": [model_config_pb2.ModelInstanceGroup()],
            "intent_slot": [],
            "qa_bert": [model_config_pb2.ModelInstanceGroup(count=2)],
        }
        self.refusal: InferenceServerException | None = None

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

    async def get_inference_statistics(self, **_: object) -> service_pb2.ModelStatisticsResponse:
        self._refuse()
        response = service_pb2.ModelStatisticsResponse()
        for name, seconds in self.computed.items():
            batch = response.model_stats.add(name=name).batch_stats.add()
            batch.compute_infer.ns = round(1e9 * seconds)
        return response

    async def get_model_config(self, model: str, **_: object) -> service_pb2.ModelConfigResponse:
        self.asked.append(model)
        groups = self.configs[model]
        return service_pb2.ModelConfigResponse(config=model_config_pb2.ModelConfig(instance_group=groups))

    async def is_model_ready(self, model: str, **_: object) -> bool:
        self.asked.append(model)
        await self.answers.wait()
        self._refuse()
        return model != "qa"

    async def load_model(self, *_: object, **__: object) -> None:
        self._refuse()

    async def unload_model(self, *_: object, **__: object) -> None:
        self._refuse()

    def _refuse(self) -> None:
        if self.refusal is not None:
            raise self.refusal

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


async def test_a_model_is_as_busy_as_its_instances_are(client: TritonClient, triton: SlowTriton):
    before = await client.busy_seconds()
    triton.computed["qa_bert"] += 0.9
    after = await client.busy_seconds()
    assert busiest_share(before, after, 1.0) == pytest.approx(0.45)
    assert after["asr"] == 5.0


async def test_instances_are_asked_for_once_and_again_when_triton_was_lost(client: TritonClient, triton: SlowTriton):
    for _ in range(3):
        await client.busy_seconds()
    assert sorted(triton.asked) == ["asr", "intent_slot", "qa_bert"]
    triton.refusal = InferenceServerException("gone", "StatusCode.UNAVAILABLE")
    with pytest.raises(ModelUnavailableError):
        await client.busy_seconds()
    triton.refusal = None
    triton.configs["asr"][0].count = 5
    assert (await client.busy_seconds())["asr"] == 1.0


async def test_instances_on_several_gpus_are_all_counted(client: TritonClient, triton: SlowTriton):
    groups = model_config_pb2.ModelInstanceGroup(count=2, gpus=[0, 1]), model_config_pb2.ModelInstanceGroup(count=1)
    triton.configs["asr"] = list(groups)
    assert (await client.busy_seconds())["asr"] == 1.0


async def test_a_triton_that_cannot_be_reached_is_no_fault_of_the_model():
    client = TritonClient("127.0.0.1:1")
    with pytest.raises(ModelUnavailableError):
        await client.load("x")
    with pytest.raises(ModelUnavailableError):
        await client.unload(["x"])
    await client.close()


@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        ("StatusCode.UNAVAILABLE", "Socket closed", ModelUnavailableError),
        ("StatusCode.CANCELLED", "", ModelUnavailableError),
        ("StatusCode.DEADLINE_EXCEEDED", "Deadline Exceeded", ModelUnavailableError),
        ("StatusCode.UNAVAILABLE", "explicit model load / unload is not allowed if polling", ModelControlError),
        ("StatusCode.INVALID_ARGUMENT", "load failed for model 'x': version 1 is at UNAVAILABLE", ModelControlError),
    ],
)
async def test_a_lost_triton_is_told_from_one_that_refuses(
    client: TritonClient, triton: SlowTriton, status: str, message: str, kind: type[Exception]
):
    triton.refusal = InferenceServerException(message, status)
    with pytest.raises(kind, match="Triton cannot load x"):
        await client.load("x")
    with pytest.raises(kind, match="Triton cannot unload x"):
        await client.unload(["x"])


LATE = InferenceServerException("Deadline Exceeded", "StatusCode.DEADLINE_EXCEEDED")


@pytest.mark.parametrize("comes_back", [True, False])
@pytest.mark.parametrize("abandoned", [True, False])
async def test_a_model_that_answers_nobody_for_as_long_as_a_request_may_take_hangs(
    triton: SlowTriton, monkeypatch: pytest.MonkeyPatch, abandoned: bool, comes_back: bool
):
    told: list[str] = []
    client = TritonClient("127.0.0.1:1", lambda model: told.append(model) or comes_back)
    monkeypatch.setattr(client, "_client", triton)
    triton.answers.set()
    await client.infer("qa", [])
    triton.answers.clear()
    triton.error = LATE
    if abandoned:
        await abandon(client)
        triton.answers.set()
        await client.close()
    else:
        triton.answers.set()
        with pytest.raises(ModelUnavailableError, match="hangs" if comes_back else "cannot be reached"):
            await client.infer("qa", [])
    assert told == ["qa"]


async def test_a_model_that_answers_somebody_else_meanwhile_is_slow(
    triton: SlowTriton, monkeypatch: pytest.MonkeyPatch
):
    told: list[str] = []
    client = TritonClient("127.0.0.1:1", lambda model: told.append(model) or True)
    monkeypatch.setattr(client, "_client", triton)
    late, held = asyncio.create_task(client.infer("qa", [])), triton.answers
    while not triton.asked:
        await asyncio.sleep(0)
    triton.answers = asyncio.Event()
    triton.answers.set()
    await client.infer("qa", [])
    triton.error = LATE
    held.set()
    with pytest.raises(ModelUnavailableError, match="cannot be reached"):
        await late
    assert not told


@pytest.mark.parametrize("restarted", [True, False])
async def test_a_model_that_has_never_answered_is_only_slow_to_start(
    triton: SlowTriton, monkeypatch: pytest.MonkeyPatch, restarted: bool
):
    told: list[str] = []
    client = TritonClient("127.0.0.1:1", lambda model: told.append(model) or True)
    monkeypatch.setattr(client, "_client", triton)
    triton.answers.set()
    if restarted:
        await client.infer("qa", [])
        triton.error = InferenceServerException("gone", "StatusCode.UNAVAILABLE")
        with pytest.raises(ModelUnavailableError):
            await client.infer("intent_slot", [])
    triton.error = LATE
    with pytest.raises(ModelUnavailableError, match="cannot be reached"):
        await client.infer("qa", [])
    assert not told


@pytest.mark.parametrize(
    ("message", "dead", "error"),
    [
        ("Stub process 'asr_0_0' is not healthy.", ["asr"], ModelUnavailableError),
        ("in ensemble 'asr', Stub process 'asr_bert_0_0' is not healthy.", ["asr_bert"], ModelUnavailableError),
        ("Failed to process the request(s) for model instance 'asr_0_0'", [], ModelError),
    ],
)
@pytest.mark.parametrize("comes_back", [True, False])
async def test_a_model_whose_process_is_gone_is_told(
    triton: SlowTriton,
    monkeypatch: pytest.MonkeyPatch,
    message: str,
    dead: list[str],
    error: type[Exception],
    comes_back: bool,
):
    told: list[str] = []

    def on_dead_model(model: str) -> bool:
        told.append(model)
        return comes_back

    client = TritonClient("127.0.0.1:1", on_dead_model)
    monkeypatch.setattr(client, "_client", triton)
    triton.error = InferenceServerException(message, "StatusCode.INTERNAL")
    triton.answers.set()
    with pytest.raises(ModelError) as raised:
        await client.infer("asr", [])
    assert type(raised.value) is (error if comes_back or not dead else ModelDeadError)
    assert told == dead


async def test_a_look_that_hangs_holds_up_no_other(client: TritonClient, triton: SlowTriton):
    looking = asyncio.create_task(client.unloaded(["asr", "qa", "punctuation"]))
    await asyncio.sleep(0.01)
    assert triton.asked == ["asr", "qa", "punctuation"]
    triton.answers.set()
    assert await looking == ["qa"]
    triton.refusal = LATE
    with pytest.raises(ModelUnavailableError):
        await client.unloaded(["asr", "qa"])
    assert await client.missing(["asr", "qa"]) == ["asr", "qa"]


async def test_open_sequences_are_those_that_have_not_ended(client: TritonClient, triton: SlowTriton):
    triton.answers.set()
    await client.infer("asr", [], correlation_id=7, start=True)
    await client.infer("asr", [], correlation_id=8, start=True, end=True)
    assert client.open_sequences == {7}
    triton.error = LATE
    with pytest.raises(ModelError):
        await client.infer("asr", [], correlation_id=7, end=True)
    assert client.open_sequences == set()
