"""Listening: opening, feeding, cutting and closing segments.

An utterance is one segment as a rule. A long one is cut, at a pause once it has lasted ``SOFT_LIMIT``, and where it was
quietest when it reaches ``HARD_LIMIT`` without one; a pause of ``PAUSE_LIMIT`` also closes the segment, so that someone
who thinks holds no place in the recognizer. Silence is not sent: after ``SPECULATION_WINDOWS`` of it the recognizer
is asked for all it has, and what follows is withheld until speech resumes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from pipelines.audio.formats import MODEL_RATE_HZ
from pipelines.messages import EndReason, Notice, NoticeCode, SpeechBegan, SpeechEnded
from pipelines.turns import pausing, replying
from pipelines.turns.effects import (
    AbandonSegment,
    CloseSegment,
    Emit,
    OpenSegment,
    ReadAgain,
    SendAudio,
    SpeculationFate,
)
from pipelines.turns.pausing import SPECULATION_WINDOWS
from pipelines.turns.speculating import count_speculation
from pipelines.turns.state import QuietPoint, State
from pipelines.turns.turn import Segment, Turn
from pipelines.vad.endpointing import Boundary
from pipelines.vad.voice_activity import WINDOW_SAMPLES, is_speech

if TYPE_CHECKING:
    from pipelines.turns.effects import Effect
    from pipelines.turns.events import EndRequested, HalfClosed, Heard, PauseJudged

    Step = tuple[State, tuple[Effect, ...]]

PREROLL = round(0.3 * MODEL_RATE_HZ)
"""Samples sent from before the onset: the soft beginning of a first word does not look like speech yet."""

PAUSE_LIMIT = 62
"""Windows of silence (2 s) after which a segment is closed although the utterance may go on."""

SOFT_LIMIT = 12 * MODEL_RATE_HZ
"""Samples of a segment after which it is closed at the next pause of ``SOFT_PAUSE``."""

SOFT_PAUSE = 10
"""Windows of silence (0.32 s) that a long segment is closed at."""

HARD_LIMIT = 28 * MODEL_RATE_HZ
"""Samples after which a segment is cut; the recognizer takes 30 s."""

_CUT_FROM = 14 * MODEL_RATE_HZ


def hear(state: State, event: Heard) -> Step:
    """Take windows in, up to one that begins or ends a turn, or is judged."""
    effects: tuple[Effect, ...] = ()
    speaking = state.speaking is not None
    for probability, is_background in event.windows:
        state, more = _hear_window(state, probability, event.at, is_background=is_background)
        effects += more
        turn = state.speaking
        if (turn is not None) is not speaking or (turn is not None and turn.pause and state.awaits_judgement):
            break
    return state, effects


def _hear_window(state: State, probability: float, at: float, *, is_background: bool) -> Step:
    heard_to = state.heard_to + WINDOW_SAMPLES
    if state.speaking is None and heard_to <= state.floor:
        # The caller has ended the utterance that it belongs to, before it was heard.
        return replace(state, heard_to=heard_to), ()
    config = state.settings.endpointing
    speech = not is_background and is_speech(
        probability, was_speech=state.was_speech, begins=config.speech_begins, ends=config.speech_ends
    )
    background = not speech and (state.background or is_background)
    stop_after = pausing.stop_after(state, is_background=background) if state.speaking else None
    endpointer, boundary = state.endpointer.push(speech=speech, stop_after=stop_after)
    if boundary is Boundary.STOP and _goes_on(state):
        endpointer, boundary = endpointer.begin(), None
    state = replace(
        state,
        background=background,
        endpointer=endpointer,
        was_speech=speech,
        heard_to=heard_to,
        probabilities=(*state.probabilities, probability)[-config.start_windows :],
    )
    turn = state.speaking
    if turn is None:
        return _begin_turn(state) if boundary is Boundary.START else (state, ())
    effects: tuple[Effect, ...] = ()
    if speech:
        if turn.pause is not None:
            state, effects = pausing.resume(state)
            assert state.speaking is not None
            turn = state.speaking
        turn = replace(
            turn,
            speech_end=heard_to,
            speech_peak=max(turn.speech_peak, probability),
            speech_mass=turn.speech_mass + probability,
            speech_windows=turn.speech_windows + 1,
        )
    elif state.settings.diarizes:
        turn = turn.with_silence(heard_to - WINDOW_SAMPLES, heard_to)
    if boundary is Boundary.LIKELY_STOP:
        turn = replace(turn, end_is_likely=True)
    state, more = _feed(replace(state, speaking=turn), probability, speech=speech)
    effects += more
    if boundary is Boundary.LIKELY_STOP:
        state, more = replying.tell_likely_end(state)
        effects += more
    if boundary is Boundary.STOP:
        state, more = _end_turn(state, EndReason.SILENCE, at, heard_to)
        return state, effects + more
    if endpointer.trailing_silence >= SPECULATION_WINDOWS:
        state, more = pausing.follow(state)
        effects += more
    return state, effects


def pause_judged(state: State, event: PauseJudged) -> Step:
    """End the utterance if the pause is long enough for its probability."""
    turn = state.speaking
    if turn is None or turn.number != event.turn or turn.pause is None or turn.pause.number != event.pause:
        return state, ()
    state, effects = pausing.take_judgement(state, event.probability)
    windows = pausing.stop_after(state, is_background=state.background)
    if windows is not None and state.endpointer.is_silent_for(windows):
        state, more = _end_turn(state, EndReason.SILENCE, event.at, state.heard_to)
    else:
        state, more = pausing.ask(state)
    return state, effects + more


def _goes_on(state: State) -> bool:
    """Return whether speech after a pause fits the segment (``join_samples``)."""
    segment = state.speaking.open_segment if state.speaking else None
    return segment is not None and state.heard_to - segment.start < state.settings.join_samples


def end_requested(state: State, event: EndRequested) -> Step:
    """End the utterance because the caller says so."""
    state, effects = _begin_if_any_speech(state)
    if state.speaking is None:
        message = "nobody has spoken since the last reply: send audio before end_of_utterance"
        return state, (*effects, Emit(Notice(NoticeCode.NO_SPEECH, message, request_id=event.request_id)))
    state, more = _end_turn(state, EndReason.REQUESTED, event.at, event.audio_end, event.request_id)
    return state, effects + more


def half_closed(state: State, event: HalfClosed) -> Step:
    """End the utterance because nothing follows."""
    state, effects = _begin_if_any_speech(replace(state, half_closed=True))
    if state.speaking is None:
        return state, effects
    state, more = _end_turn(state, EndReason.HALF_CLOSE, event.at, event.audio_end)
    return state, effects + more


def stalled(state: State) -> Step:
    """Give the open segment's place in the recognizer back while no audio comes."""
    return _close_segment(state) if state.speaking and state.speaking.open_segment else (state, ())


