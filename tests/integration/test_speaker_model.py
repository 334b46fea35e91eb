"""The model ``speaker`` inside a real Triton, and its client."""

from __future__ import annotations

import asyncio
import itertools
from typing import TYPE_CHECKING

import grpc
import numpy as np
import pytest
import soundfile
import tritonclient.grpc as grpc_client
from tritonclient.utils import InferenceServerException

from demo.manifest import utterances
from engines.build.speaker import TARGET
from engines.speaker.embedder import WINDOW_SAMPLES, SpeakerEmbedder
from pipelines.models.shipped import SPEAKER_EMBEDDING
from pipelines.models.triton.client import TritonClient
from pipelines.models.triton.speaker import TritonSpeakers
from service.api.riva.proto import riva_asr_pb2, riva_asr_pb2_grpc, riva_audio_pb2

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


def windows() -> list[np.ndarray]:
    """Windows of several lengths, in the steps in which they are sent."""
    read = [soundfile.read(one.path, dtype="int16")[0] for one in utterances()[:6]]
    lengths = (WINDOW_SAMPLES, 9_000, 4_000, 1)
    return [
        sound[8_000:][: lengths[place % 4]].astype(np.float32) / np.float32(32_767) for place, sound in enumerate(read)
    ]


@pytest.fixture
async def model(triton_address: str) -> AsyncIterator[TritonSpeakers]:
    client = TritonClient(triton_address)
    yield TritonSpeakers(client)
    await client.close()


async def test_vectors_are_the_same_alone_and_at_once(model: TritonSpeakers):
    sounds = windows()
    expected = SpeakerEmbedder(TARGET.parent).embed(sounds)
    alone = [(await model.embed([sound])).vectors[0] for sound in sounds]
    assert np.array_equal((await model.embed(sounds)).vectors, alone)
    # Another process may add up in another order.
    assert np.abs(np.stack(alone) - expected).max() < 1e-4
    together = await asyncio.gather(*(model.embed([sound]) for sound in sounds * 4))
    for number, found in enumerate(together):
        assert np.array_equal(found.vectors[0], alone[number % len(sounds)])


async def test_the_probes_pass(model: TritonSpeakers):
    assert all([await probe.ask(model) for probe in (*SPEAKER_EMBEDDING.probes, SPEAKER_EMBEDDING.heartbeat)])


def sounds_of(*names: str) -> list[np.ndarray]:
    paths = {one.path.stem: one.path for one in utterances()}
    return [soundfile.read(paths[name], dtype="int16")[0] for name in names]


def tags_of(server_address: str, audio: np.ndarray) -> list[list[int]]:
    """The tags of each channel, in order, over Riva's API; ``audio`` is ``[samples]`` or ``[samples, channels]``."""
    channels = audio.reshape(len(audio), -1).shape[1]
    config = riva_asr_pb2.RecognitionConfig(
        encoding=riva_audio_pb2.LINEAR_PCM,
        sample_rate_hertz=16_000,
        audio_channel_count=channels,
        enable_separate_recognition_per_channel=channels > 1,
        diarization_config={"enable_speaker_diarization": True, "max_speaker_count": 4},
    )
    request = riva_asr_pb2.RecognizeRequest(config=config, audio=audio.tobytes())
    with grpc.insecure_channel(server_address) as channel:
        found = riva_asr_pb2_grpc.RivaSpeechRecognitionStub(channel).Recognize(request, timeout=60)
    tags: dict[int, list[int]] = {}
    for result in found.results:
        tags.setdefault(result.channel_tag, []).extend(word.speaker_tag for word in result.alternatives[0].words)
    return [[tag for tag, _ in itertools.groupby(of)] for _, of in sorted(tags.items())]


def test_a_recording_tells_who_says_each_word(server_address: str):
    """A man, a woman and the man again."""
    sounds = sounds_of("lights", "weather", "shopping_list")
    assert tags_of(server_address, np.concatenate(sounds)) == [[1, 2, 1]]


def test_of_two_who_speak_at_once_the_louder_is_told(server_address: str):
    man, woman, again = sounds_of("lights", "weather", "shopping_list")
    both = again.copy()
    both[: len(woman)] += woman[: len(both)] // 8
    assert tags_of(server_address, np.concatenate((man, woman, both))) == [[1, 2, 1]]


def test_channels_have_tags_of_their_own(server_address: str):
    man, woman = sounds_of("lights", "weather")
    audio = np.zeros((len(man) + len(woman), 2), np.int16)
    audio[:, 0], audio[: len(woman), 1] = np.concatenate((man, woman)), woman
    assert tags_of(server_address, audio) == [[1, 2], [1]]


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
