"""Dialogs: the session that a caller chooses, and what a turn did to it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

from vivavoce._refusing import refusing
from vivavoce.v1 import conversation_pb2 as pb
from vivavoce.v1 import reply_pb2

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Session:
    """Session: a dialog that goes on in later conversations with the same id."""

    id: str = ""
    """Chosen by the caller, at most 128 characters, for one conversation at a time; "": it ends with that."""
    parameters: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Session parameters, by the names that the agent gives them; at most 50."""


class DialogEnd(Enum):
    """End of a dialog."""

    DONE = "DONE"
    """It is over."""
    HAND_OVER = "HAND_OVER"
    """The caller is to be handed over to a person."""
    UNKNOWN = "UNKNOWN"
    """In a way that this version does not know."""


class DialogCause(Enum):
    """Cause of something that an agent says."""

    TURN = "TURN"
    """The caller said or typed something."""
    BEGIN = "BEGIN"
    """The dialog begins."""
    NO_INPUT = "NO_INPUT"
    """The caller has said nothing for some time."""
    KEYS = "KEYS"
    """The caller has pressed keys."""
    FULFILMENT = "FULFILMENT"
    """What the server carries out is under way, is done, or has failed."""
    LATE = "LATE"
    """What the caller said is not understood yet: the agent asks to wait."""
    UNKNOWN = "UNKNOWN"
    """Something that this version does not know."""


@dataclass(frozen=True, slots=True)
class Fulfilment:
    """Filled and confirmed intent, to be carried out once by the caller's program."""

    number: int
    """Counts the fulfilments of the session, from 1."""
    name: str
    """Name of the fulfilment, from the agent."""
    intent: str
    """The intent."""
    slots: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Its slots, with their values."""


@dataclass(frozen=True, slots=True)
class Dialog:
    """A dialog after a turn."""

    intent: str = ""
    """What is under way; "" where the agent waits for any wish."""
    slots: Mapping[str, str] = field(default_factory=dict, hash=False)
    """The slots that have a value: one of its list, ISO 8601, a decimal number, or words."""
    asked: str = ""
    """The slot that is asked for; "": none."""
    confirming: bool = False
    """Whether yes or no is expected."""
    fulfilments: tuple[Fulfilment, ...] = ()
    """What is to be carried out because of this turn. Each is told once."""
    end: DialogEnd | None = None
    """How the dialog ends with this turn; None: it goes on."""
    parameters: Mapping[str, str] = field(default_factory=dict, hash=False)
    """The session parameters."""
    cause: DialogCause = DialogCause.TURN
    """What lets the agent say this. What it says by itself is a turn without words of the caller."""

    def to_dict(self) -> dict[str, Any]:
        """Return the dialog as `Reply.to_dict` has it."""
        return {
            "intent": self.intent or None,
            "slots": dict(self.slots),
            "asked": self.asked or None,
            "confirming": self.confirming,
            "fulfilments": [
                {"number": one.number, "name": one.name, "intent": one.intent, "slots": dict(one.slots)}
                for one in self.fulfilments
            ],
            "end": None if self.end is None else self.end.value.lower(),
            "parameters": dict(self.parameters),
            "cause": self.cause.value.lower(),
        }


def add_dialog(
    request: pb.ConversationConfig | pb.AskRequest, agent: str, session: Session | None, prefix: str = "config."
) -> None:
    """Write which agent holds the dialog, and the session that it belongs to.

    Args:
        request: Gets it.
        agent: Name of the agent; "" for none.
        session: None for one that ends with the request.
        prefix: Stands before the names of its fields in errors.

    Raises:
        InvalidRequest: The message cannot hold a value.
        TypeError: A value is of another type.
    """
    with refusing(f"{prefix}agent"):
        request.agent = agent
    if session is None:
        return
    if not isinstance(session, Session):
        raise TypeError(f"session is `vivavoce.Session(...)` or None, not {type(session).__name__}.")
    with refusing(f"{prefix}session"):
        request.session.id = session.id
        request.session.parameters.update(session.parameters)


def dialog_of(told: reply_pb2.Dialog) -> Dialog:
    """Read a dialog from its message."""
    return Dialog(
        told.intent,
        dict(told.slots),
        told.asked,
        told.confirming,
        tuple(Fulfilment(one.number, one.name, one.intent, dict(one.slots)) for one in told.fulfilments),
        _end(told.end),
        dict(told.parameters),
        _cause(told.cause),
    )


def dialog_message(dialog: Dialog) -> reply_pb2.Dialog:
    """Write a dialog as the server does; the reverse of `dialog_of`."""
    known = dialog.end is not None and dialog.end is not DialogEnd.UNKNOWN
    return reply_pb2.Dialog(
        intent=dialog.intent,
        slots=dialog.slots,
        asked=dialog.asked,
        confirming=dialog.confirming,
        fulfilments=[
            reply_pb2.Fulfilment(number=one.number, name=one.name, intent=one.intent, slots=one.slots)
            for one in dialog.fulfilments
        ],
        end=f"DIALOG_END_{dialog.end.value}" if known and dialog.end else None,
        parameters=dialog.parameters,
        cause=None if dialog.cause is DialogCause.UNKNOWN else f"DIALOG_CAUSE_{dialog.cause.value}",
    )


def keys_request(keys: str) -> pb.ConverseRequest:
    """Make the message that tells which keys were pressed.

    Raises:
        InvalidRequest: The message cannot hold them.
        TypeError: They are no text.
    """
    with refusing("dtmf.keys"):
        return pb.ConverseRequest(dtmf=pb.Dtmf(keys=keys))


def _cause(value: int) -> DialogCause:
    # A server that is older than causes tells none.
    names: dict[int, DialogCause] = {
        reply_pb2.DIALOG_CAUSE_UNSPECIFIED: DialogCause.TURN,
        reply_pb2.DIALOG_CAUSE_TURN: DialogCause.TURN,
        reply_pb2.DIALOG_CAUSE_BEGIN: DialogCause.BEGIN,
        reply_pb2.DIALOG_CAUSE_NO_INPUT: DialogCause.NO_INPUT,
        reply_pb2.DIALOG_CAUSE_KEYS: DialogCause.KEYS,
        reply_pb2.DIALOG_CAUSE_FULFILMENT: DialogCause.FULFILMENT,
        reply_pb2.DIALOG_CAUSE_LATE: DialogCause.LATE,
    }
    return names.get(value, DialogCause.UNKNOWN)


def _end(value: int) -> DialogEnd | None:
    if value == reply_pb2.DIALOG_END_UNSPECIFIED:
        return None
    names: dict[int, DialogEnd] = {
        reply_pb2.DIALOG_END_DONE: DialogEnd.DONE,
        reply_pb2.DIALOG_END_HAND_OVER: DialogEnd.HAND_OVER,
    }
    return names.get(value, DialogEnd.UNKNOWN)
