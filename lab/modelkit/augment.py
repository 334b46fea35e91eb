"""Makes written utterances look as a speech recognizer writes them, and finds text that no intent covers.

Case needs no work: the tokenizer is uncased.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from engines.bert.slots import Slot
from engines.bert.spoken_words import TEN_WORDS, UNIT_WORDS
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
_UNITS = {word: number for number, word in enumerate(UNIT_WORDS)}
_TENS = {word: 10 * ten for ten, word in enumerate(TEN_WORDS, 2)}
_NUMBER = re.compile(
    rf"\b(?:(?P<tens>{'|'.join(TEN_WORDS)})(?:[ -](?P<ones>{'|'.join(UNIT_WORDS[1:10])}))?"
    rf"|(?P<unit>{'|'.join(word for word in UNIT_WORDS if word != 'one')}))\b"
)
_CLOCK = re.compile(r"\b(?P<hour>[1-9]|1[0-2]) (?P<minute>[1-5][05])\b")
_SHORT_UNITS = {"ounce": "oz", "ounces": "oz", "pound": "lb", "pounds": "lb", "kilograms": "kg", "percent": "%"}
_MEASURED = re.compile(rf"\b(?P<number>\d+) (?P<unit>{'|'.join(_SHORT_UNITS)})\b")
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
    """Replaces number words by digits: "twenty five" by "25", "seven thirty a m" by "7:30 am", "ten ounces" by "10 oz".

    A lone "one" is left alone: it is a pronoun more often than a number.
    """
    utterance = substitute(utterance, _NUMBER, _digits)
    utterance = substitute(utterance, _CLOCK, lambda match: f"{match['hour']}:{match['minute']}")
    utterance = substitute(utterance, _MEASURED, lambda match: f"{match['number']} {_SHORT_UNITS[match['unit']]}")
    return substitute(utterance, _HALF_DAY, lambda match: f"{match['half']}m")


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


def is_plain_word(piece: str) -> bool:
    """Tells whether a piece of a vocabulary is a whole lower-case word of English, of two letters at least."""
    return len(piece) > 1 and piece.isascii() and piece.isalpha() and piece.islower()


def substitute(utterance: Utterance, pattern: re.Pattern[str], replace: Callable[[re.Match[str]], str]) -> Utterance:
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
