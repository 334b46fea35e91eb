"""The client of ``speaker``, its probe, and its contract. The real model is met in the integration tests."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from google.protobuf import text_format
from tritonclient.grpc import model_config_pb2

from pipelines.models.shipped import SHIPPED, SPEAKER_EMBEDDING
from pipelines.models.speaker_port import MAX_WINDOWS, WINDOW_SAMPLES
from pipelines.models.triton.client import TritonClient
from pipelines.models.triton.speaker import TritonSpeakers
from pipelines.models.versions.probes import MalformedAnswerError, SpeakerProbe
from pipelines.speakers.enrolled import DIMENSIONS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from tritonclient.grpc import InferInput

MODEL_REPOSITORY = Path(__file__).parents[3] / "model_repository"


class SpeakerTriton:
    def __init__(self) -> None:
        self.audio, self.counts = np.zeros((0, 0)), np.zeros(0)
        self.vectors = np.array([[0.6, 0.8]], np.float32)

    async def infer(self, model: str, inputs: Sequence[InferInput], **_: object) -> object:
        audio, counts = inputs
        self.audio = np.frombuffer(audio._get_content(), np.int16).reshape(audio.shape())
        self.counts = np.frombuffer(counts._get_content(), np.int32)
        outputs = {"EMBEDDING": np.repeat(self.vectors, len(self.counts), 0), "COMPUTE_MS": np.zeros((1, 1), "f")}
        return SimpleNamespace(as_numpy=outputs.get)

    async def close(self) -> None:
        pass


@pytest.fixture
async def model() -> AsyncIterator[tuple[TritonSpeakers, SpeakerTriton]]:
    client, triton = TritonClient("localhost:1"), SpeakerTriton()
    await client._client.close()
    client._client = triton
    yield TritonSpeakers(client), triton
    await client.close()


async def test_windows_go_out_in_one_request(model: tuple[TritonSpeakers, SpeakerTriton]):
    speakers, triton = model
    found = await speakers.embed([np.array([0.5, -2.0], np.float32), np.full(WINDOW_SAMPLES + 5, 1.0, np.float32)])
    assert triton.counts.tolist() == [2, WINDOW_SAMPLES]
    assert triton.audio[0, :3].tolist() == [16_384, -32_767, 0]
    assert found.vectors.shape == (2, 2)


async def test_the_probe_wants_one_unit_vector(model: tuple[TritonSpeakers, SpeakerTriton]):
    speakers, triton = model
    assert await SpeakerProbe(np.zeros(9, np.float32)).ask(speakers)
    triton.vectors = np.array([[0.0, 0.0]], np.float32)
    with pytest.raises(MalformedAnswerError, match="length 1"):
        await SpeakerProbe(np.zeros(9, np.float32)).ask(speakers)


def test_the_contract_fits_the_model_and_is_joined_where_it_is_asked_for():
    path = MODEL_REPOSITORY / SPEAKER_EMBEDDING.name / "config.pbtxt"
    config = text_format.Parse(path.read_text(), model_config_pb2.ModelConfig())
    assert {each.name for each in (*config.input, *config.output)} == SPEAKER_EMBEDDING.tensors
    assert config.input[0].dims == [WINDOW_SAMPLES]
    assert (config.max_batch_size, config.output[0].dims) == (MAX_WINDOWS, [DIMENSIONS])
    assert "speaker" not in SHIPPED.names
    assert "speaker" not in SHIPPED.including(SPEAKER_EMBEDDING).required
