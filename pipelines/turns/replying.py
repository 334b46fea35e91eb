"""Replies: results of recognition and stages, budgets and completions."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from msgspec.structs import replace

from pipelines.data.messages import Notice, NoticeCode, Prompt, Reply, Status, Transcript
from pipelines.data.stages import ASR, DIALOG, SPEECH, PlannedStage
from pipelines.speakers.spans import main_speaker, within, without_silence
from pipelines.turns import pausing
from pipelines.turns.effects import CommitDialog, Emit, SetDeadline, SpeculationFate
from pipelines.turns.speculating import (
    count_speculation,
    find_speculation,
    in_order_stages,
    meant,
    start_stages,
    take_text,
)
from pipelines.turns.stability import told_text
from pipelines.turns.turn import SecondOpinion, Segment, Speculation, Turn

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pipelines.data.recognition import Hypothesis, TimedWord, Timing
    from pipelines.data.stages import StageOutput
    from pipelines.turns.effects import Effect
    from pipelines.turns.events import (
        DeadlinePassed,
        Prompted,
        ReadBySecond,
        RecognitionFailed,
        SpeakersFound,
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
    """Take over a finished utterance's turn: set its deadline and go on."""
    setting = deadline(state, turn)
    state, effects = _advance(state.with_ending(turn), turn)
    return state, setting + effects


def typed(state: State, event: Typed) -> Step:
    """Answer a typed turn as if it had been said."""
    turn = Turn(state.next_turn, ended_at=event.at, text_is_final=True, request_id=event.request_id)
    state, effects = take_text(replace(state, next_turn=turn.number + 1), turn, event.text)
    return _hand_over(state, effects, turn.number)


def prompted(state: State, event: Prompted) -> Step:
    """Reply with an agent's own words, as a turn without a caller's."""
    names = tuple(event.outputs)
    speculation = Speculation(
        state.next_speculation,
        "",
        tuple(PlannedStage(name) for name in names),
        dict(event.outputs),
        started=names,
        finished=names,
    )
    turn = Turn(state.next_turn, ended_at=event.at, text_is_final=True, is_prompt=True, speculation=speculation)
    state = replace(state, next_turn=turn.number + 1, next_speculation=speculation.number + 1)
    return _reply(state, turn)


def _hand_over(state: State, effects: tuple[Effect, ...], number: int) -> Step:
    state, more = await_reply(state, state.turn(number))
    return state, effects + more


def transcribed(state: State, event: Transcribed) -> Step:
    """Take in what the recognizer made of a segment."""
    found = unfinished(state, event.segment)
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
        language=hypothesis.language,
        words=_words(segment, hypothesis),
    )
    segment = replace(segment, final=segment.closing and (hypothesis.is_final or segment.settled))
    turn = turn.with_segment(segment)
    if hypothesis.timing.compute_seconds > 0 or turn.asr_timing is None:
        turn = replace(turn, asr_timing=hypothesis.timing)
    effects: tuple[Effect, ...] = ()
    changed = turn.stable_text != stable_before and bool(turn.stable_text)
    if changed and state.settings.interim_results and not turn.recognized:
        effects = (Emit(turn.transcript(is_final=False)),)
    state, more = _text_changed(state.with_turn(turn), turn.number)
    return state, effects + more


def read_by_second(state: State, event: ReadBySecond) -> Step:
    """Take in another recognizer's text, if it covers all that was sent."""
    turn = next((turn for turn in state.turns if turn.number == event.turn and not turn.text_is_final), None)
    segment = next((it for it in turn.segments if it.number == event.segment), None) if turn else None
    if turn is None or segment is None or not segment.awaits_opinion or segment.reread_to != event.stop:
        return state, ()
    opinion, hypothesis = SecondOpinion(event.stop), event.hypothesis
    if hypothesis is not None:
        opinion = SecondOpinion(
            event.stop,
            hypothesis.text,
            hypothesis.alternatives,
            _words(segment, hypothesis),
            hypothesis.language,
        )
    turn = turn.with_segment(replace(segment, opinion=opinion))
    return _text_changed(state.with_turn(turn), turn.number)


