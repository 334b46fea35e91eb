"""What a caller can do who has nothing but the address: reflection tells all services, and they can be called."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import grpc
import pytest
import soundfile

from demo.manifest import utterances
from tests.integration.reflection_client import ReflectionClient

if TYPE_CHECKING:
    from collections.abc import Iterator

ASR = "nvidia.riva.asr.RivaSpeechRecognition"
NLP = "nvidia.riva.nlp.RivaLanguageUnderstanding"
TTS = "nvidia.riva.tts.RivaSpeechSynthesis"
OURS = "vivavoce.v1.ConversationService"
CHUNK_BYTES = 6_400
BY_NAME = {utterance.path.stem: utterance for utterance in utterances()}
MUSEUM = BY_NAME["museum_boat"]
MESSAGE_LIMITS = [("grpc.max_receive_message_length", 64 << 20)]


@pytest.fixture
def client(server_address: str) -> Iterator[ReflectionClient]:
    with grpc.insecure_channel(server_address, options=MESSAGE_LIMITS) as channel:
        yield ReflectionClient(channel)


@pytest.fixture(scope="module")
def lights() -> bytes:
    samples, rate = soundfile.read(BY_NAME["lights"].path, dtype="int16")
    assert rate == 16_000
    return bytes(samples.tobytes())


def _base64(audio: bytes) -> str:
    return base64.b64encode(audio).decode()


def test_all_services_are_listed(client: ReflectionClient) -> None:
    health, reflection = "grpc.health.v1.Health", "grpc.reflection.v1alpha.ServerReflection"

    assert {ASR, NLP, TTS, OURS, health, reflection} <= set(client.services())


def test_methods_are_described(client: ReflectionClient) -> None:
    assert {"Recognize", "StreamingRecognize", "GetRivaSpeechRecognitionConfig"} <= set(client.methods(ASR))
    assert {"AnalyzeIntent", "NaturalQuery", "ClassifyText", "ClassifyTokens"} <= set(client.methods(NLP))
    assert client.methods(TTS) == ["Synthesize", "SynthesizeOnline", "GetRivaSynthesisConfig"]
    assert client.methods(OURS) == ["Converse", "Ask", "Say"]


def test_riva_s_models_are_told(client: ReflectionClient) -> None:
    [answer] = client.call(f"{ASR}/GetRivaSpeechRecognitionConfig", {})

    models = answer["modelConfig"]
    assert models
    assert all({"type", "language_code"} <= set(model["parameters"]) for model in models)


def test_an_intent_is_analyzed(client: ReflectionClient) -> None:
    [answer] = client.call(f"{NLP}/AnalyzeIntent", {"query": "turn off the lights in the bedroom please"})

    assert answer["intent"]["className"] == "iot_hue_lightoff"


def test_a_question_is_asked(client: ReflectionClient) -> None:
    [document] = MUSEUM.documents()
    request = {"text": MUSEUM.text, "documents": [{"text": document.text}], "replyBudget": "30s"}

    [answer] = client.call(f"{OURS}/Ask", request)

    assert answer["reply"]["answer"]["text"] == MUSEUM.answer


def test_a_recording_is_recognized(client: ReflectionClient, lights: bytes) -> None:
    config = {"encoding": "LINEAR_PCM", "sampleRateHertz": 16_000, "languageCode": "en-US"}

    [answer] = client.call(f"{ASR}/Recognize", {"config": config, "audio": _base64(lights)})

    text = answer["results"][0]["alternatives"][0]["transcript"]
    assert text.lower().startswith("turn off the lights in the bedroom")


def test_a_stream_is_recognized(client: ReflectionClient, lights: bytes) -> None:
    config = {"encoding": "LINEAR_PCM", "sampleRateHertz": 16_000, "languageCode": "en-US"}
    chunks = [lights[begin : begin + CHUNK_BYTES] for begin in range(0, len(lights), CHUNK_BYTES)]
    requests = [{"streamingConfig": {"config": config}}, *({"audioContent": _base64(chunk)} for chunk in chunks)]

    answers = client.call(f"{ASR}/StreamingRecognize", *requests)

    final = [result for answer in answers for result in answer.get("results", ()) if result.get("isFinal")]
    text = final[-1]["alternatives"][0]["transcript"]
    assert text.lower().startswith("turn off the lights in the bedroom")
