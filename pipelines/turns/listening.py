"""Listening: opening, feeding, cutting and closing segments.

An utterance is one segment as a rule. A long one is cut, at a pause once it has lasted ``SOFT_LIMIT``, and where it was
quietest when it reaches ``HARD_LIMIT`` without one; a pause of ``PAUSE_LIMIT`` also closes the segment, so that someone
who thinks holds no place in the recognizer. Silence is not sent: after ``SPECULATION_WINDOWS`` of it the recognizer
is asked for all it has, and what follows is withheld until speech resumes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from pipelines.audio.formats import MODEL_RATE_HZ
from pipelines.data.messages import EndReason, Notice, NoticeCode, SpeechBegan, SpeechEnded
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
from pipelines.vad.voice_activity import WINDOW_SAMPLES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipelines.turns.effects import Effect
    from pipelines.turns.events import EndRequested, HalfClosed, Heard, PauseJudged, Window
    from pipelines.vad.endpointing import Endpointer

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

_LOOKED_AT = frozenset((*pausing.JUDGED_WINDOWS, SOFT_PAUSE, PAUSE_LIMIT))
"""Windows of silence at which something may follow while audio is withheld."""


class _Run(NamedTuple):
    """Windows that were heard in one go.

    Attributes:
        spoken: probabilities of speech of those in which somebody speaks.
        speech_end: one past the last sample of speech; 0 where there is none.
        silences: first and last sample of each window of the utterance in which nobody speaks.
        boundary: what the last one completes.
    """

    spoken: list[float]
    speech_end: int
    silences: list[tuple[int, int]]
    boundary: Boundary | None


def hear(state: State, event: Heard) -> Step:
    """Take windows in, up to the first at which anything changes.

    That one begins or ends an utterance, a pause, or silence that is looked at; those behind it come again.
    """
    if state.speaking is None and state.heard_to + WINDOW_SAMPLES <= state.floor:
        # The caller has ended the utterance that these belong to, before they were heard.
        early = min(len(event.windows), (state.floor - state.heard_to) // WINDOW_SAMPLES)
        return replace(state, heard_to=state.heard_to + early * WINDOW_SAMPLES), ()
    state, run = _listen(state, event.windows)
    turn = state.speaking
    if turn is None:
        return _begin_turn(state) if run.boundary is Boundary.START else (state, ())
    if run.spoken:
        turn = replace(
            turn,
            speech_end=run.speech_end,
            speech_peak=max(turn.speech_peak, *run.spoken),
            speech_mass=sum(run.spoken, turn.speech_mass),
            speech_windows=turn.speech_windows + len(run.spoken),
        )
    if state.settings.diarizes:
        for silence in run.silences:
            turn = turn.with_silence(*silence)
    if run.boundary is Boundary.LIKELY_STOP:
        turn = replace(turn, end_is_likely=True)
    state = replace(state, speaking=turn)
    effects: tuple[Effect, ...] = ()
    if state.was_speech and turn.pause is not None:
        state, effects = pausing.resume(state)
    state, more = _feed(state)
    effects += more
    if run.boundary is Boundary.LIKELY_STOP:
        state, more = replying.tell_likely_end(state)
        effects += more
    if run.boundary is Boundary.STOP:
        state, more = _end_turn(state, EndReason.SILENCE, event.at, state.heard_to)
        return state, effects + more
    if state.endpointer.trailing_silence >= SPECULATION_WINDOWS:
        state, more = pausing.follow(state)
        effects += more
    return state, effects


def _listen(state: State, windows: Sequence[Window]) -> tuple[State, _Run]:
    """Follow speech and silence up to the first window at which anything changes."""
    settings, turn = state.settings, state.speaking
    config = settings.endpointing
    segment = turn.open_segment if turn is not None else None
    silence = state.silence_that_ends
    awaits_judgement = turn is not None and turn.pause is not None and state.awaits_judgement
    endpointer, speech, background, quiet = state.endpointer, state.was_speech, state.background, state.quiet
    heard_to, speech_end, length = state.heard_to, 0, 0
    heard: list[float] = []
    spoken: list[float] = []
    silences: list[tuple[int, int]] = []
    boundary: Boundary | None = None
    for probability, is_background in windows:
        heard_to += WINDOW_SAMPLES
        heard.append(probability)
        speech = not is_background and probability >= (config.speech_ends if speech else config.speech_begins)
        background = not speech and (background or is_background)
        # The model of the end of a turn takes a voice in the background for a speaker who goes on.
        endpointer, boundary = endpointer.push(speech=speech, stop_after=None if background else silence)
        if segment is not None:
            length = heard_to - segment.start
            if boundary is Boundary.STOP and length - WINDOW_SAMPLES < settings.join_samples:
                # Speech after the pause still fits into the segment.
                endpointer, boundary = endpointer.begin(), None
            if _CUT_FROM <= length < HARD_LIMIT and (speech or not state.withholding):
                quiet = _quieter(quiet, probability, heard_to)
        if speech:
            spoken.append(probability)
            speech_end = heard_to
        else:
            silences.append((heard_to - WINDOW_SAMPLES, heard_to))
        if boundary or awaits_judgement or (turn and _turns(state, turn, endpointer, length, speech=speech)):
            break
    state = replace(
        state,
        background=background,
        endpointer=endpointer,
        was_speech=speech,
        heard_to=heard_to,
        probabilities=(*state.probabilities, *heard)[-config.start_windows :],
        quiet=quiet,
    )
    return state, _Run(spoken, speech_end, silences, boundary)


def _turns(state: State, turn: Turn, endpointer: Endpointer, length: int, *, speech: bool) -> bool:
    """Return whether more is to be done than to send, or withhold, a window.

    Args:
        state: before the windows that came with it.
        turn: under way.
        endpointer: with the window.
        length: samples of the open segment, with those of the window; 0: none is open.
        speech: whether somebody speaks in it.
    """
    if speech:
        return turn.pause is not None or state.withholding or not length or length >= HARD_LIMIT
    silence = endpointer.trailing_silence
    if silence < SPECULATION_WINDOWS:
        return length >= HARD_LIMIT and not state.withholding
    is_paused = not length or (state.withholding and length < SOFT_LIMIT)
    return not is_paused or silence in _LOOKED_AT or (turn.pause is None and state.settings.judges)


def pause_judged(state: State, event: PauseJudged) -> Step:
    """End the utterance if the pause is long enough for its probability."""
    turn = state.speaking
    if turn is None or turn.number != event.turn or turn.pause is None or turn.pause.number != event.pause:
        return state, ()
    state, effects = pausing.take_judgement(state, event.probability)
    windows = None if state.background else state.silence_that_ends
    if windows is not None and state.endpointer.trailing_silence >= windows:
        state, more = _end_turn(state, EndReason.SILENCE, event.at, state.heard_to)
    else:
        state, more = pausing.ask(state)
    return state, effects + more


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
        judged_from = state.judged_from
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


def _feed(state: State) -> Step:
    """Send, withhold or cut, now that more of the utterance was heard."""
    assert state.speaking is not None
    segment = state.speaking.open_segment
    silence = state.endpointer.trailing_silence
    if segment is None:
        if not state.was_speech:
            return state, ()
        dropped = _dropped_speculation(state)
        state = replace(state, speaking=replace(state.speaking, speculation=None, is_speculative=False))
        state, opening = _open_segment(state, max(state.heard_to - WINDOW_SAMPLES - PREROLL, state.floor))
        return state, opening + dropped
    long_enough = state.heard_to - segment.start >= SOFT_LIMIT
    if silence >= PAUSE_LIMIT or (long_enough and silence >= SOFT_PAUSE):
        return _close_segment(state)
    if state.withholding and not state.was_speech:
        return state, ()
    if state.heard_to - segment.start >= HARD_LIMIT:
        return _cut(state, segment)
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


def _quieter(best: QuietPoint | None, probability: float, heard_to: int) -> QuietPoint:
    """Return the least likely speech in a segment's second half so far."""
    if best is None or probability <= best.probability:
        return QuietPoint(probability, heard_to - WINDOW_SAMPLES // 2)
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
