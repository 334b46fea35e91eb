"""Languages of agents, each a file of words; English is built in."""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ENGLISH = "en"
_FOLDER = Path(__file__).with_name("languages")
_CURRENT: ContextVar[str] = ContextVar("language", default=ENGLISH)
LANGUAGES = (ENGLISH, *sorted(path.stem for path in _FOLDER.glob("*.json")))
"""Codes of ISO 639-1."""


@dataclass(frozen=True)
class Language:
    """Words of a language other than English.

    Attributes:
        code: of ISO 639-1.
        phrases: regular expressions of control phrases by their kind.
        plain: first words of answers that are yes, no or wait alone.
        fillers: words that say nothing beside a value.
        denials: what stands before a value that is denied.
        corrections: what stands before a value that replaces another.
        carriers: what stands before a text that was asked for.
        words: that replies are put together with.
        texts: the agent's own.
        values: the grammar of numbers, dates and times.
    """

    code: str
    phrases: Mapping[str, tuple[str, ...]]
    plain: frozenset[str]
    fillers: frozenset[str]
    denials: re.Pattern[str]
    corrections: re.Pattern[str]
    carriers: re.Pattern[str]
    words: Mapping[str, str]
    texts: Mapping[str, str]
    values: Mapping[str, Any]


@lru_cache(8)
def language_of(code: str) -> Language | None:
    """Return a language; None: English."""
    if code == ENGLISH:
        return None
    read = json.loads((_FOLDER / f"{code}.json").read_text("utf-8"))
    patterns = {name: re.compile(read[name], re.IGNORECASE) for name in ("denials", "corrections", "carriers")}
    return Language(
        code,
        {kind: tuple(texts) for kind, texts in read["phrases"].items()},
        frozenset(read["plain"]),
        frozenset(read["fillers"]),
        words=read["words"],
        texts=read["texts"],
        values=read["values"],
        **patterns,
    )


@contextmanager
def speaking(code: str) -> Iterator[None]:
    """Let a language be that in which turns are read, within the block."""
    token = _CURRENT.set(code)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def spoken_language() -> Language | None:
    """Return the language in which a turn is read; None: English."""
    return language_of(_CURRENT.get())


def worded(key: str, english: str, **values: str) -> str:
    """Return a text of the present language, with its values."""
    language = spoken_language()
    text = (language.texts.get(key) or language.words.get(key)) if language is not None else None
    return (text or english).format(**values)
