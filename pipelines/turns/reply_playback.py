"""Speech of replies: preparing, starting, holding and stopping.

A text that may become the reply is synthesized in the pause already. When the reply has gone out, its audio follows;
replies that come meanwhile wait behind it. Speech over it holds the audio from its first 0.1 s on, until it is known
whether it is an interruption: see ``pipelines.turns.interruption``. The caller is told, and stops playing meanwhile.
A caller that has half-closed can interrupt nothing, and gets the rest at once.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from msgspec.structs import replace

from pipelines.data.messages import (
    Interrupted,
    InterruptionReason,
    Notice,
    NoticeCode,
    Reply,
    ReplyHeld,
    ReplyResumed,
    Status,
)
from pipelines.data.stages import SPEECH
from pipelines.turns import events
from pipelines.turns.echo import words_around
from pipelines.turns.effects import Emit
from pipelines.turns.interruption import Verdict, verdict
from pipelines.turns.speculating import awaits_reply
from pipelines.turns.speech_effects import (
    DropSpeech,
    HoldSpeech,
    HurrySpeech,
    PrepareSpeech,
    ResumeSpeech,
    StartSpeech,
    StopSpeech,
)
from pipelines.turns.voicing import Voicing
from pipelines.vad.voice_activity import WINDOW_SAMPLES

if TYPE_CHECKING:
    from pipelines.turns.effects import Effect
    from pipelines.turns.state import State
    from pipelines.turns.turn import Turn

    Step = tuple[State, tuple[Effect, ...]]

RESTING_WINDOWS = 3
"""Silence, about 0.1 s, after which a sound that is too short to interrupt is over: a cough leaves no long hole."""

MAX_WAITING = 8
"""Replies that may wait to be spoken."""


def pass_time(state: State, event: events.Event) -> State:
    """Play what was sent up to the time of an event."""
    at = getattr(event, "at", None)
    if at is None:
        return state
    return _without_played(_with_first(state, state.voicing[0].at(at)))


def take(state: State, event: events.SpeechEvent) -> Step:
    """Take in what becomes of spoken replies."""
    if isinstance(event, events.CancelRequested):
        return _cancel(state, event.turn)
    voicing = state.voicing[0] if state.voicing else None
    if voicing is None or voicing.turn != event.turn:
        return state, ()
    match event:
        case events.SpeechSent(_, seconds, at, marks, is_last):
            return _next_in_line(_with_first(state, voicing.sent(seconds, at, marks, is_last=is_last)))
        case events.SpeechFailed(turn, message):
            state, effects = _next_in_line(replace(state, voicing=state.voicing[1:]))
            return state, (Emit(Notice(NoticeCode.STAGE_FAILED, f"{SPEECH} failed: {message}", turn)), *effects)
        case events.PlaybackReported(_, seconds, is_finished, at):
            return _without_played(_with_first(state, voicing.reported(seconds, at, is_finished=is_finished))), ()


def attend(state: State, event: events.Event) -> Step:
    """Decide what speech over a spoken reply, or a typed turn, means for it."""
    if isinstance(event, events.HalfClosed):
        return _listen(state, (HurrySpeech(),))
    if isinstance(event, events.Typed) and state.voicing and state.settings.interruption.enabled:
        return _interrupt(state, InterruptionReason.TYPED)
    return _listen(state)


def begin(state: State, telling: tuple[Effect, ...]) -> Step:
    """Begin the speech of replies that were sent, without unwanted ones."""
    effects: list[Effect] = []
    for effect in telling:
        reply = effect.message if isinstance(effect, Emit) and isinstance(effect.message, Reply) else None
        if reply is None:
            effects.append(effect)
            continue
        unspoken, is_begun = reply.turn in state.unspoken, reply.turn in state.spoken_early
        if reply.status is not Status.PARTIAL:
            state = _without_turn(state, reply.turn)
        if unspoken and not is_begun:
            effects.append(Emit(without_speech(reply)))
            continue
        effects.append(effect)
        if reply.speech_text and not is_begun:
            state, more = _enqueue(state, reply.turn, reply.speech_text, reply.request_id)
            effects += more
            if reply.status is Status.PARTIAL:
                state = replace(state, spoken_early=(*state.spoken_early, reply.turn))
    return state, tuple(effects)


def begin_early(state: State) -> Step:
    """Begin the speech of late, partial replies that have theirs.

    An agent speaks with the whole reply: its turn happens then.
    """
    effects: tuple[Effect, ...] = ()
    if state.settings.is_dialog:
        return state, ()
    for turn in state.ending:
        is_open = turn.partial is not None and not turn.is_complete and turn.text_is_final and not turn.untold
        text = _text(turn) if is_open and turn.number not in (*state.unspoken, *state.spoken_early) else ""
        if text:
            state = replace(state, spoken_early=(*state.spoken_early, turn.number))
            state, more = _enqueue(state, turn.number, text, turn.request_id)
            effects += more
    return state, effects


def _without_turn(state: State, number: int) -> State:
    """Forget how a turn is spoken whose whole reply is told."""
    return replace(
        state,
        unspoken=tuple(turn for turn in state.unspoken if turn != number),
        spoken_early=tuple(turn for turn in state.spoken_early if turn != number),
    )


def preparing(before: State, after: State) -> tuple[Effect, ...]:
    """Prepare speech of possible replies; drop that of impossible ones."""
    if before.speaking is after.speaking and before.ending is after.ending and before.unspoken is after.unspoken:
        return ()
    was, now = _prepared(before), _prepared(after)
    spoken = {voicing.turn for voicing in after.voicing}
    dropped = (DropSpeech(turn) for turn in was if turn not in now and turn not in spoken)
    fresh = (PrepareSpeech(turn, text) for turn, text in now.items() if was.get(turn) != text)
    return (*dropped, *fresh)


def without_speech(reply: Reply) -> Reply:
    """Return a reply of which nothing is spoken."""
    return dataclasses.replace(
        reply, results={name: result for name, result in reply.results.items() if name != SPEECH}
    )


def _enqueue(state: State, turn: int, text: str, request_id: str) -> Step:
    if len(state.voicing) > MAX_WAITING:
        message = f"{SPEECH} failed: {MAX_WAITING} replies wait to be spoken: ask for less at a time"
        return state, (Emit(Notice(NoticeCode.STAGE_FAILED, message, turn, request_id)),)
    state = replace(state, voicing=(*state.voicing, Voicing(turn, text)))
    state, effects = _next_in_line(state)
    state, more = _listen(state)
    return state, effects + more


def _next_in_line(state: State) -> Step:
    """Start the next reply once the audio of the one before was sent."""
    if len(state.voicing) > 1 and state.voicing[0].is_sent:
        gone, first = state.voicing[0], state.voicing[1]
        first = replace(first, now=gone.now, played_seconds=min(0.0, gone.played_seconds - gone.sent_seconds))
        state = replace(state, voicing=(first, *state.voicing[2:]))
    if not state.voicing or state.voicing[0].is_started:
        return state, ()
    first = replace(state.voicing[0], is_started=True)
    return _with_first(state, first), (StartSpeech(first.turn, first.text),)


def _listen(state: State, effects: tuple[Effect, ...] = ()) -> Step:
    """Judge what is said over the reply that is spoken."""
    if not state.voicing:
        return state, effects
    voicing = state.voicing[0]
    if not voicing.by and state.speaking is not None:
        voicing = replace(voicing, by=state.speaking.number)
        said = words_around(voicing.text, len(voicing.heard_text().split()))
        state = replace(state, speaking=replace(state.speaking, said_over=said))
    if not state.settings.interruption.enabled:
        return _with_first(state, voicing), effects
    turn = next((turn for turn in state.turns if turn.number == voicing.by), None)
    found = Verdict.IGNORE if turn is None else _verdict(state, turn)
    match found:
        case Verdict.INTERRUPT:
            state, more = _interrupt(state, InterruptionReason.SPEECH)
            return state, effects + more
        case Verdict.HOLD if turn is not None and state.hears_itself and (turn.is_echo or not turn.text):
            # Each echo would make a hole: whether it is one is known when there are words.
            return _with_first(state, voicing), effects
        case Verdict.HOLD:
            hold = () if voicing.is_held else _hold(voicing)
            return _with_first(state, replace(voicing, is_held=True)), effects + hold
        case _:
            resumed = _resume(voicing) if voicing.is_held else ()
            if found is Verdict.IGNORE:
                if turn is not None and turn.number not in state.unspoken and awaits_reply(turn):
                    state = replace(state, unspoken=(*state.unspoken, turn.number))
                voicing = replace(voicing, by=0)
            return _with_first(state, replace(voicing, is_held=False)), effects + resumed


def _hold(voicing: Voicing) -> tuple[Effect, ...]:
    """Hold a reply; a caller that has none of its audio yet has nothing to stop."""
    held = (Emit(ReplyHeld(voicing.turn, voicing.heard_seconds)),) if voicing.sent_seconds else ()
    return (HoldSpeech(voicing.turn), *held)


def _resume(voicing: Voicing) -> tuple[Effect, ...]:
    resumed = (Emit(ReplyResumed(voicing.turn, voicing.heard_seconds)),) if voicing.sent_seconds else ()
    return (ResumeSpeech(voicing.turn), *resumed)


def _verdict(state: State, turn: Turn) -> Verdict:
    rests = turn is state.speaking and state.heard_to - turn.speech_end >= RESTING_WINDOWS * WINDOW_SAMPLES
    pauses = turn is state.speaking and state.withholding and turn.decoded
    is_noise = turn.lacks_speech(state.settings.endpointing.speech_begins)
    return verdict(state.settings.interruption, turn, rests=rests, pauses=pauses, is_noise=is_noise)


def _interrupt(state: State, reason: InterruptionReason) -> Step:
    """Stop the reply that is spoken, and those that wait."""
    effects: list[Effect] = []
    for voicing in state.voicing:
        effects += (StopSpeech(voicing.turn), Emit(_interrupted(voicing, reason)))
    return replace(state, voicing=()), tuple(effects)


def _cancel(state: State, number: int) -> Step:
    if not number:
        return _interrupt(state, InterruptionReason.CANCELLED)
    reason = InterruptionReason.CANCELLED
    found = next((voicing for voicing in state.voicing if voicing.turn == number), None)
    if found is not None:
        others = tuple(voicing for voicing in state.voicing if voicing.turn != number)
        state, effects = _next_in_line(replace(state, voicing=others))
        return state, (StopSpeech(number), Emit(_interrupted(found, reason)), *effects)
    is_open = any(turn.number == number for turn in state.turns)
    if not is_open or number in state.unspoken:
        return state, ()
    state = replace(state, unspoken=(*state.unspoken, number))
    return state, (Emit(Interrupted(number, 0.0, "", reason)),)


def _interrupted(voicing: Voicing, reason: InterruptionReason) -> Interrupted:
    return Interrupted(voicing.turn, voicing.heard_seconds, voicing.heard_text(), reason)


def _with_first(state: State, voicing: Voicing) -> State:
    return replace(state, voicing=(voicing, *state.voicing[1:]))


def _without_played(state: State) -> State:
    """Forget a reply that was played: later speech interrupts nothing."""
    return replace(state, voicing=state.voicing[1:]) if state.voicing[0].is_over else state


def _prepared(state: State) -> dict[int, str]:
    """Return what may be spoken, by turn."""
    texts = {turn.number: _text(turn) for turn in state.turns if turn.number not in state.unspoken}
    return {number: text for number, text in texts.items() if text}


def _text(turn: Turn) -> str:
    if turn.is_complete:
        return next((told.speech_text for told in turn.untold if isinstance(told, Reply)), "")
    speculation = turn.speculation
    if speculation is None or SPEECH not in speculation.finished:
        return ""
    return getattr(speculation.outputs[SPEECH], "text", "")
