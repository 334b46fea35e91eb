"""Realtime protocol without I/O: events to commands, messages to events.

Each function returns the state that follows, and what is to be done, in order.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from pipelines.audio.formats import MODEL_RATE_HZ
from pipelines.data import messages
from pipelines.data.stages import SPEECH
from pipelines.errors import InvalidInputError, ModelError
from service.api.http.openai.realtime import client_events as events
from service.api.http.openai.realtime import hearing, responses
from service.api.http.openai.realtime.client_requests import to_response_request, tool_result_of
from service.api.http.openai.realtime.items import Item, to_item
from service.api.http.openai.realtime.session_form import merged
from service.api.http.openai.realtime.state import (
    CLEARED,
    COMMITTED,
    AwaitSilence,
    ChangePlayback,
    Moment,
    Play,
    Response,
    State,
    Step,
)
from service.api.http.problems import problem_of
from service.sessions.commands import (
    AddAudio,
    AddText,
    CancelReply,
    EndUtterance,
    ReportPlayback,
    StopReply,
    TakeResult,
    Update,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from service.api.http.openai.realtime.client_requests import ResponseRequest
    from service.api.http.openai.realtime.session_form import Session
    from service.api.http.openai.realtime.settings import Settings
    from service.api.http.openai.realtime.state import Output
    from service.sessions.commands import Command

    Result = tuple[State, list[Output | Command]]
    ReadSettings = Callable[[Session], Settings]

MIN_COMMITTED_SAMPLES = MODEL_RATE_HZ // 10
"""Of audio that is committed: OpenAI's own service takes no less."""


def started(state: State) -> Result:
    """Tell the session."""
    step = Step(state, Moment())
    step.tell("session.created", session=state.session)
    if state.settings.replies:
        step.tell("conversation.created", conversation={"id": state.conversation_id, "object": "realtime.conversation"})
    return step.result


def opened(state: State, greeting: str) -> Result:
    """Begin a conversation; tell an agent's first words where they are not spoken."""
    step = Step(dataclasses.replace(state, held=True, reopens=False, told=state.settings), Moment())
    if greeting and not state.settings.speaks:
        step.tell_item(Item(step.new_id("item"), "assistant", "output_text", greeting))
    return step.result


def closed(state: State, moment: Moment) -> Result:
    """End a conversation; the next counts turns and audio anew."""
    step = Step(state, moment)
    if state.on_track:
        step.do(ChangePlayback("drop"))
    step.change(utterances={}, requested={}, late={}, asked=None, commits=0, spoken={}, playing=0, uncommitted_from=0)
    responses.end_all(step)
    is_over = state.is_over or not state.reopens
    step.change(held=False, is_over=is_over, offset=state.offset + moment.heard, spoken={})
    return step.result


def read(  # noqa: PLR0912 - one an event
    state: State, event: events.Meant, moment: Moment, read_settings: ReadSettings
) -> Result:
    """Act on an event of the client.

    Args:
        state: of the session.
        event: what came.
        moment: when it came.
        read_settings: reads another form of the session.

    Raises:
        InvalidInputError: the event cannot be served; the session goes on without it.
        MessageTooLargeError: it is too large, likewise.
    """
    step = Step(state, moment)
    match event:
        case events.AppendAudio():
            step.do(AddAudio(event.audio))
        case events.CommitAudio():
            _commit(step)
        case events.ForceCommit():
            _end_utterance(step)
        case events.ClearAudio():
            step.change(uncommitted_from=moment.heard)
            step.do(EndUtterance(CLEARED))
            step.tell("input_audio_buffer.cleared")
        case events.FinishAudio():
            step.change(is_over=True)
        case events.UpdateSession():
            _update(step, event, read_settings)
        case events.CreateItem():
            item = to_item(event.item, step.new_id("item"))
            step.tell_item(item, event.previous_item_id)
            if (result := tool_result_of(item)) is not None and state.held:
                step.do(TakeResult(result))
        case events.RetrieveItem():
            step.tell("conversation.item.retrieved", item=state.items.get(event.item_id).as_json())
        case events.DeleteItem():
            step.change(items=state.items.without(state.items.get(event.item_id)))
            step.tell("conversation.item.deleted", item_id=event.item_id)
        case events.TruncateItem():
            _truncate(step, event)
        case events.CreateResponse():
            _create_response(step, event)
        case events.CancelResponse() | events.ClearOutput():
            _cancel_response(step, event)
    return step.result


