"""What the intent engine's client reads, of engines of today and of before."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tritonclient.grpc import service_pb2

from pipelines.data.recognition import PhraseHint
from pipelines.models.triton.client import TritonClient
from pipelines.models.triton.engines import TritonIntents

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

GROUPS = [{"phrases": ["latte"], "boost": None}, {"phrases": ["i would like a latte"], "boost": 5.0}]


class Triton:
    """Answers every text alike."""

    def __init__(self) -> None:
        self.hints = ""
        self.asked: list[str] = []
        self.outputs: dict[str, np.ndarray] = {
            "INTENT": np.array([[b"none"]], np.object_),
            "CONFIDENCE": np.array([[0.9]], np.float32),
            "SLOT_NAMES": np.empty((1, 0), np.object_),
            "SLOT_VALUES": np.empty((1, 0), np.object_),
            "SLOT_SPANS": np.empty((1, 0, 2), np.int32),
            "COMPUTE_MS": np.array([[1.0]], np.float32),
            "KIND": np.array([[b"command"]], np.object_),
            "NEGATED": np.array([[True]]),
            "INTENT_NAMES": np.array([[b"lights", b"taxi", b""]], np.object_),
            "INTENT_SCORES": np.array([[0.9, 0.1, 0.0]], np.float32),
        }

    async def get_model_config(self, model: str, **_: object) -> service_pb2.ModelConfigResponse:
        self.asked.append(f"config of {model}")
        parameters = {"phrase_hints": {"string_value": self.hints}} if self.hints else {}
        return service_pb2.ModelConfigResponse(config={"name": model, "parameters": parameters})

    async def infer(self, model: str, *_: object, **__: object) -> object:
        self.asked.append(model)
        return SimpleNamespace(as_numpy=self.outputs.get)

    async def close(self) -> None:
        pass


@pytest.fixture
def triton() -> Triton:
    return Triton()


@pytest.fixture
async def intents(triton: Triton) -> AsyncIterator[TritonIntents]:
    client = TritonClient("localhost:1")
    await client._client.close()
    client._client = triton
    yield TritonIntents(client)
    await client.close()


async def test_kind_negation_and_candidates_are_read(intents: TritonIntents):
    found = await intents.predict("don't turn on the lights")
    assert (found.intent, found.kind, found.negated) == ("none", "command", True)
    assert found.candidates == (("lights", pytest.approx(0.9)), ("taxi", pytest.approx(0.1)))


async def test_an_engine_of_before_tells_none_of_that(intents: TritonIntents, triton: Triton):
    for name in ("KIND", "NEGATED", "INTENT_NAMES", "INTENT_SCORES"):
        del triton.outputs[name]
    found = await intents.predict("turn on the lights")
    assert (found.kind, found.negated, found.candidates) == ("", False, ())


async def test_hints_are_read_once_from_the_configuration(intents: TritonIntents, triton: Triton):
    triton.hints = json.dumps(GROUPS)
    assert intents.hints == ()
    await intents.predict("a latte")
    await intents.predict("a latte")
    assert intents.hints == (PhraseHint("latte"), PhraseHint("i would like a latte", 5.0))
    assert triton.asked == ["config of intent_slot", "intent_slot", "intent_slot"]


@pytest.mark.parametrize(
    "stored", ["no json", "{}", "[1]", '[{"phrases": ["x"]}]', '[{"phrases": ["x"], "boost": 999}]']
)
async def test_hints_that_cannot_be_used_are_left_out_and_logged(
    intents: TritonIntents, triton: Triton, caplog: pytest.LogCaptureFixture, stored: str
):
    triton.hints = stored
    await intents.predict("a latte")
    assert intents.hints == ()
    assert ("train it again" in caplog.text) == (stored != "{}")
