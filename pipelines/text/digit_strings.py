"""Digit strings: phone, card and room numbers, said digit by digit or in pairs.

The grammars of inverse text normalization read quantities. They cut a number at a comma, which recognizers write where
a speaker pauses, take "seven eighty eight" for 7808, and lose a point of "two point one point three".
"""

from __future__ import annotations

import itertools
import re

UNITS = {
    word: str(n)
    for n, word in enumerate(["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"])
}
TEENS = {
    word: str(n)
    for n, word in enumerate(
        ["ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"],
        10,
    )
}
TENS = {
    word: str(n)
    for n, word in enumerate(["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"], 2)
}
DIGITS = {**UNITS, "oh": "0", "o": "0"}
_TIMES = {"double": 2, "triple": 3}

_DIGIT = rf"(?:(?:double|triple) )?(?:{'|'.join(DIGITS)})\b"
_GROUP = rf"{_DIGIT}(?:[ -]{_DIGIT}){{0,19}}"
_GROUPS = re.compile(rf"\b(?P<groups>{_GROUP}(?:, {_GROUP})+)", re.IGNORECASE)
_FIGURES = re.compile(r"(?<![\d.,-])(?P<groups>\d{1,6}(?:, \d{1,6}){2,})(?![\d,]|\.\d)")
_DOUBLED = re.compile(rf"\b{_GROUP}", re.IGNORECASE)
_UNIT = "|".join(word for word in UNITS if word != "zero")
_NUMBER_WORD = rf"(?:{'|'.join((*DIGITS, *TEENS, *TENS))}|hundred|thousand|million|point)"
_LATE_TENS = "sixty|seventy|eighty|ninety"
_HUNDREDS = re.compile(
    rf"\b(?P<before>{_NUMBER_WORD} )?\b(?P<head>{_UNIT}) (?P<tens>{_LATE_TENS})(?:[ -](?P<unit>{_UNIT}))?\b"
    rf"(?![ -]{_NUMBER_WORD}\b)",
    re.IGNORECASE,
)
_SMALL = rf"(?:(?:{'|'.join(TENS)})(?:[ -](?:{_UNIT}))?|{'|'.join((*TEENS, *DIGITS))})\b"
_VERSION = re.compile(rf"\b{_SMALL}(?: point {_SMALL}){{2,}}(?! point\b)", re.IGNORECASE)
_CODE_WORD = re.compile(
    r"\b(?:number|phone|call|dial|card|account|code|pin|room|extension|zip|postcode|password|flight|id|passcode"
    r"|suite)\b"
    r"[^.!?]{0,30}$",
    re.IGNORECASE,
)
_CODE_DIGIT = rf"(?:(?:double|triple)[ -])?(?:{'|'.join(DIGITS)}|\d)\b"
_CODE = re.compile(
    rf"\b{_CODE_DIGIT}(?:(?:, |[ ,-]){_CODE_DIGIT}){{1,31}}(?![ -](?:hundred|thousand|million)\b)", re.IGNORECASE
)
_IN_PAIRS = re.compile(
    rf"\b(?:{_SMALL})(?:[ -](?:{_SMALL})){{1,15}}(?![ -](?:hundred|thousand|million|point|past|to|o'clock)\b)",
    re.IGNORECASE,
)
_ZERO_FIRST = re.compile(r"(?<![\d.,:/-])0\d+(?![\d:/])")
_PHONE_LENGTHS = {7, 10, 11}
_NATIONAL_LENGTH = 10
_REACH = 60
"""Code points before digits in which a word such as "code" counts."""
_MIN_DIGITS = 7
"""Digits that are one number wherever they stand."""
_MIN_CODE_DIGITS = 3
"""Digits that are one number behind a word such as "code" or "room"."""
_GROUPED_IN_FOURS = 4

_SPELLED = frozenset((*DIGITS, *TEENS, *TENS, *_TIMES))
_MIN_SPELLED_WORDS = 3
_HALVES_OF_THE_DAY = (["a", "m"], ["p", "m"])


