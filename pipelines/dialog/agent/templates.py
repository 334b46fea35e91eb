"""Texts with placeholders, such as ``One {size} {drink}[ with {milk}]``.

A part in square brackets is said when all its placeholders have a value.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_PLACEHOLDER = re.compile(r"\{([^{}\[\]]*)\}")
_OPTIONAL = re.compile(r"\[([^\[\]]*)\]")
_DOUBLED = re.compile(
    r"\b(?:on|at|for|in)\s+((?:on|at|in|by|from|around|about)\s|(?:today|tomorrow|tonight|this|next|the day after)\b)"
    r"(?!['\u2019])",
    re.IGNORECASE,
)
"""A preposition before a value that has its own, or needs none: "on tomorrow", "at around nine"."""
_TWICE = re.compile(r"\b([a-z]{4,}) \1\b")
"""A word of the text that the value ends in as well: "21 degrees degrees"."""
_ARTICLE = re.compile(r"\b([Aa]) (?=[aeioAEIO][a-z])(?!one\b|once\b|eu)")
"""The article before a value that begins with a vowel: "a estate"."""
_NAME = re.compile(r"[A-Za-z]\w*")


def fault_of(template: str) -> str:
    """Return the fault of a template's form with the cure; "" for none."""
    plain = _OPTIONAL.sub(r"\1", template)
    if "[" in plain or "]" in plain:
        return "a square bracket without its partner, or inside of another pair: write [ with {milk}]"
    names = _PLACEHOLDER.findall(plain)
    if any(not _NAME.fullmatch(name) for name in names) or re.search(r"[{}]", _PLACEHOLDER.sub("", plain)):
        return "a brace that is no placeholder: write {name} with the name of a slot or parameter"
    if any(not _PLACEHOLDER.search(part) for part in _OPTIONAL.findall(template)):
        return "square brackets without a placeholder in them: they hold what is left out where a slot is empty"
    return ""


def names_in(template: str) -> frozenset[str]:
    """Return the names of all placeholders."""
    return frozenset(_PLACEHOLDER.findall(template))


def required_names_in(template: str) -> frozenset[str]:
    """Return the names of the placeholders outside of square brackets."""
    return names_in(_OPTIONAL.sub("", template))


def fill(template: str, values: Mapping[str, str]) -> str:
    """Return the filled text, capitalized; placeholders without value are dropped."""
    text = substituted(template, values)
    return text[:1].upper() + text[1:]


def substituted(template: str, values: Mapping[str, str]) -> str:
    """Return the filled text; placeholders without value are dropped."""

    def optional(match: re.Match[str]) -> str:
        return match[1] if all(values.get(name) for name in names_in(match[1])) else ""

    chosen = _OPTIONAL.sub(optional, template)
    text = " ".join(_PLACEHOLDER.sub(lambda match: values.get(match[1], ""), chosen).split())
    text = _DOUBLED.sub(lambda found: found[1], text)
    return _TWICE.sub(r"\1", _ARTICLE.sub(r"\1n ", text))