def _text_changed(state: State, number: int) -> Step:
    """Go on with a turn whose text may be another, or be final."""
    state, telling = tell_likely_end(state)
    state, correcting = pausing.correct(state, state.turn(number))
    state, more = _advance(state, state.turn(number))
    state, judging = pausing.ask(state)
    return state, telling + correcting + more + judging


def _words(segment: Segment, hypothesis: Hypothesis) -> tuple[TimedWord, ...]:
    """Return the words with times of the conversation."""
    return tuple(
        dataclasses.replace(word, start=segment.start + word.start, end=segment.start + word.end)
        for word in hypothesis.words
    )


def tell_likely_end(state: State) -> Step:
    """Tell what was said until the end became likely, once all of it is recognized."""
    turn = state.speaking
    if turn is None or not turn.end_is_likely or not turn.decoded:
        return state, ()
    told = replace(state, speaking=replace(turn, end_is_likely=False))
    if not state.settings.interim_results or not turn.text:
        return told, ()
    return told, (Emit(turn.transcript(is_final=False, end_is_likely=True)),)


def recognition_failed(state: State, event: RecognitionFailed) -> Step:
    """Keep a failed recognition's text without results: words are missing."""
    found = unfinished(state, event.segment)
    if found is None:
        return state, ()
    turn, segment = found
    effects: tuple[Effect, ...] = ()
    if not turn.asr_failed:
        effects = (Emit(_failure(turn, ASR, f"{event.message}. {_FRAGMENT}")),)
    if turn.is_speculative:
        effects += count_speculation(state, SpeculationFate.DIFFERED)
    waited = turn.awaits_recovery
    turn = replace(turn.with_segment(replace(segment, closing=True, final=True)), asr_failed=True)
    turn = replace(turn, speculation=None, is_speculative=False)
    effects += _due_again(state, turn, waited=waited)
    state, more = _advance(state.with_turn(turn), turn)
    return state, effects + more


def stage_yielded(state: State, event: StageYielded) -> Step:
    """Keep the output of a stage, if the text that it works on still counts."""
    found = find_speculation(state, event.turn, event.speculation)
    if found is None:
        return state, ()
    turn, speculation = found
    outputs = speculation.outputs | {event.stage: event.output}
    return state.with_turn(replace(turn, speculation=replace(speculation, outputs=outputs))), ()


def stage_finished(state: State, event: StageFinished) -> Step:
    """Take a stage's last output as its result, and start dependent stages."""
    found = find_speculation(state, event.turn, event.speculation)
    if found is None:
        return state, ()
    turn, speculation = found
    finished = (*speculation.finished, event.stage)
    speculation, effects = start_stages(state, turn, replace(speculation, finished=finished))
    turn = replace(turn, speculation=speculation)
    state, more = _advance(state.with_turn(turn), turn)
    return state, effects + more


def stage_failed(state: State, event: StageFailed) -> Step:
    """Go on without a failed stage; the caller learns of it with the reply."""
    found = find_speculation(state, event.turn, event.speculation)
    if found is None:
        return state, ()
    turn, speculation = found
    failures = (*speculation.failures, (event.stage, event.message))
    lost = tuple(stage for stage in speculation.lost if stage != event.stage)
    waited = turn.awaits_recovery
    turn = replace(turn, speculation=replace(speculation, failures=failures, lost=lost))
    state, effects = _advance(state.with_turn(turn), turn)
    return state, _due_again(state, turn, waited=waited) + effects


def speakers_found(state: State, event: SpeakersFound) -> Step:
    """Take in the speakers of an utterance, for which its final transcript waits."""
    turn = next((turn for turn in state.ending if turn.number == event.turn), None)
    if turn is None or turn.speakers is not None:
        return state, ()
    spans = without_silence(within(event.spans, turn.onset, turn.speech_end), turn.silences)
    turn = replace(turn, speakers=spans)
    return _advance(state.with_ending(turn), turn)


def deadline_passed(state: State, event: DeadlinePassed) -> Step:
    """Reply with what there is; where that was done, gives up what is still missing."""
    turn = next((turn for turn in state.ending if turn.number == event.turn), None)
    if turn is None or turn.is_complete or turn.awaits_recovery:
        return state, ()
    return _reply(state, turn) if turn.partial is None else _give_up(state, turn)


