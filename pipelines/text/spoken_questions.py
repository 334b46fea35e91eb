"""Spoken numbers in questions, written as the documents write them."""

from __future__ import annotations

import re

from pipelines.errors import ModelError
from pipelines.text.itn import inverse_normalize

_FIGURE = re.compile(r"\d+(?:[.,:/-]\d+)*(?:st|nd|rd|th|s)?")
_THOUSANDS = re.compile(r"\b(thousand|million|billion), (?=\w)", re.IGNORECASE)
_SMALL_WORDS = ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_SMALL = re.compile(rf"\b(?:{'|'.join(_SMALL_WORDS)})\b", re.IGNORECASE)
_NUMBER = re.compile(
    r"one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|teen|thirt|fort|fift|hundred|thousand|first"
    r"|second|third|million|half|quarter|dollar|percent|zero| oh | dot ",
    re.IGNORECASE,
)
"""What every number holds; it may be in other words, too."""
_MIN_PLAIN = 10
"""Least number that is written in figures where the documents have it neither so nor in words."""


async def as_documents_write(question: str, document: str) -> str:
    """Write a question's numbers in figures where the document does.

    "in nineteen seventy one" finds "in 1971", and "in the fourth quarter" still finds "in the fourth quarter".

    Args:
        question: as it was recognized or typed.
        document: the text that is searched.
    """
    if not _NUMBER.search(question):
        # The grammars need not even be there.
        return question
    lower = document.lower()
    try:
        return await inverse_normalize(
            _THOUSANDS.sub(r"\1 ", question), lambda said, written: _choose(said, written, lower)
        )
    except ModelError:
        return question


def _choose(said: str, written: str, document: str) -> str:
    """Choose between some words as they were said and in figures."""
    if said == written:
        return _SMALL.sub(lambda found: _small(found[0], document), said)
    figures = _FIGURE.findall(written)
    if figures:
        forms = {figure: _form_in(figure, document) for figure in figures}
        if all(forms.values()):
            return _FIGURE.sub(lambda found: forms[found[0]] or found[0], written)
        if said.lower() in document:
            return said
        if len(figures) == 1 and figures[0] == written and written.isdecimal() and int(written) >= _MIN_PLAIN:
            return written
    return said


def _small(word: str, document: str) -> str:
    """Write a number left in words, where the document has figures: "Apollo 11"."""
    figure = str(_SMALL_WORDS.index(word.lower()) + 2)
    return word if re.search(rf"\b{word.lower()}\b", document) else _form_in(figure, document) or word


def _form_in(figure: str, document: str) -> str | None:
    """Return a figure in the document's form: "1,000" for "1000"; None without."""
    forms = [figure]
    if figure.isdecimal() and len(figure) <= len("999999999999"):
        forms.append(f"{int(figure):,}")
    if ":" in figure:
        forms += [figure.lstrip("0"), figure.replace(":", "")]
    return next((form for form in forms if re.search(rf"(?<!\w){re.escape(form)}(?!\w)", document)), None)
