"""Days that are told from the one that a slot has: "the day after is better"."""

from __future__ import annotations

import datetime as dt
import re
from typing import TYPE_CHECKING

from pipelines.data.dialog.state import Filled
from pipelines.data.values import ValueKind
from pipelines.dialog.mentions import Mention, is_free
from pipelines.dialog.slot_types import DAY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipelines.data.dialog.events import Understood
    from pipelines.data.dialog.state import Form
    from pipelines.dialog.agent.form import Intent

_SHIFT = re.compile(
    r"\b(?:(?P<after>the (?:day after|next day|following day)(?! tomorrow)|(?:a|one) day later)"
    r"|(?P<before>the day before(?! yesterday)|(?:a|one) day earlier)|(?P<week>(?:a|one) week later|the week after)"
    r"|(?P<earlier>(?:a|one) week earlier|the week before))\b",
    re.IGNORECASE,
)
_SHIFTS = {1: "after", -1: "before", 7: "week", -7: "earlier"}


def told_days(intent: Intent, form: Form, event: Understood, taken: list[tuple[int, int]]) -> Iterator[Mention]:
    """Yield days told from the one that a slot has: "the day after is better"."""
    dates = [name for name, slot in intent.slots.items() if slot.type == ValueKind.DATE.value]
    names = [name for name in dates if name in form.slots and DAY.fullmatch(form.slots[name].value)]
    if len(names) != 1:
        return
    target = form.asked if form.asked in dates else names[0]
    for found in _SHIFT.finditer(event.text):
        if is_free(found.start(), found.end(), taken):
            days = next(days for days, group in _SHIFTS.items() if found[group] is not None)
            day = (dt.date.fromisoformat(form.slots[names[0]].value) + dt.timedelta(days=days)).isoformat()
            said = f"{dt.date.fromisoformat(day):%A}"
            yield Mention(found.start(), found.end(), {target: Filled(day, said)})