def _advance(state: State, turn: Turn) -> Step:
    """Do what is possible for ``turn``: speculate, finish the text, reply."""
    effects: tuple[Effect, ...] = ()
    if turn.ended_at is None:
        return _speculate(state, turn)
    is_awaited = turn.awaits_opinion or (state.settings.diarizes and turn.speakers is None)
    if turn.recognized and not turn.text_is_final and not is_awaited:
        if turn.is_echo:
            state, turn = replace(state, hears_itself=True), turn.without_text()
        elif turn.lacks_speech(state.settings.endpointing.speech_begins):
            turn = turn.without_text()
        state, effects = pausing.correct(state, turn)
        final = turn.final_transcript(state.settings.alternatives)
        turn = replace(turn, text_is_final=True, untold=(*turn.untold, final))
        state = state.with_ending(turn)
        hit = turn.speculation is not None and turn.speculation.text == turn.text
        if turn.is_speculative:
            effects += count_speculation(state, SpeculationFate.HIT if hit else SpeculationFate.DIFFERED)
        if not hit:
            state, more = take_text(state, replace(turn, is_speculative=False), turn.text)
            effects += more
            turn = state.turn(turn.number)
    if turn.text_is_final and turn.speculation and not turn.speculation.missing and not turn.is_complete:
        state, more = _reply(state, turn)
        return state, effects + more
    return _forget_if_done(state, turn), effects


def _speculate(state: State, turn: Turn) -> Step:
    """Take a pause's text for the whole turn, or a better text of it."""
    speculable = state.settings.speculates and state.withholding and turn.open_segment is not None and turn.decoded
    if not speculable or turn.asr_failed or (turn.speculation is not None and turn.speculation.text == turn.text):
        return state, ()
    dropped = count_speculation(state, SpeculationFate.DIFFERED) if turn.speculation else ()
    state, effects = take_text(state, replace(turn, is_speculative=True), turn.text)
    return state, (*dropped, *effects, *count_speculation(state, SpeculationFate.MADE))


def _reply(state: State, turn: Turn) -> Step:
    """Reply with all, or at the deadline with what is there; or complete."""
    speculation = meant(state, turn)
    results, missing = _ready(turn, speculation)
    failed = turn.asr_failed or speculation.failures
    status = Status.PARTIAL if missing else Status.DEGRADED if failed else Status.COMPLETE
    return _make_reply(state, turn, speculation, results, status, missing)


def _give_up(state: State, turn: Turn) -> Step:
    """Complete a reply without what is not ready long after the budget."""
    speculation = meant(state, turn)
    results, missing = _ready(turn, speculation)
    reason = f"it was not ready {state.settings.late_seconds:g} s after the time for the reply: try again later"
    failures = (*speculation.failures, *((stage, reason) for stage in missing))
    return _make_reply(state, turn, replace(speculation, failures=failures), results, Status.DEGRADED)


def _ready(turn: Turn, speculation: Speculation) -> tuple[dict[str, StageOutput], tuple[str, ...]]:
    """Return the results that can be told, and the names of what is missing.

    While the text is not final, nothing is spoken, and nothing happens that later turns depend on.
    """
    if turn.text_is_final:
        return speculation.results, speculation.missing
    held_back = in_order_stages(speculation.stages) | {SPEECH}
    results = {name: result for name, result in speculation.results.items() if name not in held_back}
    failed = {stage for stage, _ in speculation.failures}
    missing = speculation.missing
    names = (it.name for it in speculation.stages if it.name in missing or it.name in held_back - failed)
    return results, (ASR, *names)


