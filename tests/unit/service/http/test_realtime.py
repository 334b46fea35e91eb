"""Sessions over ``/v1/realtime``, with models that answer by arithmetic."""

from __future__ import annotations

import asyncio
import base64
from typing import TYPE_CHECKING

import pytest

from tests.unit.service.http.realtime import VAD, connected

if TYPE_CHECKING:
    from tests.unit.service.http.running import Openai

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


@pytest.mark.parametrize("modality", ["audio", "text"])
async def test_a_late_response_ends_when_it_is_whole(service: Openai, modality: str):
    async with connected(service) as session:
        await session.update(output_modalities=[modality], audio={"input": {"turn_detection": VAD}}, vivavoce=DOCUMENT)
        session.forget()
        service.models.words, service.models.answering_seconds = "how many bees live here?", 1.0
        await session.say(1.0)
        await session.say(1.0, 0.0)
        await session.until("conversation.item.input_audio_transcription.completed")
        await asyncio.sleep(0.5)
        await session.send("response.create")
        await session.until("error", code="conversation_already_has_active_response")
        done = await session.until("response.done")
    (item,) = done["response"]["output"]
    (content,) = item["content"]
    assert content.get("transcript", content.get("text")) == "Seven bees live here."
    assert (done["response"]["status"], item["vivavoce"]["status"]) == ("completed", "REPLY_STATUS_COMPLETE")
    assert session.types().count("response.created") == 1
    assert ("response.output_audio.delta" in session.types()) == (modality == "audio")


async def test_a_late_response_that_is_cancelled_is_not_made(service: Openai):
    async with connected(service) as session:
        await session.update(audio={"input": {"turn_detection": VAD}}, vivavoce=DOCUMENT)
        service.models.words, service.models.answering_seconds = "how many bees live here?", 0.8
        await session.say(1.0)
        await session.say(1.0, 0.0)
        await session.until("conversation.item.input_audio_transcription.completed")
        await asyncio.sleep(0.4)
        await session.send("response.cancel")
        await asyncio.sleep(0.8)
        await session.say(0.1, 0.0)
        assert not any(kind.startswith("response.") for kind in session.types())


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
        await session.say(0.3)
        # Clients stop playing at it: it does not wait for what the speech turns out to be.
        await session.until("input_audio_buffer.speech_started")
        await session.say(1.7)
        done = await session.until("response.done")
        assert done["response"]["status"] == "cancelled"
        assert done["response"]["status_details"] == {"type": "cancelled", "reason": "turn_detected"}
        assert done["response"]["output"][0]["status"] == "incomplete"


async def test_what_the_client_has_played_of_a_response_reaches_the_conversation(service: Openai):
    document = {"documents": [{"text": "Seven " + "and many more " * 9 + "bees live here."}]}
    service.models.synthesizer.part_seconds = 4.0
    async with connected(service) as session:
        await session.update(audio={"input": {"turn_detection": VAD}}, vivavoce=document)
        service.models.words = "how many bees live here?"
        await session.say(1.0)
        await session.say(1.0, 0.0)
        item_id = (await session.until("response.output_audio.delta"))["item_id"]
        await session.say(2.0, 0.0)
        await session.send("conversation.item.truncate", item_id=item_id, content_index=0, audio_end_ms=1_000)
        done = await session.until("response.done")
        assert done["response"]["status"] == "cancelled"
        (item,) = done["response"]["output"]
        heard = item["content"][0]["transcript"]
        assert heard.startswith("Seven")
        assert 0 < len(heard.split()) < len(document["documents"][0]["text"].split()) / 2
        session.forget()
        await session.say(1.0, 0.0)
        assert "response.output_audio.delta" not in session.types()


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


async def test_audio_that_was_not_spoken_in_goes_on_in_a_session_of_another_kind(service: Openai):
    async with connected(service) as session:
        await session.update(audio={"input": {"turn_detection": VAD}}, vivavoce=DOCUMENT)
        await session.say(1.0, 0.0)
        await session.update(output_modalities=["text"])
        await session.say(1.0)
        began = await session.until("input_audio_buffer.speech_started")
        # The fake voice takes for speech what the new conversation begins with.
        assert began["audio_start_ms"] == 0, "counted from the beginning of the session"
        await session.say(1.0, 0.0)
        await session.until("response.done")
    heard = sum(sequence.samples for sequence in service.models.sequences)
    assert heard >= 2.0 * 16_000, "the second before the change, and the one after it"


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
