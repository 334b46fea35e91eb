"""The whole chain through the public API: real recordings, real models, a real Triton."""

from __future__ import annotations

import asyncio
import contextlib
import io
from typing import TYPE_CHECKING

import grpc
import jiwer
import numpy as np
import pytest
import soundfile
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

import vivavoce
from demo.manifest import utterances
from service.grpc_server.probe import serves
from service.triton.process import free_port

if TYPE_CHECKING:
    from demo.manifest import Utterance
    from tests.integration.conftest import Triton

PATIENT_SECONDS = 30.0
"""A budget that a busy machine keeps too: these tests are about what is answered, not about when."""

PUSH_TO_TALK = vivavoce.Endpointing(disabled=True)
BY_NAME = {utterance.path.stem: utterance for utterance in utterances()}
COMMANDS = [name for name, utterance in BY_NAME.items() if utterance.kind == "command"]
QUESTIONS = [name for name, utterance in BY_NAME.items() if utterance.kind == "question"]
WORDS = jiwer.Compose(
    [
        jiwer.ToLowerCase(),
        jiwer.RemovePunctuation(),
        jiwer.RemoveMultipleSpaces(),
        jiwer.Strip(),
        jiwer.ReduceToListOfListOfWords(),
    ]
)


async def talk(address: str, utterance: Utterance, **options: object) -> list[vivavoce.Event]:
    recording = vivavoce.read_audio(utterance.path)
    chosen = {"documents": utterance.documents(), "reply_budget_seconds": PATIENT_SECONDS} | options
    async with vivavoce.connect(address) as client:
        return [event async for event in client.converse(recording.chunks(), audio=recording.format, **chosen)]


def replies(events: list[vivavoce.Event]) -> list[vivavoce.Reply]:
    return [event for event in events if isinstance(event, vivavoce.Reply)]


async def until_no_sequence_is_open(triton: Triton) -> None:
    async with asyncio.timeout(20):
        while await asyncio.to_thread(triton.open_sequences):
            await asyncio.sleep(0.05)


async def test_spoken_commands_and_questions_are_understood_and_answered(server_address: str, triton: Triton):
    wanted = [BY_NAME[name] for name in (*COMMANDS[:6], *QUESTIONS[:6])]
    answered = [replies(await talk(server_address, utterance, endpointing=PUSH_TO_TALK)) for utterance in wanted]
    assert [len(found) for found in answered] == [1] * len(wanted)
    found = [reply for (reply,) in answered]
    assert all(reply.status is vivavoce.ReplyStatus.COMPLETE for reply in found)
    heard = jiwer.wer([u.text for u in wanted], [r.transcript for r in found], WORDS, WORDS)
    assert heard <= 0.12
    right = sum(reply.intent.name == utterance.intent for utterance, reply in zip(wanted[:6], found, strict=False))
    assert right >= 5
    answers = [(utterance.answer, reply.answer) for utterance, reply in zip(wanted[6:], found[6:], strict=True)]
    hits = [answer for expected, answer in answers if answer and (expected in answer.text or answer.text in expected)]
    assert len(hits) >= 5
    for utterance, reply in zip(wanted[6:], found[6:], strict=True):
        if reply.answer:
            text = utterance.documents()[0].text
            assert text[reply.answer.start : reply.answer.end] == reply.answer.text
    await until_no_sequence_is_open(triton)


