"""How texts are shared out among requests. The real model is met in the integration tests."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tritonclient.grpc import service_pb2
from tritonclient.utils import InferenceServerException, deserialize_bytes_tensor

from pipelines.errors import ModelError, ModelUnavailableError
from pipelines.models.triton import TritonPunctuation, TritonRecognizer
from pipelines.models.triton.client import TritonClient

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from tritonclient.grpc import InferInput

TEXTS = [f"text {number}" for number in range(64)]


class CapitalizingTriton:
    """Serves ``punctuation`` as Triton does: a request with more rows than ``max_batch_size`` fails."""

    def __init__(self) -> None:
        self.max_batch_size = 64
        self.asked: list[int] = []
        self.error: InferenceServerException | None = None

    async def get_model_config(self, model: str, **_: object) -> service_pb2.ModelConfigResponse:
        if self.error is not None:
            raise self.error
        return service_pb2.ModelConfigResponse(config={"name": model, "max_batch_size": self.max_batch_size})

    async def infer(self, _model: str, inputs: Sequence[InferInput], **_: object) -> object:
        (rows, _width) = inputs[0].shape()
        self.asked.append(rows)
        if rows > self.max_batch_size:
            message = f"[request id: <id_unknown>] inference request batch-size must be <= {self.max_batch_size}"
            raise InferenceServerException(message, "StatusCode.INVALID_ARGUMENT")
        texts = deserialize_bytes_tensor(inputs[0]._get_content())
        written = np.array([[text.decode().capitalize().encode()] for text in texts], np.object_)
        return SimpleNamespace(as_numpy={"PUNCTUATED": written}.get)

    async def close(self) -> None:
        pass


@pytest.fixture
def triton() -> CapitalizingTriton:
    return CapitalizingTriton()


@pytest.fixture
async def punctuation(triton: CapitalizingTriton) -> AsyncIterator[TritonPunctuation]:
    client = TritonClient("localhost:1")
    await client._client.close()
    client._client = triton
    yield TritonPunctuation(client)
    await client.close()


@pytest.mark.parametrize(
    ("max_batch_size", "batches"), [(64, [64]), (63, [63, 1]), (24, [24, 24, 16]), (1, [1] * 64), (128, [64])]
)
async def test_texts_are_sent_in_batches_that_the_model_takes(
    punctuation: TritonPunctuation, triton: CapitalizingTriton, max_batch_size: int, batches: list[int]
):
    triton.max_batch_size = max_batch_size
    assert await punctuation.punctuate(TEXTS) == [text.capitalize() for text in TEXTS]
    assert triton.asked == batches


async def test_a_model_that_is_served_with_other_settings_from_now_on_gets_other_batches(
    punctuation: TritonPunctuation, triton: CapitalizingTriton
):
    await punctuation.punctuate(TEXTS)
    triton.max_batch_size = 32
    await punctuation.punctuate(TEXTS)
    assert triton.asked == [64, 32, 32]


@pytest.mark.parametrize(
    ("status", "error"), [("StatusCode.UNAVAILABLE", ModelUnavailableError), ("StatusCode.NOT_FOUND", ModelError)]
)
async def test_a_model_whose_config_cannot_be_read_is_told_as_such(
    punctuation: TritonPunctuation, triton: CapitalizingTriton, status: str, error: type[Exception]
):
    triton.error = InferenceServerException("no", status)
    with pytest.raises(error, match="punctuation"):
        await punctuation.punctuate(TEXTS)


class BareTriton(CapitalizingTriton):
    """Serves ``asr`` too, whose texts have neither capitals nor marks."""

    async def get_model_config(self, model: str, **options: object) -> service_pb2.ModelConfigResponse:
        answer = await super().get_model_config(model, **options)
        answer.config.parameters["punctuates"].string_value = "false"
        return answer

    async def infer(self, model: str, inputs: Sequence[InferInput], **options: object) -> object:
        if model != "asr":
            return await super().infer(model, inputs, **options)
        outputs = {
            "TRANSCRIPT": np.array([[b"turn it off"]], np.object_),
            "DECODED_SAMPLES": np.array([[3]]),
            "IS_FINAL": np.array([[True]]),
            "COMPUTE_MS": np.array([[1.0]], np.float32),
            "ALTERNATIVE_TEXTS": np.array([[b"turn it off", b"turn it of"]], np.object_),
            "ALTERNATIVE_CONFIDENCES": np.array([[0.9, 0.1]], np.float32),
            "WORDS": np.array([[b"turn", b"it", b"off"]], np.object_),
            "WORD_SPANS": np.array([[[0, 1], [1, 2], [2, 3]]]),
        }
        return SimpleNamespace(as_numpy=outputs.get)


async def test_texts_that_are_asked_for_get_capitals_where_the_recognizer_writes_none():
    triton = BareTriton()
    client = TritonClient("localhost:1")
    await client._client.close()
    client._client = triton
    recognizer = TritonRecognizer(client)
    await recognizer.prepare()
    audio = np.zeros(3, np.float32)
    partial = await recognizer.open_sequence().send(audio, decode=False, end=False)
    final = await recognizer.open_sequence().send(audio, decode=False, end=True)
    triton.error = InferenceServerException("no such model", "StatusCode.UNAVAILABLE")
    bare = await recognizer.open_sequence().send(audio, decode=True, end=False)
    await client.close()
    assert (partial.text, final.text, bare.text) == ("turn it off", "Turn it off", "turn it off")
    assert [word.text for word in final.words] == ["Turn", "it", "off"]
    assert [one.text for one in final.alternatives] == ["Turn it off", "turn it of"]
