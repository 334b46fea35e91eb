"""The conversation as a pure function of what happens to it."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from msgspec.structs import replace

from pipelines.turns import (
    dialog_steps,
    events,
    listening,
    lost_models,
    pausing,
    reply_playback,
    replying,
    speculating,
)
from pipelines.turns.effects import AbandonSegment, CancelStage, Finish

if TYPE_CHECKING:
    from pipelines.turns.effects import Effect
    from pipelines.turns.state import State


def step(state: State, event: events.Event) -> tuple[State, tuple[Effect, ...]]:
    """Return a conversation's next state after ``event``, and effects in order.

    Idle until speech begins, listening while it lasts, pausing while silence runs, finalizing until the text is
    final, replying until understanding and answer are there, and speaking while audio of a reply is sent. When the
    budget is used up before, the reply goes out with what is there, and the whole follows. Speech may begin again
    while earlier turns are finalized or replied to. When the caller has half-closed and no reply is outstanding,
    spoken ones included, the last effect is ``Finish``; a finished conversation ignores every event.
    """
    if state.finished:
        return state, ()
    before = state
    if state.voicing:
        state = reply_playback.pass_time(state, event)
    state, effects = _dispatch(state, event)
    if state.settings.speaks:
        state, attending = reply_playback.attend(state, event)
        state, telling = replying.tell_in_order(state)
        state, telling = reply_playback.begin(state, telling)
        state, speaking_early = reply_playback.begin_early(state)
        effects += (*attending, *telling, *speaking_early, *reply_playback.preparing(before, state))
    elif state.ending:
        state, telling = replying.tell_in_order(state)
        effects += telling
    else:
        telling = ()
    if telling and state.settings.is_dialog:
        state, starting = speculating.start_waiting(state)
        effects += starting
    effects += _given_up(before, state, event)
    awaited = state.speaking is not None or state.ending or state.has_speech_to_send or state.fulfilling
    if state.half_closed and not awaited:
        return replace(state, finished=True), (*effects, Finish())
    return state, effects


def _dispatch(state: State, event: events.Event) -> tuple[State, tuple[Effect, ...]]:  # noqa: PLR0911, PLR0912 - one line an event
    match event:
        case events.Heard():
            return listening.hear(state, event)
        case events.EndRequested():
            return listening.end_requested(state, event)
        case events.HalfClosed():
            return listening.half_closed(state, event)
        case events.Stalled():
            return listening.stalled(state)
        case events.Typed():
            return replying.typed(state, event)
        case events.Transcribed():
            return replying.transcribed(state, event)
        case events.ReadBySecond():
            return replying.read_by_second(state, event)
        case events.RecognitionFailed():
            return replying.recognition_failed(state, event)
        case events.RecognitionLost():
            return lost_models.recognition_lost(state, event)
        case events.RecognitionResumed():
            return lost_models.recognition_resumed(state, event)
        case events.StageLost():
            return lost_models.stage_lost(state, event)
        case events.StageResumed():
            return lost_models.stage_resumed(state, event)
        case events.StageYielded():
            return replying.stage_yielded(state, event)
        case events.StageFinished():
            return replying.stage_finished(state, event)
        case events.StageFailed():
            return replying.stage_failed(state, event)
        case events.PauseJudged():
            return listening.pause_judged(state, event)
        case events.Updated():
            return _updated(state, event), ()
        case events.DeadlinePassed():
            return replying.deadline_passed(state, event)
        case events.DialogCommitted():
            return dialog_steps.committed(state, event)
        case events.Prompted():
            return dialog_steps.prompted(state, event)
        case events.FulfilmentEnded():
            return dialog_steps.ended(state, event)
        case events.SpeakersFound():
            return replying.speakers_found(state, event)
        case events.Abandoned():
            return _abandon(state)
        case events.SpeechSent() | events.SpeechFailed() | events.PlaybackReported() | events.CancelRequested():
            return reply_playback.take(state, event)


def _updated(state: State, event: events.Updated) -> State:
    """Change what the caller chose; a pause under way is judged by it as well."""
    endpointing = event.endpointing or state.settings.endpointing
    stages = state.settings.stages if event.stages is None else event.stages
    reads_again = state.settings.reads_again if event.reads_again is None else event.reads_again
    settings = dataclasses.replace(state.settings, endpointing=endpointing, stages=stages, reads_again=reads_again)
    state = replace(state, settings=settings, endpointer=replace(state.endpointer, config=endpointing))
    turn = state.speaking
    if turn is None or turn.pause is None or turn.pause.probability is None:
        return state
    pause = replace(turn.pause, stop_after=endpointing.stop_after(turn.pause.probability))
    return replace(state, speaking=replace(turn, pause=pause))


def _given_up(before: State, after: State, event: events.Event) -> tuple[Effect, ...]:
    """Cancel the stages of before that are not waited for any more."""
    was, now = before.speaking, after.speaking
    goes_on = was is now or (was is not None and now is not None and was.speculation is now.speculation)
    if goes_on and before.ending is after.ending:
        return ()
    running = before.running_stages
    if not running:
        return ()
    kept = after.running_stages
    if isinstance(event, events.StageFinished | events.StageFailed):
        kept.append((event.turn, event.speculation, event.stage))
    return tuple(CancelStage(*stage) for stage in running if stage not in kept)


def _abandon(state: State) -> tuple[State, tuple[Effect, ...]]:
    """Give up everything under way, so that no sequence is left open."""
    judging = pausing.give_up(state.speaking) if state.speaking else ()
    unfinished = [segment.number for turn in state.turns for segment in turn.segments if not segment.final]
    finished = replace(state, speaking=None, ending=(), voicing=(), finished=True)
    return finished, (*judging, *(AbandonSegment(number) for number in unfinished))
