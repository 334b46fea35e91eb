"""Conditions on values: ``size: large``, ``people: "> 8"``, ``back: "< {out}"``."""

from __future__ import annotations

import operator
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_COMPARED = re.compile(r"(<=|>=|!=|<|>)\s*(.+)", re.DOTALL)
_OTHER = re.compile(r"\{([A-Za-z]\w*)\}")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_OPERATORS = {"<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt}


def holds(conditions: Mapping[str, str], values: Mapping[str, str]) -> bool:
    """Return whether all conditions hold.

    Args:
        conditions: by name, a value or a comparison with one, or with that of another name; whatever its case.
        values: of slots and parameters, and computed ones; one that is missing is "".
    """
    return all(_holds(condition, values.get(name, ""), values) for name, condition in conditions.items())


def compared(condition: str) -> tuple[str, str]:
    """Return a comparison's sign and value; "" and the value of another one."""
    found = _COMPARED.fullmatch(condition.strip())
    return (found[1], found[2].strip()) if found else ("", condition)


def other_of(bound: str) -> str:
    """Return the name that a value is compared with, as in ``{out}``; "" for none."""
    found = _OTHER.fullmatch(bound)
    return found[1] if found else ""


def _holds(condition: str, value: str, values: Mapping[str, str]) -> bool:
    sign, bound = compared(condition)
    if other := other_of(bound):
        bound = values.get(other, "")
        if not bound:
            return False
    if not sign:
        return value.lower() == bound.lower()
    if sign == "!=":
        return value.lower() != bound.lower()
    if not value:
        return False
    if _NUMBER.fullmatch(value) and _NUMBER.fullmatch(bound):
        return bool(_OPERATORS[sign](float(value), float(bound)))
    # Dates and times are written so that they are compared as texts.
    return bool(_OPERATORS[sign](value, bound))