def keep_from(state: State) -> int:
    """Return the first sample that a later step may still send."""
    turn = state.speaking
    if turn is not None and state.settings.judges:
        judged_from = pausing.judged_from(state, turn)
        return min(judged_from, turn.open_segment.start) if turn.open_segment else judged_from
    if turn is not None and turn.open_segment is not None:
        return turn.open_segment.start
    onset = state.heard_to - len(state.endpointer.recent) * WINDOW_SAMPLES
    return max(state.floor, onset - PREROLL - WINDOW_SAMPLES, 0)


def _begin_if_any_speech(state: State) -> Step:
    """Begin a turn if there was speech, though too little of it to be sure."""
    if state.speaking is None and state.endpointer.windows_since_onset() is not None:
        return _begin_turn(replace(state, endpointer=state.endpointer.begin()))
    return state, ()


def _begin_turn(state: State) -> Step:
    onset = state.heard_to - (state.endpointer.windows_since_onset() or 1) * WINDOW_SAMPLES
    turn = Turn(
        state.next_turn,
        onset=onset,
        speech_end=state.heard_to,
        speech_peak=max(state.probabilities, default=0.0),
        speech_mass=sum(state.probabilities),
        speech_windows=sum(state.endpointer.recent),
    )
    state = replace(state, speaking=turn, next_turn=state.next_turn + 1)
    state, effects = _open_segment(state, max(onset - PREROLL, state.floor, 0))
    return state, (Emit(SpeechBegan(turn.number, onset)), *effects)


def _open_segment(state: State, start: int) -> Step:
    assert state.speaking is not None
    segment = Segment(state.next_segment, start=start, sent_to=state.heard_to, covered_to=start)
    turn = state.speaking.with_segment(segment)
    state = replace(
        state,
        speaking=turn,
        next_segment=segment.number + 1,
        withholding=False,
        quiet=None,
    )
    return state, (OpenSegment(turn.number, segment.number), SendAudio(segment.number, start, state.heard_to))


def _feed(state: State, probability: float, *, speech: bool) -> Step:
    """Send, withholds or cuts, now that another window of the utterance was heard."""
    assert state.speaking is not None
    segment = state.speaking.open_segment
    silence = state.endpointer.trailing_silence
    if segment is None:
        if not speech:
            return state, ()
        dropped = _dropped_speculation(state)
        state = replace(state, speaking=replace(state.speaking, speculation=None, is_speculative=False))
        state, opening = _open_segment(state, max(state.heard_to - WINDOW_SAMPLES - PREROLL, state.floor))
        return state, opening + dropped
    long_enough = state.heard_to - segment.start >= SOFT_LIMIT
    if silence >= PAUSE_LIMIT or (long_enough and silence >= SOFT_PAUSE):
        return _close_segment(state)
    if state.withholding and not speech:
        return state, ()
    if state.heard_to - segment.start >= HARD_LIMIT:
        return _cut(state, segment)
    if state.heard_to - segment.start >= _CUT_FROM:
        state = replace(state, quiet=_quieter(state, probability))
    pausing = silence >= SPECULATION_WINDOWS or state.endpointer.stop_is_likely
    return _send(state, segment, pausing=pausing)


