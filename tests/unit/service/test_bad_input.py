"""What callers can send wrongly, through a real socket; the models behind are fakes. Each gets a clear error, no
sequence stays open, and the next stream works as if nothing had happened."""

import asyncio
import io
from collections.abc import AsyncIterator

import grpc
import numpy as np
import pytest
import soundfile

from pipelines.errors import ModelUnavailableError
from tests.unit.service.harness import SPEECH, Harness, speaking, voiced
from tests.unit.service.refusals import assert_refused, details_of
from vivavoce.v1 import conversation_pb2 as pb
from vivavoce.v1 import reply_pb2

PCM = pb.AudioConfig(encoding=pb.AUDIO_ENCODING_LINEAR_PCM, sample_rate_hz=16_000)


@pytest.fixture
async def harness() -> AsyncIterator[Harness]:
    async with Harness.running() as running:
        yield running


def config(**fields: object) -> pb.ConverseRequest:
    """Allows a busy machine ten seconds for a whole reply, unless ``fields`` say otherwise."""
    return pb.ConverseRequest(
        config=pb.ConversationConfig(**({"audio": PCM, "reply_budget": {"seconds": 10}} | fields))
    )


def audio(data: bytes) -> pb.ConverseRequest:
    return pb.ConverseRequest(audio=data)


def encoded_as(encoding: int, data: bytes, rate: int = 16_000) -> list[pb.ConverseRequest]:
    return [config(audio=pb.AudioConfig(encoding=encoding, sample_rate_hz=rate)), audio(data)]


def endpointing(**fields: object) -> list[pb.ConverseRequest]:
    return [config(endpointing=pb.EndpointingConfig(**fields))]


def update(**fields: object) -> list[pb.ConverseRequest]:
    return [config(), pb.ConverseRequest(update=pb.ConversationUpdate(**fields))]


def flac_with_a_broken_middle() -> bytes:
    buffer = io.BytesIO()
    soundfile.write(buffer, np.zeros(16_000, np.float32), 16_000, format="FLAC")
    return buffer.getvalue()[:42] + b"garbage" * 500


END = pb.ConverseRequest(end_of_utterance=pb.EndOfUtterance())

