"""Inverse text normalization: "twenty three dollars" as "$23".

The grammars are NeMo's (Zhang, Bakhturina, Gorman and Ginsburg, 2021, "NeMo Inverse Text Normalization: From
Development To Production"), as the library ``wetext`` carries them compiled. They read lower case without punctuation,
so only such stretches of a text are given to them, and of these only the runs of words that may hold a figure.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import re
from typing import TYPE_CHECKING

from pipelines.errors import ModelError
from pipelines.text.digit_strings import write_digit_strings

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from pipelines.text.grammar import Grammar

    Choose: TypeAlias = Callable[[str, str], str]

logger = logging.getLogger(__name__)

_LETTERS = r"[^\W\d_]"
_WORD = rf"(?:{_LETTERS}\.(?:{_LETTERS}\.)+|{_LETTERS}+(?:['’]{_LETTERS}+)*)"  # noqa: RUF001 - the apostrophe of some texts
_STRETCH = re.compile(rf"{_WORD}(?: {_WORD})*")
_DIGITS = "one|two|three|four|five|six|seven|eight|nine"
_HYPHENED = re.compile(rf"\b(twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)-(?={_DIGITS})", re.IGNORECASE)
_REMEMBERED = 256
"""Runs whose figures are remembered: what an utterance may be, and was taken for before, has most of them in common."""
_QUARTER = re.compile(rf"\ba (?=quarter (?:past|to) (?:{_DIGITS}|ten|eleven|twelve)\b)", re.IGNORECASE)


def _always_written(_said: str, written: str) -> str:
    return written


async def inverse_normalize(text: str, choose: Choose = _always_written) -> str:
    """Write the numbers, amounts, times and dates of an English ``text`` in figures.

    It takes about a millisecond for each word of a number and nothing to speak of for other words. Other tasks run
    before it, and after every few words that were converted, so that a text may be of any length.

    Args:
        text: of any length.
        choose: returns what is to stand for some words, given how they were said and how they would be written.

    Raises:
        ModelError: the grammars cannot be loaded.
    """
    await asyncio.sleep(0)
    if not _load.cache_info().currsize:
        await asyncio.to_thread(_load)
    readable = _QUARTER.sub("", _HYPHENED.sub(r"\1 ", write_digit_strings(text)))
    written, end = "", 0
    for stretch in _STRETCH.finditer(readable):
        written += readable[end : stretch.start()] + await _convert(stretch[0], choose)
        end = stretch.end()
    return written + readable[end:]


def grammar() -> Grammar:
    """Return the grammars; the first call loads them, which takes about a second.

    Raises:
        ModelError: they cannot be loaded; that is logged once, and not tried again.
    """
    loaded = _load()
    if isinstance(loaded, Exception):
        raise ModelError("numbers cannot be written in figures: the service's log says why") from loaded
    return loaded


@functools.cache
def _load() -> Grammar | Exception:
    try:
        # Only who asks for figures should pay for them.
        from pipelines.text.grammar import Grammar  # noqa: PLC0415

        return Grammar()
    except Exception as error:
        logger.exception("transcripts keep their numbers in words: the grammars cannot be loaded; reinstall wetext")
        return error


@functools.lru_cache(maxsize=_REMEMBERED)
def _convert_run(run: tuple[str, ...]) -> str:
    return grammar().convert(run)


async def _convert(stretch: str, choose: Choose) -> str:
    """Convert words and single spaces, keeping an initial capital."""
    first = stretch[0]
    words = (first.lower() + stretch[1:]).split(" ")
    written = []
    for run, may_hold_a_figure in grammar().runs(words):
        if may_hold_a_figure:
            written.append(choose(" ".join(run), _convert_run(tuple(run))))
            await asyncio.sleep(0)
        else:
            written += run
    converted = " ".join(written)
    if converted[:1] == first.lower():
        return first + converted[1:]
    return converted
