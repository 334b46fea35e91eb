"""Sessions over ``/v1/realtime`` that get what they cannot serve."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json

import aiohttp
import pytest

from service.admission.memory_shares import MemoryShares
from service.api.http.openai.realtime import session as sessions
from service.security.authentication import Authenticator
from service.security.principal import PrincipalLimits
from service.sessions.lifetime import Limits
from tests.unit.service.http.realtime import VAD, Realtime, connected
from tests.unit.service.http.running import Openai


async def test_silence_that_is_committed_is_an_empty_item(service: Openai):
    async with connected(service) as session:
        await session.update(audio={"input": {"turn_detection": None}})
        await session.send("input_audio_buffer.commit", event_id="mine")
        error = (await session.until("error", event_id="mine"))["error"]
        assert error["code"] == "input_audio_buffer_commit_empty"
        await session.say(1.0, 0.0)
        await session.send("input_audio_buffer.commit")
        assert (await session.until("conversation.item.input_audio_transcription.completed"))["transcript"] == ""
        await session.say(1.0, 0.0)
        await session.send("input_audio_buffer.commit")
        await session.send("response.create", event_id="asked")
        await session.until("error", event_id="asked", code="nothing_to_answer")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("no JSON", "invalid_json"),
        ("[]", "unknown_event"),
        ("{}", "unknown_event"),
        ("[" * 9_000, "unknown_event"),
        ('{"type": ' + "[" * 9_000, "invalid_json"),
        ("[" * 50_000, "too_many_values"),
        ('{"type": "session.destroy", "event_id": "e"}', "unknown_event"),
        ('{"type": 7}', "unknown_event"),
        ('{"type": "input_audio_buffer.append", "event_id": "e", "audio": "***"}', "invalid_value"),
        ('{"type": "input_audio_buffer.append", "event_id": "e", "audio": 7}', "invalid_value"),
        ('{"type": "session.update", "event_id": "e", "session": 7}', "invalid_value"),
        ('{"type": "session.update", "event_id": "e", "session": {"type": "video"}}', "invalid_value"),
        ('{"type": "session.update", "event_id": "e", "session": {"audio": 1}}', "invalid_value"),
        ('{"type": "session.update", "event_id": "e", "session": {"model": "gpt9"}}', "unknown_model"),
        ('{"type": "session.update", "event_id": "e", "session": {"voice": "wolf"}}', "unknown_voice"),
        ('{"type": "session.update", "event_id": "e", "session": {"input_audio_format": "mp3"}}', "invalid_value"),
        ('{"type": "session.update", "event_id": "e", "session": {"turn_detection": {"type": "x"}}}', "invalid_value"),
        ('{"type": "conversation.item.create", "event_id": "e", "item": {"role": "king"}}', "invalid_value"),
        ('{"type": "conversation.item.create", "event_id": "e", "item": {"type": "video"}}', "unsupported_item"),
        ('{"type": "response.create", "event_id": "e", "response": {"input": 7}}', "invalid_value"),
    ],
)
async def test_an_event_that_cannot_be_served_is_named_and_the_session_goes_on(service: Openai, text: str, code: str):
    async with connected(service) as session:
        await session.next()
        await session.send_raw(text)
        error = (await session.next())["error"]
        assert error["code"] == code
        assert error["event_id"] == ("e" if '"event_id"' in text else None)
        session.forget()
        await session.update(output_modalities=["text"])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("name", "N" * 65),
        ("call_id", "c" * 257),
        ("id", "i" * 65),
        ("output", "x" * 20_001),
        ("arguments", "x" * 20_001),
    ],
)
async def test_every_text_of_an_item_is_bounded(service: Openai, name: str, value: str):
    async with connected(service) as session:
        await session.next()
        item = {"type": "function_call_output", "call_id": "c", "output": "7", name: value}
        await session.send("conversation.item.create", item=item)
        assert (await session.until("error"))["error"]["code"] in {"invalid_value", "text_too_long"}


async def test_the_items_of_a_principal_are_bounded_in_bytes_and_given_back(service: Openai):
    content = [{"type": "input_text", "text": "x" * 20_000}]

    async def fill(session: Realtime, number: int, count: int) -> None:
        for at in range(count):
            await session.send(
                "conversation.item.create", item={"id": f"{number} {at}", "role": "user", "content": content}
            )
            await session.until("conversation.item.done")
            session.forget()

    shares = MemoryShares(2 << 20)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sessions, "CONVERSATION_ITEMS", shares)
        async with contextlib.AsyncExitStack() as opened:
            for number in range(4):
                session = await opened.enter_async_context(connected(service))
                await fill(session, number, 60)
                assert shares._total <= 1 << 20
                # The latest are there, the first ones are forgotten.
                await session.send("conversation.item.retrieve", item_id=f"{number} 59")
                await session.until("conversation.item.retrieved")
                await session.send("conversation.item.retrieve", item_id=f"{number} 0")
                await session.until("error", code="item_not_found")
        async with asyncio.timeout(5):
            while shares._total:
                await asyncio.sleep(0.01)


async def test_deep_sessions_and_binary_messages_are_refused(service: Openai):
    async with connected(service) as session:
        await session.next()
        deep = json.loads('{"tools":' + "[" * 200 + "]" * 200 + "}")
        await session.send("session.update", session=deep)
        await session.until("error", code="too_deep")
        await session._websocket.send_bytes(b"\x00")
        await session.until("error", code="invalid_json")


async def test_a_session_needs_a_place_and_a_model(service: Openai):
    with pytest.raises(aiohttp.WSServerHandshakeError, match="404"):
        async with connected(service, "?model=nothing-of-ours"):
            pass
    service.host.admission.close("the models are not ready: try again soon")
    with pytest.raises(aiohttp.WSServerHandshakeError, match="503"):
        async with connected(service):
            pass


async def test_what_recognition_fails_at_is_told(service: Openai):
    async with connected(service) as session:
        await session.update(audio={"input": {"turn_detection": VAD}})
        service.models.fail.add("asr")
        await session.send("input_audio_buffer.append", audio=base64.b64encode(bytes(48_000)).decode())
        await session.until("input_audio_buffer.speech_started")
        service.voice.probability = 0.0
        await session.send("input_audio_buffer.append", audio=base64.b64encode(bytes(48_000)).decode())
        assert (await session.until("error"))["error"]["type"] == "server_error"
        assert "conversation.item.input_audio_transcription.failed" in session.types()


async def test_a_reply_that_cannot_be_spoken_is_a_failed_response(service: Openai):
    service.models.synthesizer.fails_at = 1
    service.models.words = "how many bees live here?"
    documents = {"documents": [{"text": "Seven bees live here."}]}
    async with connected(service) as session:
        await session.update(audio={"input": {"turn_detection": VAD}}, vivavoce=documents)
        await session.send("input_audio_buffer.append", audio=base64.b64encode(bytes(48_000)).decode())
        await session.until("input_audio_buffer.speech_started")
        service.voice.probability = 0.0
        await session.send("input_audio_buffer.append", audio=base64.b64encode(bytes(48_000)).decode())
        await session.until("error", code="model_failed")
        done = await session.until("response.done")
        assert (done["response"]["status"], done["response"]["status_details"]["type"]) == ("failed", "failed")
        # The next one is spoken.
        service.voice.probability = 1.0
        await session.send("input_audio_buffer.append", audio=base64.b64encode(bytes(48_000)).decode())
        await session.until("input_audio_buffer.speech_started")
        service.voice.probability = 0.0
        await session.send("input_audio_buffer.append", audio=base64.b64encode(bytes(48_000)).decode())
        assert (await session.until("response.done"))["response"]["status"] == "completed"


async def test_more_audio_than_the_principal_may_send_ends_the_session():
    authenticator = Authenticator(limits=PrincipalLimits(audio_seconds_per_minute=2))
    async with Openai.running(authenticator=authenticator) as service, connected(service) as session:
        await session.next()
        for _ in range(5):
            await session.send("input_audio_buffer.append", audio=base64.b64encode(bytes(48_000)).decode())
        assert (await session.until("error"))["error"]["code"] == "quota_exceeded"
        assert await session.closed() == 1013
    assert service.host.admission.quotas.refused == 1


@pytest.mark.parametrize("speaks", [False, True])
async def test_a_session_in_which_nothing_is_sent_is_ended(speaks: bool):
    async with Openai.running(limits=Limits(idle_seconds=0.2, grace_seconds=0.1)) as service:
        async with connected(service) as session:
            await session.next()
            if speaks:
                service.voice.probability = 0.0
                await session.send("input_audio_buffer.append", audio=base64.b64encode(bytes(4_800)).decode())
            assert await session.closed() == 1000
        assert service.host.open_conversations.count == 0


async def test_the_end_of_the_longest_session_is_told():
    limits = Limits(longest_seconds=0.3, turn_seconds=0.1)
    async with Openai.running(limits=limits) as service, connected(service) as session:
        service.voice.probability = 0.0
        await session.send("input_audio_buffer.append", audio=base64.b64encode(bytes(4_800)).decode())
        assert (await session.until("error"))["error"]["code"] == "age"
        assert await session.closed() == 1012