def _make_reply(
    state: State,
    turn: Turn,
    speculation: Speculation,
    results: dict[str, StageOutput],
    status: Status,
    missing: tuple[str, ...] = (),
) -> Step:
    """Make a reply to be sent in order; it may replace an unsent PARTIAL one."""
    assert turn.ended_at is not None
    partial = turn.partial
    if turn.committed is not None and DIALOG in results:
        results = {**results, DIALOG: turn.committed.told_again}
    kind = Prompt if turn.is_prompt else Reply
    reply = kind(
        turn=turn.number,
        transcript=speculation.text,
        results=results,
        status=status,
        overran=missing if partial is None else partial.overran,
        ended_at_seconds=turn.ended_at,
        speculated=turn.is_speculative,
        timings=_timings(turn, results),
        request_id=turn.request_id,
        recovered=turn.recovered_at is not None,
        completes=partial is not None and partial not in turn.untold,
        speaker=main_speaker(turn.speakers or ()),
    )
    failures = tuple(failure for failure in speculation.failures if failure not in turn.told_failures)
    if state.settings.replies:
        notices = (_failure(turn, stage, reason) for stage, reason in failures)
        kept = (message for message in turn.untold if message is not partial)
        turn = replace(turn, untold=(*kept, *notices, reply))
    if status is Status.PARTIAL:
        turn = replace(turn, partial=reply, told_failures=(*turn.told_failures, *failures))
        return state.with_ending(turn), deadline(state, turn)
    turn = replace(turn, is_complete=True)
    return _forget_if_done(state.with_ending(turn), turn), ()


def tell_in_order(state: State) -> Step:
    """Send final transcripts and replies in the turns' order.

    Audio that comes faster than speech has turns recognized and answered side by side, and a short one may be done
    before the long one that was said first. A reply does not wait for transcripts of other turns: that of the turn
    before is told by its own deadline, which is no later, and so no reply is late because of the order.

    A reply with a step of a dialog is told when that step counts.
    """
    effects: tuple[Effect, ...] = ()
    texts_wait = replies_wait = False
    for turn in state.ending:
        step = None if replies_wait else turn.uncommitted
        held = replies_wait or step is not None
        waiting = tuple(it for it in turn.untold if (texts_wait if isinstance(it, Transcript) else held))
        effects += tuple(Emit(message) for message in turn.untold if message not in waiting)
        commits = turn.commits or step is not None
        if step is not None and not turn.commits:
            effects += (CommitDialog(turn.number, step),)
        texts_wait = texts_wait or not turn.text_is_final or any(isinstance(it, Transcript) for it in waiting)
        replies_wait = replies_wait or not turn.replied or any(isinstance(it, Reply) for it in waiting)
        if waiting != turn.untold or commits is not turn.commits:
            told = replace(turn, untold=waiting, commits=commits)
            state = _forget_if_done(state.with_ending(told), told)
    return state, effects


def _due_again(state: State, turn: Turn, *, waited: bool) -> tuple[Effect, ...]:
    """Reset the deadline of a turn that waits for no lost model any more."""
    return deadline(state, turn) if waited else ()


def deadline(state: State, turn: Turn) -> tuple[Effect, ...]:
    """Set a turn's reply deadline, or then its completion deadline."""
    due = turn.due(state.settings.budget_seconds)
    if due is None or turn.awaits_recovery or not state.settings.replies:
        return ()
    return (SetDeadline(turn.number, due if turn.partial is None else due + state.settings.late_seconds),)


def _timings(turn: Turn, results: Mapping[str, StageOutput]) -> dict[str, Timing]:
    """Return the cost of each stage that computed something."""
    timings = {ASR: turn.asr_timing, **{stage: result.timing for stage, result in results.items()}}
    return {stage: timing for stage, timing in timings.items() if timing is not None}


def _failure(turn: Turn, stage: str, message: str) -> Notice:
    return Notice(NoticeCode.STAGE_FAILED, f"{stage} failed: {message}", turn.number, turn.request_id)


def _forget_if_done(state: State, turn: Turn) -> State:
    if turn.untold or not (turn.is_complete and turn.text_is_final):
        return state
    return replace(state, ending=tuple(other for other in state.ending if other.number != turn.number))


def unfinished(state: State, segment: int) -> tuple[Turn, Segment] | None:
    """Find the turn and segment of a number; None if final or abandoned."""
    candidates = ((turn, held) for turn in state.turns for held in turn.segments if not held.final)
    return next(((turn, held) for turn, held in candidates if held.number == segment), None)
