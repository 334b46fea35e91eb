"""Checks of an agent's texts: their form, and the names in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipelines.dialog.agent.templates import fault_of, names_in, numbers_in

if TYPE_CHECKING:
    from collections.abc import Iterator

CHOICES = "choices"
"""Placeholder of a prompt for the values of the slot that is asked for."""


def faults_of_template(text: str, known: set[str], what: str) -> Iterator[str]:
    """Yield the faults of a text, each with its cure.

    Args:
        text: with placeholders.
        known: names that they may have.
        what: these names are.
    """
    fault = fault_of(text)
    if fault:
        yield fault
        return
    for name in sorted((names_in(text) | numbers_in(text)) - known):
        there = f"the {what} here are {', '.join(sorted(known))}" if known else f"there are no {what} here"
        yield f"{{{name}}} names nothing: {there}"
