"""The model ``speaker`` inside a real Triton, and its client."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import numpy as np
import pytest
import soundfile
import tritonclient.grpc as grpc_client
from tritonclient.utils import InferenceServerException

import vivavoce
from demo.manifest import utterances
from engines.build.speaker import TARGET
from engines.speaker.embedder import WINDOW_SAMPLES, SpeakerEmbedder
from pipelines.models.shipped import SPEAKER_EMBEDDING
from pipelines.models.triton.client import TritonClient
from pipelines.models.triton.speaker import TritonSpeakers
from tests.fast_service import SPEED

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


def windows() -> list[np.ndarray]:
    """Windows of several lengths, in the steps in which they are sent."""
    read = [soundfile.read(one.path, dtype="int16")[0] for one in utterances()[:6]]
    lengths = (WINDOW_SAMPLES, 9_000, 4_000, 1)
    return [(sound[8_000:][: lengths[place % 4]] / 32_767).astype(np.float32) for place, sound in enumerate(read)]


@pytest.fixture
async def model(triton_address: str) -> AsyncIterator[TritonSpeakers]:
    client = TritonClient(triton_address)
    yield TritonSpeakers(client)
    await client.close()


async def test_vectors_are_the_same_alone_and_at_once(model: TritonSpeakers):
    sounds = windows()
    expected = SpeakerEmbedder(TARGET.parent).embed(sounds)
    assert np.array_equal((await model.embed(sounds)).vectors, expected)
    together = await asyncio.gather(*(model.embed([sound]) for sound in sounds * 4))
    for number, found in enumerate(together):
        assert np.array_equal(found.vectors[0], expected[number % len(sounds)])


async def test_the_probes_pass(model: TritonSpeakers):
    assert all([await probe.ask(model) for probe in (*SPEAKER_EMBEDDING.probes, SPEAKER_EMBEDDING.heartbeat)])


async def test_a_conversation_tells_who_speaks_by_tag(fast_address: str):
    """A man, a woman and the man again: as turns of their own, and at once as a recording."""
    paths = {one.path.stem: one.path for one in utterances()}
    sounds = [soundfile.read(paths[name], dtype="float32")[0] for name in ("lights", "weather", "shopping_list")]
    chunks = vivavoce.pace(np.array_split(np.concatenate(sounds), 200), SPEED * 16_000)
    async with vivavoce.connect(fast_address) as client:
        events = [one async for one in client.converse(chunks, diarization=vivavoce.Diarization(4))]
    assert [one.speaker.tag for one in events if isinstance(one, vivavoce.Reply) and one.speaker] == [1, 2, 1]
    finals = [one for one in events if isinstance(one, vivavoce.Transcript) and one.is_final]
    assert [[span.speaker.tag for span in one.speakers] for one in finals] == [[1], [2], [1]]


def test_a_window_without_sound_is_refused(triton_address: str):
    audio = grpc_client.InferInput("AUDIO", [1, WINDOW_SAMPLES], "INT16")
    audio.set_data_from_numpy(np.zeros((1, WINDOW_SAMPLES), np.int16))
    for count in (0, -1, WINDOW_SAMPLES + 1):
        samples = grpc_client.InferInput("SAMPLES", [1, 1], "INT32")
        samples.set_data_from_numpy(np.array([[count]], np.int32))
        with (
            grpc_client.InferenceServerClient(triton_address) as client,
            pytest.raises(InferenceServerException, match="SAMPLES must be 1 to"),
        ):
            client.infer("speaker", [audio, samples], client_timeout=30)