def write(state: State, message: messages.Message, moment: Moment) -> Result:  # noqa: PLR0912 - one a message
    """Tell what the present conversation says."""
    step = Step(state, moment)
    if state.on_track:
        _follow(step, message)
    told = state.told
    match message:
        case messages.SpeechBegan():
            step.do(AwaitSilence(None))
            if told.replies and not told.responds and told.speaks:
                # A response is made when it is asked for.
                step.do(CancelReply(message.turn))
            hearing.began(step, message)
        case messages.Transcript(is_final=False):
            hearing.partial(step, message)
        case messages.SpeechPaused():
            hearing.partial(step, message.transcript())
        case messages.SpeechEnded():
            step.change(uncommitted_from=moment.heard)
            hearing.ended(step, message)
        case messages.Transcript():
            is_kept = hearing.final(step, message)
            step.change(commits=step.state.commits - (message.request_id == COMMITTED))
            if is_kept:
                _answer_if_asked(step)
        case messages.Reply():
            _reply(step, message)
        case messages.ReplyAudio():
            _speak(step, message)
        case messages.Interrupted():
            responses.interrupt(step, message)
        case messages.ToolCall():
            responses.begin_call(step, message)
        case messages.Notice():
            _notice(step, message)
    return step.result


def played(state: State, turn: int, seconds: float, *, is_all: bool) -> Result:
    """Tell how far the track has played a reply."""
    step = Step(state, Moment())
    if state.held:
        step.do(ReportPlayback(turn, seconds, finished=is_all))
    _, response = state.spoken.get(turn, ("", None))
    if turn != state.playing:
        step.tell("output_audio_buffer.started", response_id=response)
    if is_all:
        step.tell("output_audio_buffer.stopped", response_id=response)
    step.change(playing=0 if is_all else turn)
    return step.result


def timed_out(state: State, moment: Moment) -> Result:
    """Tell that nothing was said for the client's idle time-out."""
    step, detection = Step(state, moment), state.told.detection
    if state.held and detection is not None and detection.idle_timeout_ms is not None:
        end = 1000 * (state.offset + moment.heard) // MODEL_RATE_HZ
        step.tell(
            "input_audio_buffer.timeout_triggered",
            audio_start_ms=max(0, end - detection.idle_timeout_ms),
            audio_end_ms=end,
            item_id=step.new_id("item"),
        )
    return step.result


def _commit(step: Step) -> None:
    samples = step.moment.heard - step.state.uncommitted_from
    if samples < MIN_COMMITTED_SAMPLES:
        milliseconds = 1000 * samples // MODEL_RATE_HZ
        message = f"the buffer has {milliseconds} ms of audio: append at least 100 ms before you commit it"
        raise InvalidInputError("input_audio_buffer", "INPUT_AUDIO_BUFFER_COMMIT_EMPTY", message)
    _end_utterance(step)


def _end_utterance(step: Step) -> None:
    step.change(commits=step.state.commits + 1)
    step.do(EndUtterance(COMMITTED))


def _update(step: Step, event: events.UpdateSession, read_settings: ReadSettings) -> None:
    state = step.state
    is_transcription = isinstance(event, events.UpdateTranscriptionSession)
    session = merged(state.session, {"type": "transcription", **event.session} if is_transcription else event.session)
    settings = read_settings(session)
    update = settings.update_from(state.settings) if state.held else None
    step.change(session=session, settings=settings)
    if update is not None:
        step.do(Update(update))
    if state.held and update is None:
        # What the present conversation still tells is told as before.
        step.change(reopens=True)
    else:
        step.change(told=settings)
    step.tell("transcription_session.updated" if is_transcription else "session.updated", session=session)


