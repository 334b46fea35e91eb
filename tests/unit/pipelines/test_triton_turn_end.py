"""How the end of a turn is asked for. The real model is met in the integration tests."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tritonclient.utils import InferenceServerException, deserialize_bytes_tensor

from pipelines.errors import ModelError, ModelUnavailableError
from pipelines.models.triton import TritonEndOfTurn
from pipelines.models.triton.client import TritonClient

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from tritonclient.grpc import InferInput


class JudgingTriton:
    """Says that every turn is over with a probability of 0.75, and keeps what it was asked."""

    def __init__(self) -> None:
        self.model = ""
        self.audio = np.zeros(0, np.int16)
        self.text = ""
        self.error: InferenceServerException | None = None

    async def infer(self, model: str, inputs: Sequence[InferInput], **_: object) -> object:
        if self.error is not None:
            raise self.error
        self.model = model
        packed = {tensor.name(): tensor for tensor in inputs}
        self.audio = np.frombuffer(packed["AUDIO"]._get_content(), np.int16).reshape(packed["AUDIO"].shape())
        (text,) = deserialize_bytes_tensor(packed["TEXT"]._get_content())
        self.text = text.decode()
        outputs = {"PROBABILITY": np.array([[0.75]], np.float32), "COMPUTE_MS": np.array([[0.0]], np.float32)}
        return SimpleNamespace(as_numpy=outputs.get)

    async def close(self) -> None:
        pass


@pytest.fixture
def triton() -> JudgingTriton:
    return JudgingTriton()


@pytest.fixture
async def model(triton: JudgingTriton) -> AsyncIterator[TritonEndOfTurn]:
    client = TritonClient("localhost:1")
    await client._client.close()
    client._client = triton
    yield TritonEndOfTurn(client, "end_of_turn.2")
    await client.close()


async def test_sound_and_words_are_judged(model: TritonEndOfTurn, triton: JudgingTriton):
    end = await model.judge(np.array([0.0, 0.5, -1.0, 2.0], np.float32), "two lattés")
    assert end.probability == 0.75
    assert end.timing.compute_seconds == 0
    assert end.timing.queue_seconds > 0
    assert triton.model == "end_of_turn.2"
    assert triton.audio.tolist() == [[0, 16_384, -32_767, 32_767]]
    assert triton.text == "two lattés"


async def test_the_last_eight_seconds_are_sent(model: TritonEndOfTurn, triton: JudgingTriton):
    sound = np.linspace(0, 1, 10 * 16_000, dtype=np.float32)
    await model.judge(sound, "")
    assert triton.audio.shape == (1, 8 * 16_000)
    assert triton.audio[0, -1] == 32_767
    assert triton.audio[0, 0] == pytest.approx(32_767 * 0.2, abs=2)


@pytest.mark.parametrize(
    ("status", "error"), [("StatusCode.UNAVAILABLE", ModelUnavailableError), ("StatusCode.INTERNAL", ModelError)]
)
async def test_a_model_that_does_not_answer_is_told_as_such(
    model: TritonEndOfTurn, triton: JudgingTriton, status: str, error: type[Exception]
):
    triton.error = InferenceServerException("no", status)
    with pytest.raises(error, match="end_of_turn"):
        await model.judge(np.zeros(16_000, np.float32), "hello")
