"""Serialization of dialog sessions, independent of machine and clock."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, get_type_hints

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from pipelines.data.dialog.state import Form, State
from pipelines.dialog.next_step import missing_slot

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipelines.data.dialog.state import Context, Filled
    from pipelines.dialog.agent.agent import Agent
    from pipelines.dialog.session import DialogSession

FORMAT = 1
"""Version of the form; sessions of another one begin anew."""


def _stored_state() -> type[Struct]:
    """Make the stored form of a state: all of its fields, checked when they are read.

    Turns that wait for a fulfilment are left out: with the stream, the fulfilment is lost.
    """
    hints = get_type_hints(State, localns={"Understood": object})
    kept = [name for name in State.__struct_fields__ if name not in {"held", "wishes"}]
    return msgspec.defstruct("StoredState", [(name, hints[name], getattr(State(), name)) for name in kept], frozen=True)


_StoredState = _stored_state()
_Record = msgspec.defstruct(
    "StoredSession",
    [("format", int), ("agent", str), ("id", str), ("stored_at", float), ("state", _StoredState)],
    frozen=True,
    array_like=True,
)
_DECODER = msgspec.msgpack.Decoder(_Record)


@dataclasses.dataclass(frozen=True, slots=True)
class Clocks:
    """The clocks of a machine.

    Attributes:
        monotonic: time that states are in, in seconds, which means nothing elsewhere.
        wall: Unix time, in seconds.
    """

    monotonic: Callable[[], float]
    wall: Callable[[], float]


def pack(session: DialogSession, clocks: Clocks, *, sensitive: bool) -> bytes:
    """Return a session as bytes.

    Args:
        session: what is stored.
        clocks: of this machine.
        sensitive: whether the values of sensitive slots are stored too: what is stored will be encrypted. Otherwise
            they are left out, and asked for again.
    """
    state = session.state if sensitive else without_sensitive(session.agent, session.state)
    state = _shifted(state, clocks.wall() - clocks.monotonic())
    values = {name: getattr(state, name) for name in _StoredState.__struct_fields__}
    record = _Record(FORMAT, session.agent.fingerprint, session.id, clocks.wall(), _StoredState(**values))
    return msgspec.msgpack.encode(record)


def unpack(data: bytes, agent: Agent, clocks: Clocks) -> tuple[str, State] | None:
    """Read id and state of a session.

    Args:
        data: as :func:`pack` made it, or whatever stands there.
        agent: by which the dialog is held.
        clocks: of this machine.

    Returns:
        None where it is of another version, or of an agent whose files have changed: the session begins anew.
    """
    try:
        record: Any = _DECODER.decode(data)
    except msgspec.DecodeError:
        return None
    if record.format != FORMAT or record.agent != agent.fingerprint:
        return None
    values = {name: getattr(record.state, name) for name in _StoredState.__struct_fields__}
    return record.id, _shifted(State(**values), clocks.monotonic() - clocks.wall())


def without_sensitive(agent: Agent, state: State) -> State:
    """Return a state without sensitive values; needed ones are asked for again."""
    slots_of_all = (pair for intent in agent.intents.values() for pair in intent.slots.items())
    sensitive_names = {name for name, slot in slots_of_all if slot.sensitive}
    if not sensitive_names:
        return state

    def cleared(intent: str, slots: dict[str, Filled]) -> dict[str, Filled]:
        known = agent.slots_of(intent)
        return {name: filled for name, filled in slots.items() if name not in known or not known[name].sensitive}

    def form_without(form: Form) -> Form:
        slots = cleared(form.intent, form.slots)
        sensitive = form.asked and agent.slots_of(form.intent)[form.asked].sensitive
        form = replace(form, choices=()) if sensitive else form
        if len(slots) == len(form.slots):
            return form
        form = replace(form, slots=slots, confirming=False, changing=False, choices=(), checked={})
        return replace(form, asked=missing_slot(agent, state, form))

    def context_without(context: Context) -> Context:
        return replace(context, slots=cleared(context.intent, context.slots))

    return replace(
        state,
        form=form_without(state.form) if state.form is not None else None,
        suspended=tuple(map(form_without, state.suspended)),
        contexts=tuple(map(context_without, state.contexts)),
        known={name: filled for name, filled in state.known.items() if name not in sensitive_names},
        # What was said may hold values that are no longer in any slot.
        said=(),
        lines=(),
    )


def _shifted(state: State, seconds: float) -> State:
    """Move the times of a state to another clock."""
    contexts = tuple(one if one.until is None else replace(one, until=one.until + seconds) for one in state.contexts)
    return replace(state, now=state.now + seconds, contexts=contexts, held=(), wishes=())