def _truncate(step: Step, event: events.TruncateItem) -> None:
    item, milliseconds = step.state.items.get(event.item_id), event.audio_end_ms
    if item.kind != "output_audio":
        message = "the item has no audio of ours: only what was spoken can be cut off"
        raise InvalidInputError("item_id", "INVALID_VALUE", message)
    if milliseconds < 0 or event.content_index != 0:
        message = "audio_end_ms and content_index are 0 or more, and there is one content: send 0 for its index"
        raise InvalidInputError("audio_end_ms", "INVALID_VALUE", message)
    cut = item.cut(milliseconds / 1000)
    told = tuple(
        dataclasses.replace(one, item=cut) if one.item is not None and one.item.id == cut.id else one
        for one in step.state.responses
    )
    step.change(items=step.state.items.put(cut), responses=told)
    turn = next((turn for turn, there in step.state.spoken.items() if there[0] == item.id), None)
    if turn is not None and step.state.held and step.state.settings.speaks:
        step.do(StopReply(turn, milliseconds / 1000))
    step.tell("conversation.item.truncated", item_id=item.id, content_index=0, audio_end_ms=milliseconds)


def _create_response(step: Step, event: events.CreateResponse) -> None:
    """Have what was said last answered; where it is not recognized yet, once it is."""
    state, told = step.state, step.state.told
    if not told.replies:
        message = "a transcription session makes no responses: update it to a realtime session"
        raise InvalidInputError("type", "NO_RESPONSES", message)
    if state.responses or state.asked is not None or state.requested or state.late:
        message = "a response is under way: wait for response.done, or cancel it"
        raise InvalidInputError("response", "CONVERSATION_ALREADY_HAS_ACTIVE_RESPONSE", message)
    request = to_response_request(event, speaks=told.speaks)
    if request.text:
        _ask(step, request, request.text)
        return
    if state.commits or any(utterance.is_committed for utterance in state.utterances.values()):
        # Where the end of a turn makes a response, it comes without being asked for.
        step.change(asked=None if told.responds else request)
        return
    item = state.items.unanswered
    if item is None and told.agent and state.items.ends_with_result:
        # Other services answer the result of a tool when they are asked to; an agent does it by itself.
        return
    if item is None or not item.text:
        message = "nothing that the user said waits for a response: create an item, or commit audio, before"
        raise InvalidInputError("response", "NOTHING_TO_ANSWER", message)
    step.answered(item)
    _ask(step, request, item.text)


def _ask(step: Step, request: ResponseRequest, text: str) -> None:
    response = Response(step.new_id("resp"), request.modality, request.metadata)
    step.change(requested={**step.state.requested, response.id: response})
    step.do(AddText(text, response.id))


def _cancel_response(step: Step, event: events.CancelResponse | events.ClearOutput) -> None:
    state = step.state
    step.change(asked=None, late={})
    if state.responses:
        step.do(CancelReply(state.responses[0].turn))
        return
    for turn in (*(state.late if state.told.speaks else ()), *((state.playing,) if state.playing else ())):
        # A reply that is late, or a response that is done and not yet heard.
        step.do(CancelReply(turn))
    is_none = not state.late and not state.playing and state.asked is None
    if is_none and isinstance(event, events.CancelResponse):
        message = "no response is under way: there is nothing to cancel"
        raise InvalidInputError("response_id", "RESPONSE_CANCEL_NOT_ACTIVE", message)


def _answer_if_asked(step: Step) -> None:
    request, item = step.state.asked, step.state.items.unanswered
    if request is None:
        return
    step.change(asked=None)
    if item is not None and item.text:
        step.answered(item)
        _ask(step, request, item.text)
        return
    message = "nothing was said in the audio that was committed: there is nothing to answer"
    _tell_error(step, InvalidInputError("response", "NOTHING_TO_ANSWER", message), request.event_id)


