"""Dialogs as messages of ``vivavoce.v1``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vivavoce.v1 import reply_pb2

if TYPE_CHECKING:
    from pipelines.dialog.session import DialogTurn

_ENDS = {
    "": reply_pb2.DIALOG_END_UNSPECIFIED,
    "end": reply_pb2.DIALOG_END_DONE,
    "hand_over": reply_pb2.DIALOG_END_HAND_OVER,
}


def to_dialog(turn: DialogTurn | None) -> reply_pb2.Dialog | None:
    """Writes what a turn did to its dialog."""
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
    )
