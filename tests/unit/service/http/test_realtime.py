"""Sessions over ``/v1/realtime``, with models that answer by arithmetic."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import TYPE_CHECKING

import aiohttp
import pytest

from tests.unit.service.http.realtime import connected

if TYPE_CHECKING:
    from tests.unit.service.http.running import Openai

VAD = {"type": "server_vad", "silence_duration_ms": 300}
DOCUMENT = {"documents": [{"text": "Seven bees live here."}]}
RESPONSE = ["response.created", "rate_limits.updated", "response.output_item.added", "conversation.item.added"]
SPOKEN = ["response.content_part.added", "response.output_audio_transcript.delta"]
SPOKEN_END = [
    "response.output_audio.done",
    "response.output_audio_transcript.done",
    "response.content_part.done",
    "response.output_item.done",
    "conversation.item.done",
    "response.done",
]


async def test_a_turn_is_heard_transcribed_and_answered_aloud_in_the_order_of_the_protocol(service: Openai):
    async with connected(service) as session:
        assert (await session.next())["type"] == "session.created"
        await session.update(type="realtime", audio={"input": {"turn_detection": VAD}}, vivavoce=DOCUMENT)
        session.forget()
        service.models.words = "how many bees live here?"
        await session.say(1.0)
        await session.say(1.0, 0.0)
        done = await session.until("response.done")
    types = [kind for kind in session.types() if kind != "conversation.item.input_audio_transcription.delta"]
    assert types[:6] == [
        "input_audio_buffer.speech_started",
        "input_audio_buffer.speech_stopped",
        "input_audio_buffer.committed",
        "conversation.item.added",
        "conversation.item.done",
        "conversation.item.input_audio_transcription.completed",
    ]
    deltas = types.count("response.output_audio.delta")
    assert types[6:] == [*RESPONSE, *SPOKEN, *["response.output_audio.delta"] * deltas, *SPOKEN_END]
    assert deltas > 0
    by_type = {event["type"]: event for event in session.heard}
    item_id = by_type["input_audio_buffer.speech_started"]["item_id"]
    assert by_type["input_audio_buffer.committed"]["item_id"] == item_id
    completed = by_type["conversation.item.input_audio_transcription.completed"]
    assert (completed["item_id"], completed["transcript"]) == (item_id, "how many bees live here?")
    told = [e["delta"] for e in session.heard if e["type"] == "conversation.item.input_audio_transcription.delta"]
    assert "".join(told) == completed["transcript"]
    reply = done["response"]["output"][0]
    assert done["response"]["status"] == "completed"
    assert reply["content"] == [{"type": "output_audio", "transcript": "Seven bees live here."}]
    assert reply["vivavoce"]["intent"]["name"] == "count"
    assert reply["vivavoce"]["answer"]["text"] == "Seven"
    assert by_type["response.output_audio_transcript.delta"]["delta"] == "Seven bees live here."
    responses = {event["response_id"] for event in session.heard if "response_id" in event}
    assert responses == {done["response"]["id"]}
    assert len({event["event_id"] for event in session.heard}) == len(session.heard)
    assert by_type["conversation.item.added"]["previous_item_id"] == item_id


async def test_a_reply_in_text_comes_without_audio(service: Openai):
    async with connected(service) as session:
        await session.update(output_modalities=["text"], audio={"input": {"turn_detection": VAD}}, vivavoce=DOCUMENT)
        service.models.words = "how many bees live here?"
        await session.say(1.0)
        await session.say(1.0, 0.0)
        done = await session.until("response.done")
    assert done["response"]["output"][0]["content"] == [{"type": "output_text", "text": "Seven bees live here."}]
    assert "response.output_text.done" in session.types()
    assert not any("audio" in kind for kind in session.types() if kind.startswith("response."))


async def test_the_client_ends_turns_and_asks_for_responses_where_nothing_is_detected(service: Openai):
    async with connected(service) as session:
        await session.update(audio={"input": {"turn_detection": None}}, vivavoce=DOCUMENT)
        session.forget()
        service.models.words = "how many bees live here?"
        await session.say(1.0)
        await session.send("input_audio_buffer.commit")
        await session.send("response.create", response={"metadata": {"topic": "bees"}})
        done = await session.until("response.done")
        assert done["response"]["metadata"] == {"topic": "bees"}
        assert done["response"]["output"][0]["content"][0]["transcript"] == "Seven bees live here."
        assert "input_audio_buffer.speech_started" not in session.types()
        assert session.types().count("response.created") == 1
        # Nothing is answered that is not asked for.
        session.forget()
        await session.say(1.0)
        await session.send("input_audio_buffer.commit")
        await session.until("conversation.item.input_audio_transcription.completed")
        await session.say(1.0)
        assert "response.created" not in session.types()


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


async def test_what_is_cleared_is_not_part_of_the_conversation(service: Openai):
    async with connected(service) as session:
        await session.update(audio={"input": {"turn_detection": None}})
        await session.say(1.0)
        await session.send("input_audio_buffer.clear")
        await session.until("input_audio_buffer.cleared")
        await session.send("input_audio_buffer.commit")
        await session.until("error", code="input_audio_buffer_commit_empty")
        assert "input_audio_buffer.committed" not in session.types()


async def test_typed_items_are_answered_when_a_response_is_asked_for(service: Openai):
    async with connected(service) as session:
        await session.update(output_modalities=["text"], vivavoce=DOCUMENT)
        item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "how many bees?"}]}
        await session.send("conversation.item.create", item={**item, "id": "mine"})
        await session.send("response.create")
        done = await session.until("response.done")
        assert done["response"]["output"][0]["content"][0]["text"] == "Seven bees live here."
        await session.send("response.create", event_id="again")
        await session.until("error", event_id="again", code="nothing_to_answer")
        # Out of band, with what is asked in the request itself.
        await session.send("response.create", response={"input": [item], "conversation": "none"})
        await session.until("response.done")

        await session.send("conversation.item.retrieve", item_id="mine")
        assert (await session.until("conversation.item.retrieved"))["item"]["content"][0]["text"] == "how many bees?"
        await session.send("conversation.item.delete", item_id="mine")
        await session.until("conversation.item.deleted")
        await session.send("conversation.item.delete", item_id="mine")
        await session.until("error", code="item_not_found")


async def test_a_command_is_told_without_a_text_and_nothing_is_spoken_without_documents(service: Openai):
    async with connected(service) as session:
        await session.update(audio={"input": {"turn_detection": VAD}})
        await session.say(1.0)
        await session.say(1.0, 0.0)
        (item,) = (await session.until("response.done"))["response"]["output"]
    assert (item["content"], item["status"], item["vivavoce"]["intent"]["name"]) == ([], "completed", "count")


async def test_speech_over_a_reply_cancels_its_response(service: Openai):
    document = {"documents": [{"text": "Seven " + "and many more " * 9 + "bees live here."}]}
    service.models.synthesizer.part_seconds = 2.0
    async with connected(service) as session:
        await session.update(audio={"input": {"turn_detection": VAD}}, vivavoce=document)
        service.models.words = "how many bees live here?"
        await session.say(1.0)
        await session.say(1.0, 0.0)
        await session.until("response.output_audio.delta")
        session.forget()
        service.models.words = "stop that and tell me more"
        await session.say(2.0)
        done = await session.until("response.done")
        assert done["response"]["status"] == "cancelled"
        assert done["response"]["status_details"] == {"type": "cancelled", "reason": "turn_detected"}
        assert session.types().index("input_audio_buffer.speech_started") < session.types().index("response.done")
        assert done["response"]["output"][0]["status"] == "incomplete"


async def test_a_response_is_cancelled_and_truncated_by_the_client(service: Openai):
    service.models.synthesizer.part_seconds = 2.0
    async with connected(service) as session:
        await session.update(audio={"input": {"turn_detection": VAD}}, vivavoce=DOCUMENT)
        await session.send("response.cancel", event_id="early")
        await session.until("error", event_id="early", code="response_cancel_not_active")
        service.models.words = "how many bees live here?"
        await session.say(1.0)
        await session.say(1.0, 0.0)
        item_id = (await session.until("response.output_audio.delta"))["item_id"]
        await session.send("response.create", event_id="second")
        await session.until("error", event_id="second", code="conversation_already_has_active_response")
        await session.send("response.cancel")
        done = await session.until("response.done")
        assert done["response"]["status_details"]["reason"] == "client_cancelled"
        await session.send("conversation.item.truncate", item_id=item_id, content_index=0, audio_end_ms=0)
        assert (await session.until("conversation.item.truncated"))["audio_end_ms"] == 0
        await session.send("conversation.item.truncate", item_id="nowhere", content_index=0, audio_end_ms=0)
        await session.until("error", code="item_not_found")


async def test_a_transcription_session_transcribes_alone(service: Openai):
    async with connected(service, "?intent=transcription") as session:
        created = await session.next()
        assert created["session"]["type"] == "transcription"
        await session.update(type="transcription", audio={"input": {"turn_detection": VAD}})
        await session.say(1.0)
        await session.say(1.0, 0.0)
        completed = await session.until("conversation.item.input_audio_transcription.completed")
        assert completed["transcript"] == "w0 w1"
        assert completed["usage"]["type"] == "duration"
        await session.send("response.create", event_id="x")
        await session.until("error", event_id="x", code="no_responses")


async def test_settings_change_in_the_middle_of_a_session(service: Openai):
    async with connected(service) as session:
        await session.update(audio={"input": {"turn_detection": VAD}})
        await session.say(1.0)
        shown = await session.update(audio={"input": {"turn_detection": {**VAD, "silence_duration_ms": 200}}})
        assert shown["audio"]["input"]["turn_detection"]["silence_duration_ms"] == 200
        # From now on in another conversation: what was begun is told to its end.
        await session.update(audio={"input": {"turn_detection": None}}, output_modalities=["text"])
        await session.say(1.0)
        await session.send("input_audio_buffer.commit")
        await session.until("conversation.item.input_audio_transcription.completed")
        started = [e for e in session.heard if e["type"] == "input_audio_buffer.speech_started"]
        assert len(started) == 1
        assert service.host.open_conversations.count == 1
    async with asyncio.timeout(5):
        while service.host.open_conversations.count or service.host.admission.quotas.present:
            await asyncio.sleep(0.01)


async def test_g711_is_heard_and_spoken(service: Openai):
    form = {"type": "audio/pcmu"}
    async with connected(service) as session:
        detection = {"format": form, "turn_detection": VAD}
        await session.update(audio={"input": detection, "output": {"format": form}}, vivavoce=DOCUMENT)
        service.models.words = "how many bees live here?"
        second = base64.b64encode(b"\xff" * 8_000).decode()
        await session.send("input_audio_buffer.append", audio=second)
        await session.say(1.0, 0.0)
        await session.until("response.done")
    audio = b"".join(base64.b64decode(e["delta"]) for e in session.heard if e["type"] == "response.output_audio.delta")
    assert len(audio) == pytest.approx(service.models.synthesizer.part_seconds * 8_000, rel=0.2)


async def test_clients_of_the_beta_are_served_in_its_words(service: Openai):
    async with connected(service, headers={"OpenAI-Beta": "realtime=v1"}) as session:
        created = await session.next()
        assert created["session"]["input_audio_format"] == "pcm16"
        assert (await session.next())["type"] == "conversation.created"
        shown = await session.update(
            modalities=["text", "audio"],
            turn_detection=VAD,
            voice="alloy",
            input_audio_format="pcm16",
            vivavoce=DOCUMENT,
        )
        assert (shown["turn_detection"], shown["voice"]) == (VAD, "alloy")
        service.models.words = "how many bees live here?"
        await session.say(1.0)
        await session.say(1.0, 0.0)
        await session.until("response.done")
    assert {"response.audio.delta", "response.audio_transcript.done", "conversation.item.created"} <= set(
        session.types()
    )
    assert not any("output_audio." in kind or kind == "conversation.item.done" for kind in session.types())


async def test_a_long_silence_after_a_reply_is_told(service: Openai, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("service.api.http.openai.realtime.settings.MIN_IDLE_MS", 100)
    async with connected(service) as session:
        detection = {**VAD, "idle_timeout_ms": 5_000}
        await session.update(audio={"input": {"turn_detection": detection}}, output_modalities=["text"])
        loop = asyncio.get_running_loop()
        later = loop.call_later
        monkeypatch.setattr(loop, "call_later", lambda delay, *rest: later(0.05 if delay == 5.0 else delay, *rest))
        await session.say(1.0)
        await session.say(1.0, 0.0)
        await session.until("response.done")
        told = await session.until("input_audio_buffer.timeout_triggered")
        assert told["audio_end_ms"] == pytest.approx(2_000, abs=200)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("no JSON", "invalid_json"),
        ("[]", "unknown_event"),
        ("{}", "unknown_event"),
        ("[" * 50_000, "unknown_event"),
        ('{"type": ' + "[" * 50_000, "invalid_json"),
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