REFUSED = {
    "no config first": ([audio(SPEECH)], "NO_CONFIG", "config"),
    "text before config": ([pb.ConverseRequest(text="hello")], "NO_CONFIG", "config"),
    "an empty first request": ([pb.ConverseRequest()], "NO_CONFIG", "config"),
    "nothing at all": ([], "NO_CONFIG", "config"),
    "config twice": ([config(), config()], "SECOND_CONFIG", "config"),
    "an empty request": ([config(), pb.ConverseRequest()], "EMPTY_REQUEST", "request"),
    "no encoding": (encoded_as(pb.AUDIO_ENCODING_UNSPECIFIED, SPEECH), "UNKNOWN_ENCODING", "config.audio.encoding"),
    "an unknown encoding": (encoded_as(77, SPEECH), "UNKNOWN_ENCODING", "config.audio.encoding"),
    "a rate too low": (
        encoded_as(pb.AUDIO_ENCODING_LINEAR_PCM, SPEECH, 7_999),
        "SAMPLE_RATE_OUT_OF_RANGE",
        "config.audio.sample_rate_hz",
    ),
    "a rate too high": (
        encoded_as(pb.AUDIO_ENCODING_MULAW, SPEECH, 48_001),
        "SAMPLE_RATE_OUT_OF_RANGE",
        "config.audio.sample_rate_hz",
    ),
    "three channels": (
        [config(audio=pb.AudioConfig(encoding=1, sample_rate_hz=16_000, channel_count=3))],
        "CHANNEL_COUNT_OUT_OF_RANGE",
        "config.audio.channel_count",
    ),
    "audio without a format": (
        [pb.ConverseRequest(config=pb.ConversationConfig()), audio(SPEECH)],
        "NO_AUDIO_CONFIG",
        "audio",
    ),
    "a PDF": ([config(), audio(b"%PDF-1.7" + SPEECH)], "UNDECODABLE_AUDIO", "audio"),
    "a chunk over the limit": ([config(), audio(bytes(1 << 21))], "AUDIO_TOO_LARGE", "audio"),
    "a document over the limit": (
        [config(documents=[reply_pb2.Document(text="x" * 100_001)])],
        "DOCUMENTS_TOO_LONG",
        "config.documents",
    ),
    "no FLAC": (encoded_as(pb.AUDIO_ENCODING_FLAC, b"no FLAC at all" * 99), "UNDECODABLE_AUDIO", "audio"),
    "damaged FLAC": (encoded_as(pb.AUDIO_ENCODING_FLAC, flac_with_a_broken_middle()), "UNDECODABLE_AUDIO", "audio"),
    "no Opus": (encoded_as(pb.AUDIO_ENCODING_OGGOPUS, b"no Ogg at all" * 99), "UNDECODABLE_AUDIO", "audio"),
    "NaN": (
        encoded_as(pb.AUDIO_ENCODING_LINEAR_PCM_FLOAT32, np.full(1600, np.nan, "<f4").tobytes()),
        "UNDECODABLE_AUDIO",
        "audio",
    ),
    "infinity": (
        encoded_as(pb.AUDIO_ENCODING_LINEAR_PCM_FLOAT32, np.full(1600, np.inf, "<f4").tobytes()),
        "UNDECODABLE_AUDIO",
        "audio",
    ),
    "a very long text": ([config(), pb.ConverseRequest(text="x" * 100_000)], "TEXT_TOO_LONG", "text"),
    "an empty text": ([config(), pb.ConverseRequest(text=" ")], "EMPTY_TEXT", "text"),
    "an unknown second opinion": ([config(second_opinion="x")], "UNKNOWN_VARIANT", "config.second_opinion"),
    "another language": ([config(language_code="de-DE")], "UNSUPPORTED_LANGUAGE", "config.language_code"),
    "too many phrases": (
        [config(phrase_hints=[pb.PhraseHints(phrases=["x"] * 1_001)])],
        "TOO_MANY_PHRASES",
        "config.phrase_hints",
    ),
    "phrases too long": (
        [config(phrase_hints=[pb.PhraseHints(phrases=["x " * 500] * 61)])],
        "PHRASES_TOO_LONG",
        "config.phrase_hints",
    ),
    "a word that nobody says": (
        [config(phrase_hints=[pb.PhraseHints(phrases=["a " + "x" * 51])])],
        "PHRASES_TOO_LONG",
        "config.phrase_hints",
    ),
    "a boost that is no number": (
        [config(phrase_hints=[pb.PhraseHints(phrases=["x"], boost=float("nan"))])],
        "BOOST_OUT_OF_RANGE",
        "config.phrase_hints",
    ),
    "too many alternatives": ([config(max_alternatives=11)], "ALTERNATIVES_OUT_OF_RANGE", "config.max_alternatives"),
    "fewer alternatives than none": (
        [config(max_alternatives=-1)],
        "ALTERNATIVES_OUT_OF_RANGE",
        "config.max_alternatives",
    ),
    "too many intents": ([config(max_intents=11)], "INTENTS_OUT_OF_RANGE", "config.max_intents"),
    "fewer intents than none": ([config(max_intents=-1)], "INTENTS_OUT_OF_RANGE", "config.max_intents"),
    "no time zone": ([config(time_zone="Mars/Olympus")], "UNKNOWN_TIME_ZONE", "config.time_zone"),
    "a path for a time zone": ([config(time_zone="../../etc/passwd")], "UNKNOWN_TIME_ZONE", "config.time_zone"),
    "a clock of another age": (
        [config(current_time={"seconds": -60_000_000_000})],
        "BAD_CURRENT_TIME",
        "config.current_time",
    ),
    "a clock of no calendar": (
        [config(current_time={"seconds": 10**15})],
        "BAD_CURRENT_TIME",
        "config.current_time",
    ),
    "a boost out of range": (
        [config(phrase_hints=[pb.PhraseHints(phrases=["x"], boost=101)])],
        "BOOST_OUT_OF_RANGE",
        "config.phrase_hints",
    ),
    "a budget of nothing": ([config(reply_budget={"nanos": 1})], "BUDGET_OUT_OF_RANGE", "config.reply_budget"),
    "a stop window too short": (
        endpointing(stop_window={"nanos": 1_000_000}),
        "ENDPOINTING_OUT_OF_RANGE",
        "config.endpointing.stop_window",
    ),
    "a start threshold of none": (
        endpointing(start_threshold=0.0),
        "ENDPOINTING_OUT_OF_RANGE",
        "config.endpointing.start_threshold",
    ),
    "endpointing off and tuned": (
        endpointing(disabled=True, stop_threshold=0.5),
        "ENDPOINTING_DISABLED",
        "config.endpointing",
    ),
    "endpointing off and patient": (
        endpointing(disabled=True, patience=pb.PATIENCE_PATIENT),
        "ENDPOINTING_DISABLED",
        "config.endpointing",
    ),
    "an unknown patience": (endpointing(patience=9), "UNKNOWN_ENDPOINTING", "config.endpointing.patience"),
    "an unknown mode": (endpointing(mode=9), "UNKNOWN_ENDPOINTING", "config.endpointing.mode"),
    "patience with silence": (
        endpointing(mode=pb.ENDPOINTING_MODE_SILENCE, patience=pb.PATIENCE_EAGER),
        "ENDPOINTING_CONFLICT",
        "config.endpointing.patience",
    ),
    "a longest silence too long": (
        endpointing(longest_silence={"seconds": 11}),
        "ENDPOINTING_OUT_OF_RANGE",
        "config.endpointing.longest_silence",
    ),
    "an update of a stop window": (
        update(endpointing={"stop_window": {"seconds": 1}}),
        "FIXED_FIELD",
        "update.endpointing.stop_window",
    ),
    "an update that disables endpointing": (
        update(endpointing={"disabled": True}),
        "FIXED_FIELD",
        "update.endpointing.disabled",
    ),
    "an update with bounds that contradict each other": (
        update(endpointing={"shortest_silence": {"seconds": 3}, "longest_silence": {"seconds": 2}}),
        "ENDPOINTING_OUT_OF_RANGE",
        "update.endpointing.shortest_silence",
    ),
    "an update of silence with patience": (
        update(endpointing={"mode": pb.ENDPOINTING_MODE_SILENCE, "patience": pb.PATIENCE_EAGER}),
        "ENDPOINTING_CONFLICT",
        "update.endpointing.patience",
    ),
    "an update of disabled endpointing": (
        [*endpointing(disabled=True), *update(endpointing={"patience": pb.PATIENCE_EAGER})[1:]],
        "ENDPOINTING_DISABLED",
        "update.endpointing",
    ),
    "an update with an empty document": (
        update(documents={"documents": [{"text": " "}]}),
        "EMPTY_DOCUMENT",
        "update.documents.documents",
    ),
    "an update with a boost out of range": (
        update(phrase_hints={"groups": [{"phrases": ["hello"], "boost": 1000}]}),
        "BOOST_OUT_OF_RANGE",
        "update.phrase_hints.groups",
    ),
    "an update first": (update()[1:], "NO_CONFIG", "config"),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_what_cannot_be_served_is_refused(harness: Harness, case: str):
    requests, reason, field = REFUSED[case]
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await harness.converse(requests)
    assert_refused(refused.value, reason, field)
    await assert_next_stream_works(harness)


async def test_bad_audio_in_the_middle_of_speech_ends_the_sequence_too(harness: Harness):
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await harness.converse([config(), *speaking(2), audio(bytes(1 << 21))])
    assert_refused(refused.value, "AUDIO_TOO_LARGE", "audio")
    assert len(harness.models.sequences) == 1
    await assert_next_stream_works(harness)


async def test_bytes_that_are_no_protobuf_are_refused(harness: Harness):
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await harness.converse_raw([config().SerializeToString(), b"\x1a\x05hello\xff"])
    assert_refused(refused.value, "MALFORMED_REQUEST", "request")
    await assert_next_stream_works(harness)


async def test_text_that_is_not_utf_8_is_refused(harness: Harness):
    not_utf_8 = b"\x1a\x04\xff\xfe\xfd\xfc"  # field 3, four bytes
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await harness.converse_raw([config().SerializeToString(), not_utf_8])
    assert_refused(refused.value, "MALFORMED_REQUEST", "request")
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await harness.ask_raw(b"\x0a\x02\xff\xfe")
    assert_refused(refused.value, "MALFORMED_REQUEST", "request")


async def test_silence_gets_no_reply_and_no_error(harness: Harness):
    harness.voice.probability = 0.0
    came = await harness.converse([config(), *speaking(3)])
    assert [response.WhichOneof("response") for response in came] == ["started"]
    assert harness.models.sequences == []


async def test_an_end_of_utterance_in_silence_is_told(harness: Harness):
    harness.voice.probability = 0.0
    came = await harness.converse([config(), *speaking(1), END])
    assert came[-1].notice.code == pb.NOTICE_CODE_NO_SPEECH


async def test_half_close_before_any_audio_ends_in_order(harness: Harness):
    came = await harness.converse([config()])
    assert [response.WhichOneof("response") for response in came] == ["started"]


async def test_a_client_gone_mid_utterance_leaves_no_sequence_open(harness: Harness):
    call = harness.stub.Converse()
    for request in (config(), *speaking(2)):
        await call.write(request)
    await harness.until(lambda: harness.models.open_sequences)
    call.cancel()
    await harness.until(lambda: harness.models.sequences[0].ended)
    await assert_next_stream_works(harness)


async def test_a_stream_left_idle_is_told_and_ended():
    async with Harness.running(idle_seconds=0.1, grace_seconds=0.1) as harness:
        call = harness.stub.Converse()
        await call.write(config())
        kinds = [response.WhichOneof("response") async for response in call]
        assert kinds == ["started", "going_away"]
        assert await call.code() is grpc.StatusCode.OK


async def test_a_stream_that_never_sends_a_config_gives_its_place_back():
    async with Harness.running(max_conversations=1, idle_seconds=0.1) as harness:
        call = harness.stub.Converse()
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await call.read()
        assert_refused(refused.value, "NO_CONFIG", "config")
        harness.voice.probability = 0.0
        assert await harness.converse([config()])


@pytest.mark.parametrize(("broken", "answered"), [({"nlu"}, True), ({"qa"}, True), ({"nlu", "qa"}, False)])
async def test_a_typed_turn_fails_only_if_every_stage_does(harness: Harness, broken: set[str], answered: bool):
    harness.models.fail = broken
    request = pb.AskRequest(text="what time is it", documents=[reply_pb2.Document(text="Noon.")])
    if answered:
        reply = (await harness.stub.Ask(request)).reply
        assert reply.status == reply_pb2.REPLY_STATUS_DEGRADED
    else:
        with pytest.raises(grpc.aio.AioRpcError) as failed:
            await harness.stub.Ask(request)
        assert details_of(failed.value)["ErrorInfo"].reason == "MODEL_FAILED"


async def test_models_that_cannot_be_reached_are_told_as_such(harness: Harness):
    harness.models.fail = {"nlu", "qa"}
    harness.models.error = ModelUnavailableError("the model server cannot be reached: try again soon")
    with pytest.raises(grpc.aio.AioRpcError) as failed:
        await harness.stub.Ask(pb.AskRequest(text="what time is it"))
    assert failed.value.code() is grpc.StatusCode.UNAVAILABLE
    details = details_of(failed.value)
    assert details["ErrorInfo"].reason == "MODELS_UNAVAILABLE"
    assert details["RetryInfo"].retry_delay.seconds >= 1


async def test_past_the_limit_a_caller_is_refused_at_once_and_told_when_to_return():
    async with Harness.running(max_conversations=1) as harness:
        call = harness.stub.Converse()
        await call.write(config())
        await call.read()
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await harness.converse([config()])
        assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        details = details_of(refused.value)
        assert details["ErrorInfo"].reason == "TOO_MANY_CONVERSATIONS"
        assert details["RetryInfo"].retry_delay.seconds >= 1
        await call.done_writing()
        assert await call.read() is grpc.aio.EOF
        assert await harness.converse([config()])


async def test_before_the_models_are_ready_a_caller_is_told_to_return():
    async with Harness.running(ready=False) as harness:
        for attempt in (harness.converse([config()]), harness.stub.Ask(pb.AskRequest(text="hello"))):
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await attempt
            assert refused.value.code() is grpc.StatusCode.UNAVAILABLE
            assert details_of(refused.value)["ErrorInfo"].reason == "NOT_READY"


@pytest.mark.parametrize(
    ("request_", "reason", "field"),
    [
        (pb.AskRequest(), "EMPTY_TEXT", "text"),
        (pb.AskRequest(text="x" * 100_000), "TEXT_TOO_LONG", "text"),
        (pb.AskRequest(text="hi", language_code="fr"), "UNSUPPORTED_LANGUAGE", "language_code"),
        (pb.AskRequest(text="hi", reply_budget={"seconds": 61}), "BUDGET_OUT_OF_RANGE", "reply_budget"),
        (pb.AskRequest(text="hi", documents=[reply_pb2.Document()]), "EMPTY_DOCUMENT", "documents"),
    ],
)
async def test_a_typed_request_that_cannot_be_served_is_refused(
    harness: Harness, request_: pb.AskRequest, reason: str, field: str
):
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await harness.stub.Ask(request_)
    assert_refused(refused.value, reason, field)


async def test_an_unforeseen_error_is_told_without_its_details(harness: Harness, caplog: pytest.LogCaptureFixture):
    harness.voice.error = KeyError("secret")
    with pytest.raises(grpc.aio.AioRpcError) as failed:
        await harness.converse([config(), *speaking(1)])
    assert failed.value.code() is grpc.StatusCode.INTERNAL
    assert "secret" not in failed.value.details()
    assert "for an unforeseen reason: KeyError" in caplog.text
    assert "secret" not in caplog.text


async def assert_next_stream_works(harness: Harness) -> None:
    await harness.until(lambda: not harness.models.open_sequences)
    harness.voice.probability = voiced
    came = await harness.converse([config(), *speaking(2), END])
    assert came[-1].reply.intent.name == "count"
    assert harness.models.open_sequences == []
    await asyncio.sleep(0)