@pytest.mark.parametrize(
    ("encoding", "container", "subtype", "rate"),
    [
        (vivavoce.Encoding.LINEAR_PCM, "RAW", "PCM_16", 8_000),
        (vivavoce.Encoding.LINEAR_PCM_FLOAT32, "RAW", "FLOAT", 44_100),
        (vivavoce.Encoding.MULAW, "RAW", "ULAW", 16_000),
        (vivavoce.Encoding.ALAW, "RAW", "ALAW", 16_000),
        (vivavoce.Encoding.FLAC, "FLAC", "PCM_16", 16_000),
        (vivavoce.Encoding.OGGOPUS, "OGG", "OPUS", 48_000),
    ],
)
async def test_every_encoding_is_understood(
    server_address: str, encoding: vivavoce.Encoding, container: str, subtype: str, rate: int
):
    utterance = BY_NAME["lights"]
    samples, own_rate = soundfile.read(utterance.path, dtype="float32")
    positions = np.arange(0, len(samples), own_rate / rate)
    resampled = np.interp(positions, np.arange(len(samples)), samples)
    buffer = io.BytesIO()
    soundfile.write(buffer, resampled, rate, format=container, subtype=subtype)
    data = buffer.getvalue()
    chunks = [data[start : start + 3200] for start in range(0, len(data), 3200)]
    async with vivavoce.connect(server_address) as client:
        events = [
            event
            async for event in client.converse(
                chunks,
                audio=vivavoce.AudioFormat(encoding, rate),
                endpointing=PUSH_TO_TALK,
                reply_budget_seconds=PATIENT_SECONDS,
            )
        ]
    (reply,) = replies(events)
    assert jiwer.wer(utterance.text, reply.transcript, WORDS, WORDS) <= 0.25
    assert reply.intent.name == "iot_hue_lightoff"


async def test_many_conversations_at_once_hear_what_one_hears(server_address: str, triton: Triton):
    chosen = [BY_NAME[name] for name in (*COMMANDS, *QUESTIONS)][:10]
    alone = [replies(await talk(server_address, u, endpointing=PUSH_TO_TALK))[0].transcript for u in chosen]
    together = await asyncio.gather(*(talk(server_address, u, endpointing=PUSH_TO_TALK) for u in chosen))
    assert [replies(events)[0].transcript for events in together] == alone
    await until_no_sequence_is_open(triton)


async def test_typed_turns(server_address: str):
    document = "The night ferry to Tromsø leaves at a quarter past nine from pier four. 🚢 Dogs travel free."
    async with vivavoce.connect(server_address) as client:
        command = await client.ask("turn off the lights in the bedroom", reply_budget_seconds=PATIENT_SECONDS)
        question = await client.ask(
            "When does the night ferry leave?", documents=[document], reply_budget_seconds=PATIENT_SECONDS
        )
        unanswerable = await client.ask(
            "Who painted the ceiling of the chapel?", documents=[document], reply_budget_seconds=PATIENT_SECONDS
        )
    assert command.intent.name == "iot_hue_lightoff"
    assert [(slot.name, slot.value) for slot in command.slots] == [("house_place", "bedroom")]
    assert command.answer is None
    assert question.answer.text.rstrip(".").endswith("nine")
    assert document[question.answer.start : question.answer.end] == question.answer.text
    assert unanswerable.answer is None


async def test_what_is_no_command_has_no_intent(server_address: str):
    async with vivavoce.connect(server_address) as client:
        texts = ("the enzyme binds to the receptor of the cell membrane", "why did the treaty fail to end the war")
        intents = [(await client.ask(text, reply_budget_seconds=PATIENT_SECONDS)).intent.name for text in texts]
    assert intents == ["none", "none"]


async def test_clients_that_vanish_mid_utterance_leave_no_sequence_open(server_address: str, triton: Triton):
    recording = vivavoce.read_audio(BY_NAME["lights"].path)

    async def vanish() -> None:
        async with vivavoce.connect(server_address) as client:
            speech = vivavoce.pace(recording.chunks(), recording.sample_rate_hz)
            async for event in client.converse(speech, audio=recording.format, interim_results=True):
                if isinstance(event, vivavoce.Transcript):
                    break

    await asyncio.gather(*(vanish() for _ in range(10)))
    await until_no_sequence_is_open(triton)
    (reply,) = replies(await talk(server_address, BY_NAME["lights"]))
    assert reply.intent.name == "iot_hue_lightoff"


async def test_a_call_that_is_refused_mid_utterance_leaves_no_sequence_open(server_address: str, triton: Triton):
    recording = vivavoce.read_audio(BY_NAME["lights"].path)
    chunks = list(recording.chunks())
    for bad in (vivavoce.TypedTurn(""), vivavoce.TypedTurn("x" * 2_001)):
        async with vivavoce.connect(server_address) as client:
            with pytest.raises(vivavoce.InvalidRequest):
                async for _ in client.converse([*chunks[:15], bad], audio=recording.format):
                    pass
    await until_no_sequence_is_open(triton)


