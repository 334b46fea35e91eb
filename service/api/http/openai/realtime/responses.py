"""Responses of a session: events of replies, one response after the other."""

from __future__ import annotations

import base64
import dataclasses
from typing import TYPE_CHECKING, Any

import msgspec
from google.protobuf.json_format import MessageToDict

from pipelines.data.messages import InterruptionReason
from pipelines.stages.registry import StageRequest
from pipelines.stages.wording import answer_in_words
from service.api.http.openai.realtime.items import Item
from service.api.http.openai.realtime.state import Response
from service.api.vivavoce.replies import to_reply

if TYPE_CHECKING:
    from pipelines.data.messages import Interrupted, Reply, ReplyAudio, ToolCall
    from service.api.http.openai.realtime.state import Step

_MAX_KNOWN_TURNS = 32
"""Turns whose reply may still be stopped."""

_NO_TOKENS = {"text_tokens": 0, "audio_tokens": 0}
USAGE = {
    "total_tokens": 0,
    "input_tokens": 0,
    "output_tokens": 0,
    "input_token_details": {
        **_NO_TOKENS,
        "image_tokens": 0,
        "cached_tokens": 0,
        "cached_tokens_details": {**_NO_TOKENS, "image_tokens": 0},
    },
    "output_token_details": _NO_TOKENS,
}
"""Nothing is counted in tokens here; clients want the numbers."""


def begin(step: Step, response: Response, reply: Reply, *, is_whole: bool = True) -> None:
    """Tell a reply, or let it wait for the one that is spoken.

    Args:
        step: is under way.
        response: tells it.
        reply: to be told.
        is_whole: whether it is; otherwise it is spoken already, and :func:`complete` follows.
    """
    is_spoken = response.modality == "audio" and (bool(reply.speech_text) or not is_whole)
    text = reply.speech_text
    if response.modality == "text" and not text:
        text = answer_in_words(StageRequest(reply.transcript, step.state.told.config, reply.results, None))
    kind = "output_audio" if is_spoken else "output_text"
    item = Item(step.new_id("item"), "assistant", kind, text, "in_progress", _extension(step, reply))
    _queue(step, dataclasses.replace(response, reply=reply, item=item, is_whole=is_whole))


