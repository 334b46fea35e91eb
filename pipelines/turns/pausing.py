"""Pauses in an utterance: when to judge them, and what callers get.

The model is asked once all text of a pause is recognized, and again while the pause lasts. It answers beside the
speculations, so that no reply waits for it: until it has answered, the silence rule holds.
"""

from __future__ import annotations

import bisect
from typing import TYPE_CHECKING

from msgspec.structs import replace

from pipelines.data.messages import SpeechPaused, SpeechResumed
from pipelines.text.digit_strings import ends_in_spelling
from pipelines.turns.effects import CancelJudgement, Emit, JudgePause
from pipelines.turns.turn import Pause
from pipelines.vad.voice_activity import WINDOW_SAMPLES

if TYPE_CHECKING:
    from pipelines.turns.effects import Effect
    from pipelines.turns.state import State
    from pipelines.turns.turn import Turn

    Step = tuple[State, tuple[Effect, ...]]

SPECULATION_WINDOWS = 5
"""Windows of silence (0.16 s) after which the recognizer is asked for all it has."""

JUDGED_WINDOWS = (SPECULATION_WINDOWS, 12, 22)
"""Windows of silence (0.16, 0.38 and 0.7 s) after which the model is asked."""

MAX_SPELLING_PROBABILITY = 0.45
"""How probable it is at most that a turn is over which ends in digits or letters: people pause between their groups,
and only the speaker knows how many there are."""


def follow(state: State) -> Step:
    """Begin a pause after enough silence, and ask the model when due."""
    turn = state.speaking
    if turn is None or not state.settings.judges:
        return state, ()
    if turn.pause is None:
        pause = Pause(state.next_pause)
        state = replace(state, speaking=replace(turn, pause=pause), next_pause=pause.number + 1)
    return ask(state)


def ask(state: State) -> Step:
    """Ask the model if it is time to, and all that was said is recognized."""
    turn = state.speaking
    if turn is None or turn.pause is None or turn.pause.awaited:
        return state, ()
    times = bisect.bisect_right(JUDGED_WINDOWS, state.endpointer.trailing_silence)
    if times <= turn.pause.asked or not turn.decoded or turn.asr_failed or not state.settings.judges:
        return state, ()
    if not turn.text or turn.lacks_speech(state.settings.endpointing.speech_begins):
        return state, ()
    pause = replace(turn.pause, asked=times, awaited=True)
    judge = JudgePause(turn.number, pause.number, state.judged_from, state.heard_to, turn.text)
    return replace(state, speaking=replace(turn, pause=pause)), (judge,)


def take_judgement(state: State, probability: float | None) -> Step:
    """Take in what the model says of the pause under way, and tell the caller."""
    assert state.speaking is not None
    assert state.speaking.pause is not None
    pause = replace(state.speaking.pause, awaited=False)
    if probability is None:
        return replace(state, speaking=replace(state.speaking, pause=pause)), ()
    if ends_in_spelling(state.speaking.text):
        probability = min(probability, MAX_SPELLING_PROBABILITY)
    stop_after = state.settings.endpointing.stop_after(probability)
    pause = replace(pause, probability=probability, stop_after=stop_after, told=state.speaking.text)
    turn = replace(state.speaking, pause=pause)
    state = replace(state, speaking=turn)
    return state, (Emit(_paused(state, turn, probability)),)


def correct(state: State, turn: Turn) -> Step:
    """Report a pause again if its text has changed."""
    pause = turn.pause
    if pause is None or pause.told is None or pause.probability is None or pause.told == turn.text:
        return state, ()
    turn = replace(turn, pause=replace(pause, told=turn.text))
    return state.with_turn(turn), (Emit(_paused(state, turn, pause.probability)),)


def resume(state: State) -> Step:
    """End the pause because speech goes on in the last window."""
    turn = state.speaking
    if turn is None or turn.pause is None:
        return state, ()
    effects = give_up(turn)
    if turn.pause.told is not None:
        effects += (Emit(SpeechResumed(turn.number, state.heard_to - WINDOW_SAMPLES)),)
    return replace(state, speaking=replace(turn, pause=None)), effects


def give_up(turn: Turn) -> tuple[Effect, ...]:
    """Give the judgement of a turn's pause up, if one is waited for."""
    return (CancelJudgement(),) if turn.pause and turn.pause.awaited else ()


def _paused(state: State, turn: Turn, probability: float) -> SpeechPaused:
    silence = max(0, state.heard_to - turn.speech_end)
    return SpeechPaused(turn.number, turn.text, probability, turn.onset, turn.speech_end, silence)