async def test_noise_gets_an_empty_or_a_short_reply_and_the_service_goes_on(server_address: str, triton: Triton):
    noise = np.random.default_rng(5).normal(0, 0.1, (40, 1600)).astype(np.float32)
    async with vivavoce.connect(server_address) as client:
        options = {"audio": vivavoce.AudioFormat(vivavoce.Encoding.LINEAR_PCM_FLOAT32, 16_000)}
        events = [event async for event in client.converse(list(noise), **options)]
        silent = [event async for event in client.converse(list(0 * noise), **options)]
    assert all(len(reply.transcript) < 80 for reply in replies(events))
    assert [type(event) for event in silent] == [vivavoce.Started]
    await until_no_sequence_is_open(triton)


async def test_a_typed_question_is_answered_however_small_the_budget_is(server_address: str):
    document = " ".join(f"Room {number} holds {number * 7} paintings." for number in range(400))
    async with vivavoce.connect(server_address) as client:
        reply = await client.ask("How many paintings are in room 12?", documents=[document], reply_budget_seconds=0.02)
    assert reply.status is vivavoce.ReplyStatus.COMPLETE
    assert reply.answer is not None
    assert vivavoce.Stage.QA in reply.overran


async def test_the_probe_tells_a_service_that_serves_from_one_that_is_not_there(server_address: str):
    assert await asyncio.to_thread(serves, server_address)
    assert not await asyncio.to_thread(serves, f"127.0.0.1:{free_port()}")


async def test_health_and_reflection(server_address: str):
    async with grpc.aio.insecure_channel(server_address) as channel:
        health = health_pb2_grpc.HealthStub(channel)
        for name in ("", "vivavoce.v1.ConversationService"):
            answer = await health.Check(health_pb2.HealthCheckRequest(service=name))
            assert answer.status == health_pb2.HealthCheckResponse.SERVING
        reflection = reflection_pb2_grpc.ServerReflectionStub(channel)
        listing = reflection_pb2.ServerReflectionRequest(list_services="")
        answers = [answer async for answer in reflection.ServerReflectionInfo(iter([listing]))]
    listed = {service.name for service in answers[0].list_services_response.service}
    assert {"vivavoce.v1.ConversationService", "grpc.health.v1.Health"} <= listed


async def test_one_silent_conversation_holds_no_sequence(server_address: str, triton: Triton):
    began, done = asyncio.Event(), asyncio.Event()

    async def silence():
        yield bytes(32_000)
        began.set()
        await done.wait()

    async def hold() -> None:
        async with vivavoce.connect(server_address) as client:
            async for _ in client.converse(silence(), audio=vivavoce.AudioFormat(vivavoce.Encoding.LINEAR_PCM, 16_000)):
                pass

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(hold())
        await began.wait()
        assert await asyncio.to_thread(triton.open_sequences) == 0
        done.set()
    with contextlib.suppress(TimeoutError):
        await until_no_sequence_is_open(triton)


async def test_hints_and_alternatives_reach_the_caller(server_address: str) -> None:
    recording = vivavoce.read_audio(BY_NAME["bee_dance"].path)
    async with vivavoce.connect(server_address) as service:
        conversation = service.converse(
            recording.chunks(),
            audio=recording.format,
            phrase_hints=[vivavoce.PhraseHints(("who discovered",))],
            max_alternatives=3,
            # A reply that is late on a busy machine would hold an earlier text.
            reply_budget_seconds=30,
        )
        events = [event async for event in conversation]
    [final] = [event for event in events if isinstance(event, vivavoce.Transcript) and event.is_final]
    [reply] = [event for event in events if isinstance(event, vivavoce.Reply)]
    # Without hints the recognizer hears "Do you discover the meaning of the dance?".
    assert final.text.lower().startswith("who discovered")
    assert reply.transcript == final.text
    assert final.alternatives[0].text == final.text
    assert final.confidence == final.alternatives[0].confidence > 0
