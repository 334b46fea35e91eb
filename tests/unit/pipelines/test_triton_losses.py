"""Requests to a model that is lost: which of them may be repeated, and when."""

from __future__ import annotations

import asyncio

import pytest
from tritonclient.utils import InferenceServerException

from pipelines.errors import ModelError, ModelUnavailableError
from pipelines.models.triton.client import TritonClient

DEAD = InferenceServerException("Stub process 'qa_bert_0_0' is not healthy.", "StatusCode.INTERNAL")
GONE = InferenceServerException("Socket closed", "StatusCode.UNAVAILABLE")
LATE = InferenceServerException("Deadline Exceeded", "StatusCode.DEADLINE_EXCEEDED")
NO_START = InferenceServerException(
    "inference request for sequence 7 to model 'asr' must specify the START flag on the first request of the sequence",
    "StatusCode.INVALID_ARGUMENT",
)
UNLOADED = InferenceServerException("Request for unknown model: 'qa' has no available versions", "StatusCode.NOT_FOUND")
STAGE_UNLOADED = InferenceServerException("Model 'asr_stage_2' is not ready.", "StatusCode.INTERNAL")
REFUSED = InferenceServerException("AUDIO is too long", "StatusCode.INVALID_ARGUMENT")


class Triton:
    """Answers once the test says so, or fails."""

    def __init__(self) -> None:
        self.error: InferenceServerException | None = None
        self.answers = asyncio.Event()
        self.ready = False
        self.unloaded: list[str] = []
        self.loaded: list[str] = []

    async def infer(self, *_: object, **__: object) -> str:
        await self.answers.wait()
        if self.error is not None:
            raise self.error
        return "answer"

    async def is_model_ready(self, *_: object, **__: object) -> bool:
        return self.ready

    async def unload_model(self, model: str, **_: object) -> None:
        self.unloaded.append(model)

    async def load_model(self, model: str, **_: object) -> None:
        self.loaded.append(model)


@pytest.fixture
def triton() -> Triton:
    return Triton()


@pytest.fixture
async def client(triton: Triton, monkeypatch: pytest.MonkeyPatch) -> TritonClient:
    made = TritonClient("127.0.0.1:1")
    monkeypatch.setattr(made, "_client", triton)
    return made


async def failure(client: TritonClient, model: str = "qa") -> ModelError:
    with pytest.raises(ModelError) as raised:
        await client.infer(model, [])
    return raised.value


@pytest.mark.parametrize("error", [GONE, NO_START])
async def test_what_was_lost_may_be_repeated_once_the_model_is_ready(
    client: TritonClient, triton: Triton, error: InferenceServerException
):
    triton.error = error
    triton.answers.set()
    lost = await failure(client)
    assert isinstance(lost, ModelUnavailableError)
    assert lost.recovery is not None
    waiting = asyncio.create_task(lost.recovery())
    await asyncio.sleep(0.15)
    assert not waiting.done()
    triton.ready = True
    async with asyncio.timeout(2):
        await waiting


@pytest.mark.parametrize("error", [LATE, REFUSED, DEAD, UNLOADED])
async def test_what_nobody_mends_or_the_request_caused_is_not_repeated(
    client: TritonClient, triton: Triton, error: InferenceServerException
):
    triton.error = error
    triton.answers.set()
    assert (await failure(client)).recovery is None


@pytest.mark.parametrize("error", [UNLOADED, STAGE_UNLOADED])
async def test_a_model_that_is_loaded_anew_is_waited_for(
    client: TritonClient, triton: Triton, error: InferenceServerException
):
    triton.error, triton.ready = error, True
    triton.answers.set()
    client.mending.add("qa_bert")
    lost = await failure(client)
    waiting = asyncio.create_task(lost.recovery())
    await asyncio.sleep(0.15)
    assert not waiting.done(), "an ensemble may be ready before its step is"
    client.mending.clear()
    async with asyncio.timeout(2):
        await waiting


async def test_what_a_lost_model_was_asked_fails_at_once(client: TritonClient, triton: Triton):
    asked = [asyncio.create_task(client.infer(model, [])) for model in ("qa", "qa", "asr")]
    await asyncio.sleep(0.01)
    client.lose({"qa", "tts"})
    await asyncio.wait(asked[:2], timeout=2)
    for lost in asked[:2]:
        assert isinstance(lost.exception(), ModelUnavailableError)
        assert lost.exception().recovery is not None
    assert not asked[2].done()
    triton.answers.set()
    assert await asked[2] == "answer"
    assert await client.infer("qa", []) == "answer"


async def test_a_process_is_not_blamed_for_the_one_before(client: TritonClient, triton: Triton):
    told = []
    client.on_dead_model = lambda model: told.append(model) or True
    triton.error = DEAD
    asked = asyncio.create_task(client.infer("qa", []))
    await asyncio.sleep(0.01)
    await client.reload("qa_bert")
    assert (triton.unloaded, triton.loaded) == (["qa_bert"], ["qa_bert"])
    assert client.reloads == 1
    triton.answers.set()
    with pytest.raises(ModelUnavailableError):
        await asked
    assert told == []
    assert (await failure(client)).recovery is not None
    assert told == ["qa_bert"]
