"""Dialogs as messages of ``vivavoce.v1``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pipelines.data.dialog.turn import Cause
from pipelines.errors import InvalidInputError
from vivavoce.v1 import reply_pb2

if TYPE_CHECKING:
    from pipelines.data.dialog.turn import DialogTurn
    from vivavoce.v1 import conversation_pb2 as pb

_ENDS = {
    "": reply_pb2.DIALOG_END_UNSPECIFIED,
    "end": reply_pb2.DIALOG_END_DONE,
    "hand_over": reply_pb2.DIALOG_END_HAND_OVER,
}


_CAUSES = {
    Cause.TURN: reply_pb2.DIALOG_CAUSE_TURN,
    Cause.BEGIN: reply_pb2.DIALOG_CAUSE_BEGIN,
    Cause.NO_INPUT: reply_pb2.DIALOG_CAUSE_NO_INPUT,
    Cause.KEYS: reply_pb2.DIALOG_CAUSE_KEYS,
    Cause.FULFILMENT: reply_pb2.DIALOG_CAUSE_FULFILMENT,
    Cause.LATE: reply_pb2.DIALOG_CAUSE_LATE,
}

KEYS = re.compile(r"[0-9*#A-D]{1,32}")


def to_keys(dtmf: pb.Dtmf) -> str:
    """Read keys that were pressed.

    Raises:
        InvalidInputError: they are none, too many, or of no telephone.
    """
    if not KEYS.fullmatch(dtmf.keys):
        message = "keys must be 1 to 32 of 0 to 9, *, # and A to D"
        raise InvalidInputError("dtmf.keys", "BAD_KEYS", message)
    return dtmf.keys


def to_dialog(turn: DialogTurn | None) -> reply_pb2.Dialog | None:
    """Write what a turn did to its dialog."""
    if turn is None:
        return None
    form = turn.after.form
    return reply_pb2.Dialog(
        intent=form.intent if form else "",
        slots={name: filled.value for name, filled in form.slots.items()} if form else {},
        asked=form.asked if form else "",
        confirming=form.confirming if form else False,
        fulfilments=[
            reply_pb2.Fulfilment(number=one.number, name=one.name, intent=one.intent, slots=one.slots)
            for one in turn.fulfilled
        ],
        end=_ENDS[turn.ends],
        parameters=turn.after.parameters,
        cause=_CAUSES[turn.cause],
    )