def ends_in_spelling(text: str) -> bool:
    """Return whether ``text`` ends in three digits or letters: more may follow."""
    words = re.findall(r"[^\W_]+", text.lower())[-_MIN_SPELLED_WORDS:]
    if len(words) < _MIN_SPELLED_WORDS or words[-2:] in _HALVES_OF_THE_DAY:
        return False
    return all(word in _SPELLED or word.isdigit() or len(word) == 1 for word in words)


def find_codes(text: str, *, in_pairs: bool = False) -> list[tuple[int, int, str]]:
    """Find digit strings, such as a PIN: start, end and digits.

    Args:
        text: English, as it was said or typed.
        in_pairs: whether "twelve thirty four" is 1234 too, as where a number was asked for.
    """
    codes = [(found.start(), found.end(), found[0]) for found in _ZERO_FIRST.finditer(text)]
    for found in _CODE.finditer(text):
        digits = _figures(re.sub(r"[ ,-]+", " ", found[0]))
        if len(digits) >= _MIN_CODE_DIGITS:
            codes.append((found.start(), found.end(), digits))
    for found in _IN_PAIRS.finditer(text) if in_pairs else ():
        digits = "".join(_small(pair[0]) for pair in re.finditer(_SMALL, found[0], re.IGNORECASE))
        if len(digits) >= _MIN_CODE_DIGITS and all(
            found.end() <= start or end <= found.start() for start, end, _ in codes
        ):
            codes.append((found.start(), found.end(), digits))
    return sorted(codes)


def write_digit_strings(text: str) -> str:
    """Write an English text's digit strings in figures."""
    written = _VERSION.sub(
        lambda found: ".".join(map(_small, re.split(" point ", found[0], flags=re.IGNORECASE))), text
    )
    written = _GROUPS.sub(_join_groups, written)
    written = _FIGURES.sub(_join_groups, written)
    written = _DOUBLED.sub(_expand, written)
    return _HUNDREDS.sub(_spoken_hundreds, written)


def _join_groups(found: re.Match[str]) -> str:
    """Join groups between commas, where they are one number."""
    groups = [_figures(group) for group in found["groups"].split(", ")]
    digits = "".join(groups)
    behind = _CODE_WORD.search(found.string, max(0, found.start() - _REACH), found.start()) is not None
    if _is_count(groups) or len(digits) < (_MIN_CODE_DIGITS if behind else _MIN_DIGITS):
        return found[0]
    if min(map(len, groups)) > 1 and len(digits) in _PHONE_LENGTHS:
        return "-".join(groups)
    if all(len(group) == _GROUPED_IN_FOURS for group in groups):
        return " ".join(groups)
    # As the grammars write ten digits that are said without a pause.
    return f"{digits[:3]}-{digits[3:6]}-{digits[6:]}" if len(digits) == _NATIONAL_LENGTH else digits


def _is_count(groups: list[str]) -> bool:
    """Return whether somebody counts: "one, two, three"."""
    numbers = [int(group) for group in groups]
    return len(numbers) > 2 and len({after - before for before, after in itertools.pairwise(numbers)}) == 1


def _expand(found: re.Match[str]) -> str:
    """Write "double seven" as digits; other digits are left to the grammars."""
    words = found[0].lower()
    return _figures(words) if any(f"{word} " in words for word in _TIMES) and " " in words else found[0]


def _figures(group: str) -> str:
    """Write a group of digits in words, which may be figures already."""
    digits, times = "", 1
    for word in re.split("[ -]", group.lower()):
        if word in _TIMES:
            times = _TIMES[word]
        else:
            digits, times = digits + DIGITS.get(word, word) * times, 1
    return digits


def _small(words: str) -> str:
    """Write a number from 0 to 99."""
    head, *rest = re.split("[ -]", words.lower())
    if head in TENS:
        return TENS[head] + (UNITS[rest[0]] if rest else "0")
    return TEENS.get(head) or DIGITS[head]


def _spoken_hundreds(found: re.Match[str]) -> str:
    """Write "seven eighty eight" as 788; with minutes from 60 on it is no time."""
    if found["before"]:
        return found[0]
    unit = UNITS[found["unit"].lower()] if found["unit"] else "0"
    return UNITS[found["head"].lower()] + TENS[found["tens"].lower()] + unit