def _reply(step: Step, reply: messages.Reply) -> None:
    is_whole = reply.status is not messages.Status.PARTIAL
    by_itself = isinstance(reply, messages.Prompt)
    if reply.completes:
        responses.complete(step, reply)
        response = step.state.late.get(reply.turn)
    else:
        response = _response_to(step, reply, by_itself=by_itself)
    if response is None and not reply.completes:
        return
    if response is not None and (not is_whole or (reply.speech_text if by_itself else reply.transcript)):
        others = {turn: one for turn, one in step.state.late.items() if turn != reply.turn}
        step.change(late=others)
        if is_whole or reply.speech_text:
            responses.begin(step, response, reply, is_whole=is_whole)
        else:
            step.change(late={**others, reply.turn: dataclasses.replace(response, reply=reply)})
    if not step.state.responses and is_whole:
        _await_silence(step)


def _response_to(step: Step, reply: messages.Reply, *, by_itself: bool) -> Response | None:
    """Return the response that a reply is told with; None where it is not told."""
    state = step.state
    if reply.request_id == CLEARED:
        return None
    if (response := state.requested.get(reply.request_id)) is not None:
        step.change(requested={name: one for name, one in state.requested.items() if name != response.id})
        if response.modality == "text" and state.told.speaks:
            step.do(CancelReply(reply.turn))
        return response
    if not state.told.responds and not by_itself:
        return None
    if not by_itself and (item := state.items.unanswered) is not None:
        step.answered(item)
    return Response(step.new_id("resp"), "audio" if state.told.speaks else "text")


def _speak(step: Step, audio: messages.ReplyAudio) -> None:
    late = step.state.late.get(audio.turn)
    if late is not None and late.reply is not None:
        # Its reply is spoken before all of it is there.
        step.change(late={turn: one for turn, one in step.state.late.items() if turn != audio.turn})
        responses.begin(step, late, late.reply, is_whole=False)
    told = step.state.responses[0] if step.state.responses else None
    if step.state.on_track and told is not None and told.turn == audio.turn:
        step.do(Play(audio))
    responses.speak(step, audio)
    if audio.is_last:
        _await_silence(step)


def _follow(step: Step, message: messages.Message) -> None:
    """Hold, resume or drop a reply on the track as the conversation says."""
    match message:
        case messages.ReplyHeld(turn):
            step.do(ChangePlayback("hold", turn))
        case messages.ReplyResumed(turn):
            step.do(ChangePlayback("resume", turn))
        case messages.Interrupted(turn):
            step.do(ChangePlayback("drop", turn))
            item, response = step.state.spoken.get(turn, (None, None))
            if step.state.playing == turn:
                step.change(playing=0)
                step.tell("output_audio_buffer.cleared", response_id=response)
            if item is not None:
                heard = round(1000 * message.heard_seconds)
                step.tell("conversation.item.truncated", item_id=item, content_index=0, audio_end_ms=heard)


def _notice(step: Step, notice: messages.Notice) -> None:
    match notice.code:
        case messages.NoticeCode.NO_SPEECH if notice.request_id == COMMITTED:
            seconds = (step.moment.heard - step.state.uncommitted_from) / MODEL_RATE_HZ
            step.change(commits=step.state.commits - 1, uncommitted_from=step.moment.heard)
            hearing.silence(step, seconds)
            _answer_if_asked(step)
        case messages.NoticeCode.TOOL_RESULT_IGNORED:
            _tell_error(step, InvalidInputError("item.call_id", notice.code.value, notice.message))
        case messages.NoticeCode.STAGE_FAILED:
            error = step.moment.failure or ModelError(notice.message)
            told = problem_of(error).openai_error()
            hearing.failed(step, notice.turn, told)
            _tell_error(step, error)
            if notice.message.startswith(f"{SPEECH} "):
                responses.fail(step, notice.turn, told)


def _await_silence(step: Step) -> None:
    """Wait for the client's idle time-out, from the end of playback."""
    detection = step.state.told.detection
    if detection is not None and detection.idle_timeout_ms is not None:
        step.do(AwaitSilence(detection.idle_timeout_ms / 1000))


def _tell_error(step: Step, error: Exception, event_id: str | None = None) -> None:
    step.tell("error", error={**problem_of(error).openai_error(), "event_id": event_id})
