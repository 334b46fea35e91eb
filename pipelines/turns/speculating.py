"""Speculations: stages on texts before the utterance is surely over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from pipelines.data.messages import Reply
from pipelines.turns.effects import CountSpeculation, RunStage, SpeculationFate
from pipelines.turns.turn import Speculation, Turn

if TYPE_CHECKING:
    from pipelines.data.stages import PlannedStage
    from pipelines.turns.effects import Effect
    from pipelines.turns.state import State

    Step = tuple[State, tuple[Effect, ...]]


def count_speculation(state: State, fate: SpeculationFate) -> tuple[Effect, ...]:
    """Count what became of a speculation, where speculating saves any work."""
    return (CountSpeculation(fate),) if state.settings.replies else ()


def take_text(state: State, turn: Turn, text: str) -> Step:
    """Speculate on ``text`` and start the stages; none on an empty text."""
    number = state.next_speculation
    speculation = Speculation(number, text, sent_to=turn.sent_to, is_fragment=turn.asr_failed)
    effects: tuple[Effect, ...] = ()
    if not speculation.is_fragment and text and not turn.is_complete and state.settings.replies:
        speculation, effects = start_stages(state, turn, replace(speculation, stages=state.settings.stages))
    elif not speculation.is_fragment:
        speculation = replace(speculation, **_of_no_text(state.settings.stages))
    turn = replace(turn, speculation=speculation)
    return replace(state, next_speculation=number + 1).with_turn(turn), effects


def meant(state: State, turn: Turn) -> Speculation:
    """Return the speculation that covers all that was said."""
    if turn.speculation and (turn.text_is_final or turn.speculation.sent_to >= turn.sent_to):
        return turn.speculation
    return Speculation(0, turn.text, () if turn.asr_failed else state.settings.stages, is_fragment=turn.asr_failed)


def start_stages(state: State, turn: Turn, speculation: Speculation) -> tuple[Speculation, tuple[Effect, ...]]:
    """Start the stages of a speculation with all inputs, in the turns' order."""
    ready = speculation.runnable
    if any(stage.in_order for stage in ready) and _waits(state, turn):
        ready = tuple(stage for stage in ready if not stage.in_order)
    if not ready:
        return speculation, ()
    effects = tuple(
        RunStage(
            turn.number,
            speculation.number,
            stage.name,
            speculation.text,
            {name: speculation.outputs[name] for name in stage.after},
        )
        for stage in ready
    )
    return replace(speculation, started=(*speculation.started, *(stage.name for stage in ready))), effects


def start_waiting(state: State) -> Step:
    """Start the stages that have waited until earlier turns were replied to."""
    effects: tuple[Effect, ...] = ()
    for turn in state.turns:
        if turn.speculation is None or turn.is_complete or not turn.speculation.runnable:
            continue
        speculation, more = start_stages(state, turn, turn.speculation)
        if more:
            state, effects = state.with_turn(replace(turn, speculation=speculation)), effects + more
    return state, effects


def dialog_changed(state: State) -> Step:
    """Work everything out again that was worked out on the former state of a dialog."""
    effects: tuple[Effect, ...] = ()
    for turn in state.turns:
        old = turn.speculation
        if old is None or _has_happened(turn) or not any(it.in_order and it.name in old.started for it in old.stages):
            continue
        fresh = Speculation(state.next_speculation, old.text, old.stages, sent_to=old.sent_to)
        state = replace(state, next_speculation=fresh.number + 1)
        fresh, more = start_stages(state, turn, fresh)
        state, effects = state.with_turn(replace(turn, speculation=fresh)), effects + more
    return state, effects


def awaits_reply(turn: Turn) -> bool:
    """Return whether a turn's whole reply is still to be sent."""
    return not turn.is_complete or any(isinstance(told, Reply) for told in turn.untold)


def in_order_stages(stages: tuple[PlannedStage, ...]) -> frozenset[str]:
    """Return the in-order stages, and those that need them."""
    names: set[str] = set()
    for stage in stages:
        if stage.in_order or names.intersection(stage.after):
            names.add(stage.name)
    return frozenset(names)


def _waits(state: State, turn: Turn) -> bool:
    """Return whether an earlier turn is not committed."""
    return any(other.number < turn.number and not _has_happened(other) for other in state.ending)


def _has_happened(turn: Turn) -> bool:
    """Return whether a turn was sent with all that later ones need."""
    if any(isinstance(told, Reply) for told in turn.untold):
        return False
    if turn.is_complete or turn.partial is None or turn.speculation is None:
        return turn.is_complete
    return all(it.name in turn.partial.results for it in turn.speculation.stages if it.in_order)


def _of_no_text(stages: tuple[PlannedStage, ...]) -> dict[str, Any]:
    """Return a speculation's fields for an empty text."""
    known = tuple(stage for stage in stages if stage.of_no_text is not None)
    names = tuple(stage.name for stage in known)
    return {"stages": known, "outputs": {it.name: it.of_no_text for it in known}, "started": names, "finished": names}


def find_speculation(state: State, turn: int, speculation: int) -> tuple[Turn, Speculation] | None:
    """Find the turn of a speculation; None if it was dropped."""
    candidates = (held for held in state.turns if held.number == turn and not held.is_complete)
    return next(
        (
            (held, held.speculation)
            for held in candidates
            if held.speculation and held.speculation.number == speculation
        ),
        None,
    )
