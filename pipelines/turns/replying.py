"""What a conversation does once there is text: guessing, understanding, and replying inside the budget."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from pipelines.messages import Notice, NoticeCode, Reply, Status, Transcript
from pipelines.stages.registry import ASR
from pipelines.turns.effects import CountGuess, Emit, GuessFate, RunStage, SetDeadline
from pipelines.turns.stability import told_text
from pipelines.turns.turn import Guess, Segment, Turn

if TYPE_CHECKING:
    from pipelines.models.ports import Timing
    from pipelines.stages.registry import PlannedStage
    from pipelines.turns.effects import Effect
    from pipelines.turns.events import (
        DeadlinePassed,
        RecognitionFailed,
        StageFailed,
        StageFinished,
        StageYielded,
        Transcribed,
        Typed,
    )
    from pipelines.turns.state import State

    Step = tuple[State, tuple[Effect, ...]]

_FRAGMENT = "Words are missing, so that nothing is made of the others: say it again"


def await_reply(state: State, turn: Turn) -> Step:
    """Takes over a turn whose utterance has just ended: sets its deadline and goes as far as is possible."""
    assert turn.ended_at is not None
    state, effects = _advance(state.with_ending(turn), turn)
    if not state.settings.replies:
        return state, effects
    return state, (SetDeadline(turn.number, turn.ended_at + state.settings.budget_seconds), *effects)


def typed(state: State, event: Typed) -> Step:
    """Answers a typed turn as if it had been said."""
    turn = Turn(state.next_turn, ended_at=event.at, text_is_final=True, request_id=event.request_id)
    state, effects = _guess(replace(state, next_turn=turn.number + 1), turn, event.text)
    return _hand_over(state, effects, turn.number)


def _hand_over(state: State, effects: tuple[Effect, ...], number: int) -> Step:
    state, more = await_reply(state, _find(state, number))
    return state, effects + more


def transcribed(state: State, event: Transcribed) -> Step:
    """Takes in what the recognizer made of a segment."""
    found = _unfinished(state, event.segment)
    if found is None:
        return state, ()
    turn, segment = found
    hypothesis = event.hypothesis
    covered_to = segment.start + hypothesis.covered_samples
    stable_before = turn.stable_text
    segment = replace(
        segment,
        text=hypothesis.text,
        told=told_text(segment, hypothesis, withholding=state.withholding),
        covered_to=covered_to,
        settled_to=covered_to if hypothesis.is_settled else segment.settled_to,
        alternatives=hypothesis.alternatives,
        words=tuple(
            dataclasses.replace(word, start=segment.start + word.start, end=segment.start + word.end)
            for word in hypothesis.words
        ),
    )
    segment = replace(segment, final=segment.closing and (hypothesis.is_final or segment.settled))
    turn = turn.with_segment(segment)
    if hypothesis.timing.compute_seconds > 0 or turn.asr_timing is None:
        turn = replace(turn, asr_timing=hypothesis.timing)
    effects: tuple[Effect, ...] = ()
    changed = turn.stable_text != stable_before and bool(turn.stable_text)
    if changed and state.settings.interim_results and not turn.recognized:
        effects = (Emit(turn.transcript(is_final=False)),)
    state, telling = tell_likely_end(_put(state, turn))
    state, more = _advance(state, _find(state, turn.number))
    return state, effects + telling + more


def tell_likely_end(state: State) -> Step:
    """Tells what was said until the end became likely, once all of it is recognized."""
    turn = state.speaking
    if turn is None or not turn.end_is_likely or not turn.decoded:
        return state, ()
    told = replace(state, speaking=replace(turn, end_is_likely=False))
    if not state.settings.interim_results or not turn.text:
        return told, ()
    return told, (Emit(turn.transcript(is_final=False, end_is_likely=True)),)


def recognition_failed(state: State, event: RecognitionFailed) -> Step:
    """Keeps what was recognized before the recognizer gave up, and makes nothing of it: words are missing."""
    found = _unfinished(state, event.segment)
    if found is None:
        return state, ()
    turn, segment = found
    effects: tuple[Effect, ...] = ()
    if not turn.asr_failed:
        effects = (Emit(_failure(turn, ASR, f"{event.message}. {_FRAGMENT}")),)
    if turn.guessed_early:
        effects += count_guess(state, GuessFate.DIFFERED)
    turn = replace(turn.with_segment(replace(segment, closing=True, final=True)), asr_failed=True)
    turn = replace(turn, guess=None, guessed_early=False)
    state, more = _advance(_put(state, turn), turn)
    return state, effects + more


def stage_yielded(state: State, event: StageYielded) -> Step:
    """Keeps the output of a stage, if the text that it works on still counts."""
    found = _guessed(state, event.turn, event.guess)
    if found is None:
        return state, ()
    turn, guess = found
    outputs = guess.outputs | {event.stage: event.output}
    return _put(state, replace(turn, guess=replace(guess, outputs=outputs))), ()


def stage_finished(state: State, event: StageFinished) -> Step:
    """Takes the last output of a stage for its result, and starts the stages that need it."""
    found = _guessed(state, event.turn, event.guess)
    if found is None:
        return state, ()
    turn, guess = found
    guess, effects = _start_stages(turn.number, replace(guess, finished=(*guess.finished, event.stage)))
    turn = replace(turn, guess=guess)
    state, more = _advance(_put(state, turn), turn)
    return state, effects + more


def stage_failed(state: State, event: StageFailed) -> Step:
    """Goes on without a stage that failed; the caller learns of it with the reply, if this guess becomes that."""
    found = _guessed(state, event.turn, event.guess)
    if found is None:
        return state, ()
    turn, guess = found
    turn = replace(turn, guess=replace(guess, failures=(*guess.failures, (event.stage, event.message))))
    return _advance(_put(state, turn), turn)


def deadline_passed(state: State, event: DeadlinePassed) -> Step:
    """Replies with what there is."""
    turn = next((turn for turn in state.ending if turn.number == event.turn), None)
    if turn is None or turn.replied:
        return state, ()
    return _reply(state, turn)


def _advance(state: State, turn: Turn) -> Step:
    """Does whatever has become possible for ``turn``: guess its text, finish its transcript, reply."""
    effects: tuple[Effect, ...] = ()
    if turn.ended_at is None:
        return _guess_early(state, turn)
    if turn.recognized and not turn.text_is_final:
        turn = turn.without_text() if turn.lacks_speech(state.settings.endpointing.speech_begins) else turn
        final = turn.final_transcript(state.settings.alternatives)
        turn = replace(turn, text_is_final=True, untold=(*turn.untold, final))
        state = state.with_ending(turn)
        hit = turn.guess is not None and turn.guess.text == turn.text
        if turn.guessed_early:
            effects += count_guess(state, GuessFate.HIT if hit else GuessFate.DIFFERED)
        if not hit:
            state, more = _guess(state, replace(turn, guessed_early=False), turn.text)
            effects += more
            turn = _find(state, turn.number)
    if turn.text_is_final and turn.guess and not turn.guess.missing and not turn.replied:
        state, more = _reply(state, turn)
        return state, effects + more
    return _forget_if_done(state, turn), effects


def _guess_early(state: State, turn: Turn) -> Step:
    """Takes the text of a pause for all that will be said, and a better text of the same pause in its place."""
    speculable = state.settings.speculates and state.withholding and turn.open_segment is not None and turn.decoded
    if not speculable or turn.asr_failed or (turn.guess is not None and turn.guess.text == turn.text):
        return state, ()
    dropped = count_guess(state, GuessFate.DIFFERED) if turn.guess else ()
    state, effects = _guess(state, replace(turn, guessed_early=True), turn.text)
    return state, (*dropped, *effects, *count_guess(state, GuessFate.MADE))


def count_guess(state: State, fate: GuessFate) -> tuple[Effect, ...]:
    """Counts what became of a guess, where guessing saves any work."""
    return (CountGuess(fate),) if state.settings.replies else ()


def _guess(state: State, turn: Turn, text: str) -> Step:
    """Takes ``text`` for what is meant, and starts the stages on it; no stage works on no text."""
    number = state.next_guess
    guess = Guess(number, text, sent_to=turn.sent_to, is_fragment=turn.asr_failed)
    effects: tuple[Effect, ...] = ()
    if not guess.is_fragment and text and not turn.replied and state.settings.replies:
        guess, effects = _start_stages(turn.number, replace(guess, stages=state.settings.stages))
    elif not guess.is_fragment:
        guess = replace(guess, **_of_no_text(state.settings.stages))
    turn = replace(turn, guess=guess)
    return _put(replace(state, next_guess=number + 1), turn), effects


def _start_stages(turn: int, guess: Guess) -> tuple[Guess, tuple[Effect, ...]]:
    """Starts the stages of a guess that have all that they need."""
    ready = guess.runnable
    if not ready:
        return guess, ()
    effects = tuple(
        RunStage(turn, guess.number, stage.name, guess.text, {name: guess.outputs[name] for name in stage.after})
        for stage in ready
    )
    return replace(guess, started=(*guess.started, *(stage.name for stage in ready))), effects


def _of_no_text(stages: tuple[PlannedStage, ...]) -> dict[str, Any]:
    """Returns the fields of a guess in which nothing was said: the results of stages that have one for it."""
    known = tuple(stage for stage in stages if stage.of_no_text is not None)
    names = tuple(stage.name for stage in known)
    return {"stages": known, "outputs": {it.name: it.of_no_text for it in known}, "started": names, "finished": names}


def _reply(state: State, turn: Turn) -> Step:
    """Replies with what there is: all of it, or what was ready when the budget was used up."""
    assert turn.ended_at is not None
    guess = _meant(state, turn)
    overran = guess.missing if turn.text_is_final else (ASR, *guess.missing)
    failed = turn.asr_failed or guess.failures
    status = Status.PARTIAL if overran else Status.DEGRADED if failed else Status.COMPLETE
    reply = Reply(
        turn=turn.number,
        transcript=guess.text,
        results=guess.results,
        status=status,
        overran=overran,
        ended_at_seconds=turn.ended_at,
        speculated=turn.guessed_early,
        timings=_timings(turn, guess),
        request_id=turn.request_id,
    )
    turn = replace(turn, replied=True)
    if state.settings.replies:
        failures = (_failure(turn, stage, reason) for stage, reason in guess.failures)
        turn = replace(turn, untold=(*turn.untold, *failures, reply))
    return _forget_if_done(state.with_ending(turn), turn), ()


def _meant(state: State, turn: Turn) -> Guess:
    """Returns the guess that a reply is made of: one at a text that covers all that was said."""
    if turn.guess and (turn.text_is_final or turn.guess.sent_to >= turn.sent_to):
        return turn.guess
    return Guess(0, turn.text, () if turn.asr_failed else state.settings.stages, is_fragment=turn.asr_failed)


def tell_in_order(state: State) -> Step:
    """Tells final transcripts and replies, each in the order in which their turns ended.

    Audio that comes faster than speech has turns recognized and answered side by side, and a short one may be done
    before the long one that was said first. A reply does not wait for transcripts of other turns: that of the turn
    before is told by its own deadline, which is no later, and so no reply is late because of the order.
    """
    effects: tuple[Effect, ...] = ()
    texts_wait = replies_wait = False
    for turn in state.ending:
        waiting = tuple(it for it in turn.untold if (texts_wait if isinstance(it, Transcript) else replies_wait))
        effects += tuple(Emit(message) for message in turn.untold if message not in waiting)
        texts_wait = texts_wait or not turn.text_is_final or any(isinstance(it, Transcript) for it in waiting)
        replies_wait = replies_wait or not turn.replied or any(isinstance(it, Reply) for it in waiting)
        if waiting != turn.untold:
            told = replace(turn, untold=waiting)
            state = _forget_if_done(state.with_ending(told), told)
    return state, effects


def _timings(turn: Turn, guess: Guess) -> dict[str, Timing]:
    """What each stage that computed anything cost."""
    timings = {ASR: turn.asr_timing, **{stage: result.timing for stage, result in guess.results.items()}}
    return {stage: timing for stage, timing in timings.items() if timing is not None}


def _failure(turn: Turn, stage: str, message: str) -> Notice:
    return Notice(NoticeCode.STAGE_FAILED, f"{stage} failed: {message}", turn.number, turn.request_id)


def _forget_if_done(state: State, turn: Turn) -> State:
    if turn.untold or not (turn.replied and turn.text_is_final):
        return state
    return replace(state, ending=tuple(other for other in state.ending if other.number != turn.number))


def _put(state: State, turn: Turn) -> State:
    """Returns the state with ``turn`` where it belongs: speaking, or ending."""
    if state.speaking is not None and state.speaking.number == turn.number:
        return replace(state, speaking=turn)
    return state.with_ending(turn)


def _find(state: State, number: int) -> Turn:
    return next(turn for turn in state.turns if turn.number == number)


def _unfinished(state: State, segment: int) -> tuple[Turn, Segment] | None:
    """Finds the turn and the segment with this number; None when its text is final, or it was abandoned."""
    candidates = ((turn, held) for turn in state.turns for held in turn.segments if not held.final)
    return next(((turn, held) for turn, held in candidates if held.number == segment), None)


def _guessed(state: State, turn: int, guess: int) -> tuple[Turn, Guess] | None:
    """Finds a turn that still holds this guess; None when it was dropped, or answered without it."""
    candidates = (held for held in state.turns if held.number == turn and not held.replied)
    return next(((held, held.guess) for held in candidates if held.guess and held.guess.number == guess), None)
