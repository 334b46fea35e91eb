"""Texts with placeholders, such as ``{count:words} {drink:count}[ with {milk}]``.

A part in square brackets is said when all its placeholders have a value. Behind a colon stands a format: ``words`` of
a number, or the name of a number that tells whether the value stands in the plural.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from num2words import num2words

from pipelines.speech.verbalizing.numbers import cardinal, plural
from pipelines.text.language import spoken_language

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
_NAME = re.compile(r"[A-Za-z]\w*(?::[A-Za-z]\w*)?")
WORDS = "words"
"""Format of a number: "2" is "two"."""
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_ONE = frozenset(("1", "one", "a", "an", ""))


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
    return frozenset(name.partition(":")[0] for name in _PLACEHOLDER.findall(template))


def numbers_in(template: str) -> frozenset[str]:
    """Return the names that tell whether other values stand in the plural."""
    return frozenset(name.partition(":")[2] for name in _PLACEHOLDER.findall(template)) - {"", WORDS}


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
    text = " ".join(_PLACEHOLDER.sub(lambda match: _worded(match[1], values), chosen).split())
    if spoken_language() is not None:
        return text
    text = _DOUBLED.sub(lambda found: found[1], text)
    return _TWICE.sub(r"\1", _ARTICLE.sub(r"\1n ", text))


def _worded(placeholder: str, values: Mapping[str, str]) -> str:
    """Return the value of a placeholder in its format."""
    name, _, form = placeholder.partition(":")
    value = values.get(name, "")
    if form == WORDS:
        return _in_words(value) if _NUMBER.fullmatch(value) else value
    # Plurals of other languages than English stand in no file.
    is_english = spoken_language() is None
    return value if not form or not value or not is_english or values.get(form, "").lower() in _ONE else _plural(value)


def _in_words(figures: str) -> str:
    """Return a number in words of the present language."""
    language = spoken_language()
    if language is None:
        return cardinal(figures)
    return str(num2words(float(figures) if "." in figures else int(figures), lang=language.code))


def _plural(value: str) -> str:
    """Return the plural of a value's last word: "latte" is "lattes"."""
    if value.endswith("s") and not value.endswith("ss"):
        return value
    if value.endswith(("ss", "ch", "sh")):
        return f"{value}es"
    return f"{value}s" if value.endswith(("ay", "ey", "oy", "uy")) else plural(value)
