"""The client of ``embed``, its probe, and its contract. The real model is met in the integration tests."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from google.protobuf import text_format
from tritonclient.grpc import model_config_pb2
from tritonclient.utils import InferenceServerException, deserialize_bytes_tensor

from pipelines.errors import ModelError
from pipelines.models.shipped import EMBEDDING, SHIPPED
from pipelines.models.triton.client import TritonClient
from pipelines.models.triton.embedding import TritonEmbeddings
from pipelines.models.versions.probes import EmbeddingProbe, MalformedAnswerError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from tritonclient.grpc import InferInput


MODEL_REPOSITORY = Path(__file__).parents[3] / "model_repository"


class EmbeddingTriton:
    """Gives each text the vectors that it is told."""

    def __init__(self) -> None:
        self.model, self.texts = "", []
        self.vectors = np.array([[0.6, 0.8]], np.float32)
        self.error: InferenceServerException | None = None

    async def infer(self, model: str, inputs: Sequence[InferInput], **_: object) -> object:
        if self.error is not None:
            raise self.error
        (sent,) = inputs
        self.model = model
        self.texts = [text.decode() for text in deserialize_bytes_tensor(sent._get_content())]
        assert sent.shape() == [len(self.texts), 1]
        outputs = {"EMBEDDING": np.repeat(self.vectors, len(self.texts), 0), "COMPUTE_MS": np.zeros((1, 1), np.float32)}
        return SimpleNamespace(as_numpy=outputs.get)

    async def close(self) -> None:
        pass


@pytest.fixture
def triton() -> EmbeddingTriton:
    return EmbeddingTriton()


@pytest.fixture
async def model(triton: EmbeddingTriton) -> AsyncIterator[TritonEmbeddings]:
    client = TritonClient("localhost:1")
    await client._client.close()
    client._client = triton
    yield TritonEmbeddings(client, "embed.2")
    await client.close()


async def test_texts_are_embedded_in_one_request(model: TritonEmbeddings, triton: EmbeddingTriton):
    found = await model.embed(["café", ""])
    assert (triton.model, triton.texts) == ("embed.2", ["café", ""])
    assert found.vectors.tolist() == pytest.approx(np.array([[0.6, 0.8], [0.6, 0.8]]))
    assert found.timing.queue_seconds > 0


async def test_a_model_that_fails_is_told(model: TritonEmbeddings, triton: EmbeddingTriton):
    triton.error = InferenceServerException("it broke", "StatusCode.INTERNAL")
    with pytest.raises(ModelError):
        await model.embed(["x"])


async def test_the_probe_wants_one_unit_vector(model: TritonEmbeddings, triton: EmbeddingTriton):
    assert await EmbeddingProbe("x").ask(model)
    for vectors in ([[0.6, 0.6]], [[np.nan, 1.0]], [[0.6, 0.8], [0.6, 0.8]]):
        triton.vectors = np.array(vectors, np.float32)
        with pytest.raises(MalformedAnswerError, match="length 1"):
            await EmbeddingProbe("x").ask(model)


async def test_a_held_version_is_held_while_it_embeds(model: TritonEmbeddings):
    version = SimpleNamespace(begun=0, model=model)

    class Held:
        def __enter__(self):
            version.begun += 1
            return model

        def __exit__(self, *_: object) -> None:
            version.begun += 10

    version.lease = Held
    found = await EMBEDDING.lease(version).embed(["x"])
    assert found.vectors.shape == (1, 2)
    assert version.begun == 11


def test_the_contract_fits_the_model_and_joins_the_shipped_engines():
    config = text_format.Parse(
        (MODEL_REPOSITORY / EMBEDDING.name / "config.pbtxt").read_text(), model_config_pb2.ModelConfig()
    )
    assert {each.name for each in (*config.input, *config.output)} == EMBEDDING.tensors
    assert SHIPPED.including(EMBEDDING).names == (*SHIPPED.names, "embed")
    assert "embed" not in SHIPPED.including(EMBEDDING).required
