"""Turns of a dialog happen with their replies: what was only previewed is committed."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from pipelines.stages.registry import DIALOG

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pipelines.dialog.session import DialogSession
    from pipelines.messages import Reply


def as_told(reply: Reply, dialog: DialogSession | None, versions: Mapping[str, int]) -> Reply:
    """Lets the turn of a reply happen in its dialog, and returns the reply as the caller is told it.

    Where another turn was told since this one was worked out, the reply has what the agent says now.

    Args:
        reply: of a turn.
        dialog: that the turn is part of; None: none.
        versions: of the engines that the turn has used.
    """
    results = reply.results
    if dialog is not None and reply.dialog is not None:
        turn = dialog.commit(reply.dialog)
        if turn is not reply.dialog:
            results = {**results, DIALOG: turn}
    return dataclasses.replace(reply, results=results, model_versions=versions)