def begin_call(step: Step, call: ToolCall) -> None:
    """Ask for a tool, as a response with a function call, without session parameters."""
    arguments = msgspec.json.encode(call.arguments).decode()
    raw = {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": arguments}
    item = Item(step.new_id("item"), "assistant", status="in_progress", is_answered=True, raw=raw)
    _queue(step, Response(step.new_id("resp"), "text", item=item))


def complete(step: Step, reply: Reply) -> None:
    """Take the completion of a spoken reply; its response ends with its audio."""
    for at, response in enumerate(step.state.responses):
        if response.turn == reply.turn and not response.is_whole and response.item is not None:
            fresh = "" if response.item.text else reply.speech_text
            item = dataclasses.replace(response.item, extension=_extension(step, reply))
            item = dataclasses.replace(item, text=fresh) if fresh else item
            _put(step, dataclasses.replace(response, reply=reply, item=item, is_whole=True), at)
            if at == 0 and fresh:
                _tell_part(step, "response.output_audio_transcript.delta", delta=fresh)
            if at == 0 and response.is_spoken:
                _close(step, "completed")
            return


def speak(step: Step, audio: ReplyAudio) -> None:
    """Tell a piece of a spoken reply."""
    response = _active(step, audio.turn)
    if response is None or response.item is None:
        return
    if audio.audio and not step.state.on_track:
        _tell_part(step, "response.output_audio.delta", delta=base64.b64encode(audio.audio).decode())
    item = dataclasses.replace(response.item, audio_seconds=audio.start_seconds)
    _put(step, dataclasses.replace(response, item=item, is_spoken=audio.is_last))
    if audio.is_last and response.is_whole:
        _close(step, "completed")


def interrupt(step: Step, interrupted: Interrupted) -> None:
    """End the response of a stopped reply, without what was not heard."""
    turn = interrupted.turn
    item = step.state.items.find(step.state.spoken.get(turn, ("", ""))[0])
    if item is not None and item.kind == "output_audio":
        item = dataclasses.replace(item, text=interrupted.heard_text, audio_seconds=interrupted.heard_seconds)
        step.change(items=step.state.items.put(item))
    told, *waiting = step.state.responses or (None,)
    if told is None:
        return
    step.change(responses=(told, *(one for one in waiting if one is not None and one.turn != turn)))
    if told.turn == turn:
        _put(step, dataclasses.replace(told, item=item or told.item))
        by_speech = interrupted.reason is InterruptionReason.SPEECH
        _close(step, "cancelled", "turn_detected" if by_speech else "client_cancelled")


def fail(step: Step, turn: int, error: dict[str, Any]) -> None:
    """End the response of a turn whose speech failed."""
    if _active(step, turn) is not None:
        _close(step, "failed", error=error)


def end_all(step: Step) -> None:
    """End what is told: no audio follows."""
    while step.state.responses:
        _close(step, "cancelled", "client_cancelled")


def _active(step: Step, turn: int) -> Response | None:
    """Return the response that is told, if it is spoken and of this turn."""
    told = step.state.responses[0] if step.state.responses else None
    return told if told is not None and told.turn == turn and told.speaks else None


def _extension(step: Step, reply: Reply) -> dict[str, Any]:
    return MessageToDict(to_reply(reply, step.moment.now), preserving_proto_field_name=True)


def _put(step: Step, response: Response, at: int = 0) -> None:
    """Note another state of a response, and of its item."""
    told = step.state.responses
    items = step.state.items if response.item is None else step.state.items.put(response.item)
    step.change(responses=(*told[:at], response, *told[at + 1 :]), items=items)


def _queue(step: Step, response: Response) -> None:
    step.change(responses=(*step.state.responses, response))
    if len(step.state.responses) == 1:
        _open(step)


def _open(step: Step) -> None:
    response = step.state.responses[0]
    item = response.item
    assert item is not None
    if turn := response.turn:
        known = {one: there for one, there in step.state.spoken.items() if one > turn - _MAX_KNOWN_TURNS}
        step.change(spoken={**known, turn: (item.id, response.id)})
    step.tell("response.created", response=_as_json(step, response, "in_progress"))
    step.tell("rate_limits.updated")
    empty: dict[str, Any] = {"content": []} if item.raw is None else {"arguments": ""}
    opened = {**item.as_json(), **empty}
    step.tell("response.output_item.added", response_id=response.id, output_index=0, item=opened)
    before = step.add_item(item)
    step.tell("conversation.item.added", previous_item_id=before, item=opened)
    if item.raw is not None:
        place = {"response_id": response.id, "item_id": item.id, "output_index": 0, "call_id": item.raw["call_id"]}
        name, arguments = "response.function_call_arguments", item.raw["arguments"]
        step.tell(f"{name}.delta", **place, delta=arguments)
        step.tell(f"{name}.done", **place, name=item.raw["name"], arguments=arguments)
    elif item.text or response.speaks:
        _tell_part(step, "response.content_part.added", part=_part(response, ""))
        if item.text:
            name = "response.output_audio_transcript" if response.speaks else "response.output_text"
            _tell_part(step, f"{name}.delta", delta=item.text)
    if not response.speaks:
        _close(step, "completed")


def _close(step: Step, status: str, reason: str | None = None, error: dict[str, Any] | None = None) -> None:
    response = step.state.responses[0]
    assert response.item is not None
    item = dataclasses.replace(response.item, status="completed" if status == "completed" else "incomplete")
    response = dataclasses.replace(response, item=item)
    _put(step, response)
    if item.raw is None and (item.text or response.speaks):
        if response.speaks:
            _tell_part(step, "response.output_audio.done")
            _tell_part(step, "response.output_audio_transcript.done", transcript=item.text)
        else:
            _tell_part(step, "response.output_text.done", text=item.text)
        _tell_part(step, "response.content_part.done", part=_part(response, item.text or ""))
    step.tell("response.output_item.done", response_id=response.id, output_index=0, item=item.as_json())
    step.tell("conversation.item.done", previous_item_id=None, item=item.as_json())
    details = {"type": status, "reason": reason} if reason else {"type": status, "error": error} if error else None
    step.tell("response.done", response=_as_json(step, response, status, details))
    step.change(responses=step.state.responses[1:])
    if step.state.responses:
        _open(step)


def _tell_part(step: Step, kind: str, **members: Any) -> None:  # noqa: ANN401 - JSON
    response = step.state.responses[0]
    assert response.item is not None
    place = {"response_id": response.id, "item_id": response.item.id, "output_index": 0, "content_index": 0}
    step.tell(kind, **place, **members)


def _part(response: Response, text: str) -> dict[str, Any]:
    return {"type": "audio", "transcript": text} if response.speaks else {"type": "text", "text": text}


def _as_json(step: Step, response: Response, status: str, details: dict[str, Any] | None = None) -> dict[str, Any]:
    is_over = status != "in_progress"
    return {
        "object": "realtime.response",
        "id": response.id,
        "status": status,
        "status_details": details,
        "output": [response.item.as_json()] if is_over and response.item else [],
        "conversation_id": step.state.conversation_id,
        "output_modalities": [response.modality],
        "max_output_tokens": "inf",
        "usage": USAGE if is_over else None,
        "metadata": response.metadata,
    }
