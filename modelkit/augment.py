"""Makes written utterances look as a speech recognizer writes them, and finds text that no intent covers.

Case needs no work: the tokenizer is uncased.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from engines.bert.intent_decoding import Slot
from modelkit.nlu import Utterance

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence

    from modelkit.squad import Question

_QUESTION_WORDS = frozenset(
    {
        *(
            "what",
            "who",
            "where",
            "when",
            "why",
            "how",
            "which",
            "is",
            "are",
            "was",
            "were",
            "do",
            "does",
            "did",
            "can",
        ),
        *("could", "will", "would", "should", "has", "have", "any"),
    }
)
_UNIT_WORDS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_UNITS = {word: number for number, word in enumerate(_UNIT_WORDS)}
_TEN_WORDS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_TENS = {word: 10 * ten for ten, word in enumerate(_TEN_WORDS, 2)}
_NUMBER = re.compile(
    rf"\b(?:(?P<tens>{'|'.join(_TEN_WORDS)})(?:[ -](?P<ones>{'|'.join(_UNIT_WORDS[1:10])}))?"
    rf"|(?P<unit>{'|'.join(word for word in _UNIT_WORDS if word != 'one')}))\b"
)
_CLOCK = re.compile(r"\b(?P<hour>[1-9]|1[0-2]) (?P<minute>[1-5][05])\b")
_HALF_DAY = re.compile(r"\b(?P<half>[ap])\.? ?m\b\.?")


def speech_like(utterance: Utterance, rng: random.Random) -> Utterance:
    """Writes ``utterance`` as a recognizer might: digits for number words, commas, a mark at the end."""
    if rng.random() < 0.5:
        utterance = with_digits(utterance)
    if rng.random() < 0.1:
        utterance = _with_comma(utterance, rng)
    text = utterance.text.rstrip()
    if text and text[-1].isalnum() and rng.random() < 0.6:
        question = text.split(maxsplit=1)[0].lower().split("'")[0] in _QUESTION_WORDS
        mark = rng.choices(("?", ".", "!"), (8, 2, 0) if question else (1, 8, 1))[0]
        utterance = Utterance(text + mark, utterance.intent, utterance.slots)
    return utterance


def with_digits(utterance: Utterance) -> Utterance:
    """Replaces number words by digits: "twenty five" by "25", "seven thirty a m" by "7:30 am".

    A lone "one" is left alone: it is a pronoun more often than a number.
    """
    utterance = _substitute(utterance, _NUMBER, _digits)
    utterance = _substitute(utterance, _CLOCK, lambda match: f"{match['hour']}:{match['minute']}")
    return _substitute(utterance, _HALF_DAY, lambda match: f"{match['half']}m")


def _digits(match: re.Match[str]) -> str:
    if match["unit"]:
        return str(_UNITS[match["unit"]])
    return str(_TENS[match["tens"]] + (_UNITS[match["ones"]] if match["ones"] else 0))


def _with_comma(utterance: Utterance, rng: random.Random) -> Utterance:
    spaces = [
        match.start()
        for match in re.finditer(r"(?<=\w) (?=\w)", utterance.text)
        if not any(slot.start < match.start() < slot.end for slot in utterance.slots)
    ]
    if not spaces:
        return utterance
    chosen = rng.choice(spaces)
    text = utterance.text[:chosen] + "," + utterance.text[chosen:]
    slots = tuple(Slot(s.name, s.start + (s.start > chosen), s.end + (s.end > chosen)) for s in utterance.slots)
    return Utterance(text, utterance.intent, slots)


def _substitute(utterance: Utterance, pattern: re.Pattern[str], replace: Callable[[re.Match[str]], str]) -> Utterance:
    """Replaces every match that no slot's edge cuts in two, and moves the slots along."""
    text, slots = utterance.text, utterance.slots
    for match in reversed(list(pattern.finditer(text))):
        start, end = match.span()
        if any(start < edge < end for slot in slots for edge in (slot.start, slot.end)):
            continue
        new = replace(match)
        shift = len(new) - (end - start)
        text = text[:start] + new + text[end:]
        slots = tuple(Slot(s.name, s.start + shift * (s.start >= end), s.end + shift * (s.end >= end)) for s in slots)
    return Utterance(text, utterance.intent, slots)


def outlier_texts(questions: Sequence[Question], rng: random.Random) -> list[str]:
    """Gives text that no intent covers: questions of a reading comprehension set, and sentences of its paragraphs."""
    asked = sorted({question.text for question in questions if len(question.text.split()) <= 24})
    contexts = sorted({question.context for question in questions})
    sentences = {s for context in contexts for s in re.split(r"(?<=[.!?])\s+", context) if 4 <= len(s.split()) <= 20}
    told = sorted(sentences)
    return asked + rng.sample(told, min(len(asked), len(told)))