def _send(state: State, segment: Segment, *, pausing: bool) -> Step:
    assert state.speaking is not None
    effects: tuple[Effect, ...] = (
        SendAudio(segment.number, segment.sent_to, state.heard_to, decode=pausing and state.settings.speculates),
    )
    segment = replace(segment, sent_to=state.heard_to)
    if pausing and state.settings.speculates:
        segment, reading = _read_again(state, segment)
        effects += reading
    turn = state.speaking.with_segment(segment)
    if not pausing and (turn.speculation is not None or turn.is_speculative or turn.end_is_likely):
        # A speculation of the pause was not the whole of it.
        effects += _dropped_speculation(state)
        turn = replace(turn, speculation=None, is_speculative=False, end_is_likely=False)
    return replace(state, speaking=turn, withholding=pausing), effects


def _dropped_speculation(state: State) -> tuple[Effect, ...]:
    assert state.speaking is not None
    return count_speculation(state, SpeculationFate.RESUMED) if state.speaking.is_speculative else ()


def _quieter(state: State, probability: float) -> QuietPoint:
    """Return the least likely speech in a segment's second half."""
    best = state.quiet
    if best is None or probability <= best.probability:
        return QuietPoint(probability, state.heard_to - WINDOW_SAMPLES // 2)
    return best


def _cut(state: State, segment: Segment) -> Step:
    """Cut an overlong segment at its quietest; recognize its head anew."""
    assert state.speaking is not None
    at = state.quiet.sample if state.quiet else state.heard_to
    head = Segment(
        state.next_segment, segment.start, at, text=segment.text, covered_to=at, closing=True, told=segment.told
    )
    kept = tuple(other for other in state.speaking.segments if other.number != segment.number)
    head, reading = _read_again(state, head)
    dropped = _dropped_speculation(state)
    turn = replace(state.speaking, segments=(*kept, head), speculation=None, is_speculative=False)
    state = replace(state, speaking=turn, next_segment=head.number + 1, floor=at)
    state, opening = _open_segment(state, at)
    effects: tuple[Effect, ...] = (
        AbandonSegment(segment.number),
        OpenSegment(turn.number, head.number),
        SendAudio(head.number, head.start, at),
        CloseSegment(head.number),
        *reading,
    )
    return state, effects + opening + dropped


def _close_segment(state: State) -> Step:
    assert state.speaking is not None
    segment = state.speaking.open_segment
    if segment is None:
        return state, ()
    segment, reading = _read_again(state, replace(segment, closing=True, final=segment.settled))
    turn = state.speaking.with_segment(segment)
    state = replace(state, speaking=turn, withholding=False, floor=segment.sent_to)
    return state, (CloseSegment(segment.number), *reading)


def _read_again(state: State, segment: Segment) -> tuple[Segment, tuple[Effect, ...]]:
    """Have all that was sent of a segment read by another recognizer, once."""
    assert state.speaking is not None
    if not state.settings.reads_again or segment.reread_to == segment.sent_to:
        return segment, ()
    read = ReadAgain(state.speaking.number, segment.number, segment.start, segment.sent_to)
    return replace(segment, reread_to=segment.sent_to), (read,)


def _end_turn(state: State, reason: EndReason, at: float, audio_end: int, request_id: str = "") -> Step:
    """Close what is open, and hands the turn over to those that await their reply."""
    assert state.speaking is not None
    effects: tuple[Effect, ...] = ()
    segment = state.speaking.open_segment
    is_unheard = audio_end - state.heard_to >= WINDOW_SAMPLES
    if segment is not None and audio_end > segment.sent_to and (is_unheard or not state.withholding):
        effects = (SendAudio(segment.number, segment.sent_to, audio_end),)
        turn = state.speaking.with_segment(replace(segment, sent_to=audio_end))
        state = replace(state, speaking=turn)
    state, closing = _close_segment(state)
    assert state.speaking is not None
    given_up = pausing.give_up(state.speaking)
    pause = replace(state.speaking.pause, awaited=False) if state.speaking.pause else None
    turn = replace(state.speaking, ended_at=at, reason=reason, request_id=request_id, pause=pause)
    silence = state.heard_to - turn.speech_end if reason is EndReason.SILENCE else 0
    state = replace(
        state, speaking=None, endpointer=state.endpointer.end(), withholding=False, quiet=None, floor=audio_end
    )
    ended = Emit(SpeechEnded(turn.number, turn.speech_end, reason, request_id, silence))
    state, replying_effects = replying.await_reply(state, turn)
    return state, (*given_up, *effects, *closing, ended, *replying_effects)
