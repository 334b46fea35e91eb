"""Numbers in words and in figures: cardinals, decimals, ordinals and years."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipelines.text.values.tokens import Tokens

UNITS = {
    word: n
    for n, word in enumerate(
        [
            "zero",
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
            "seventeen",
            "eighteen",
            "nineteen",
        ]
    )
}
TENS = {
    word: 10 * n
    for n, word in enumerate(["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"], 2)
}
_SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_ORDINAL_UNITS = {
    word: n
    for n, word in enumerate(
        [
            "first",
            "second",
            "third",
            "fourth",
            "fifth",
            "sixth",
            "seventh",
            "eighth",
            "ninth",
            "tenth",
            "eleventh",
            "twelfth",
            "thirteenth",
            "fourteenth",
            "fifteenth",
            "sixteenth",
            "seventeenth",
            "eighteenth",
            "nineteenth",
        ],
        1,
    )
}
_ORDINAL_TENS = {f"{word[:-1]}ieth": n for word, n in TENS.items()}
_ORDINALS = {**_ORDINAL_UNITS, **_ORDINAL_TENS, "hundredth": 100}
NUMBER_WORDS = frozenset((*UNITS, *TENS, *_ORDINALS, *_SCALES, "hundred", "dozen", "minus", "negative", "-", "\u2212"))
"""Words that numbers begin with, figures and articles apart."""
_FIGURES = re.compile(r"\d+(?:\.\d+)?|\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_EUROPEAN = re.compile(r"\d{1,3}(?:\.\d{3})*,\d{1,2}|\d+,\d{2}")
"""Figures with a comma before the decimals: "1.250,50"."""
_ORDINAL_FIGURES = re.compile(r"(\d+)(?:st|nd|rd|th)")
_DOZEN = 12
MAX_FIGURES = 15
"""Digits of a number in figures; longer ones are codes, not quantities."""

Found = tuple[Decimal, int]
"""A number, and the place behind it."""


def cardinal(tokens: Tokens, at: int) -> tuple[int, int] | None:
    """Read a whole number in words or plain figures, without a sign."""
    total, rest, end, scale_before = 0, 0, at, 10**15
    found = False
    while True:
        group = _below_thousand(tokens, end if not found else _past_and(tokens, end))
        if group is None:
            break
        value, after = group
        scale = _SCALES.get(tokens[after], 0)
        if found and ((not scale and scale_before == 1) or scale >= scale_before):
            break
        if scale:
            total, end, scale_before, found = total + value * scale, after + 1, scale, True
            continue
        if found and value >= scale_before:
            break
        rest, end, found = value, after, True
        break
    return (total + rest, end) if found else None


def _past_and(tokens: Tokens, at: int) -> int:
    return at + 1 if tokens[at] == "and" else at


def _below_thousand(tokens: Tokens, at: int) -> tuple[int, int] | None:
    first = tokens[at]
    if first.isdecimal() and len(first) <= MAX_FIGURES:
        return int(first), at + 1
    if first in {"a", "an"} and tokens[at + 1] in {"hundred", *_SCALES}:
        head, end = 1, at + 1
    else:
        small = below_hundred(tokens, at)
        if small is None:
            return None
        head, end = small
    if tokens[end] != "hundred" or head >= 100:
        return head, end
    value, end = head * 100, end + 1
    more = below_hundred(tokens, _past_and(tokens, end))
    return (value + more[0], more[1]) if more and more[0] else (value, end)


def below_hundred(tokens: Tokens, at: int) -> tuple[int, int] | None:
    """Read 0 to 99 in words."""
    word = tokens[at]
    if word in UNITS:
        return UNITS[word], at + 1
    if word in TENS:
        after = at + 2 if tokens[at + 1] == "-" and tokens.is_glued(at + 1) else at + 1
        unit = UNITS.get(tokens[after], 0)
        return (TENS[word] + unit, after + 1) if 0 < unit < 10 else (TENS[word], at + 1)
    return None


def digit_pair(tokens: Tokens, at: int) -> tuple[int, int] | None:
    """Read the two last digits of a year, time or room: "oh five", "forty two"."""
    if tokens[at] in {"oh", "o", "zero"} and 0 < UNITS.get(tokens[at + 1], 0) < 10:
        return UNITS[tokens[at + 1]], at + 2
    pair = below_hundred(tokens, at)
    return pair if pair and pair[0] >= 10 else None


def number(tokens: Tokens, at: int) -> Found | None:
    """Read a number: signed, decimal, with a half, or a dozen."""
    if tokens[at] in {"minus", "negative"} or (tokens[at] in {"-", "\u2212"} and _is_sign(tokens, at)):
        found = number(tokens, at + 1)
        return (-found[0], found[1]) if found else None
    if tokens[at] == "dozen" or tokens.have(at, "a", "dozen"):
        return Decimal(_DOZEN), at + (1 if tokens[at] == "dozen" else 2)
    if tokens.have(at, "half", "a", "dozen"):
        return Decimal(_DOZEN // 2), at + 3
    figures = tokens[at]
    if _EUROPEAN.fullmatch(figures):
        return Decimal(figures.replace(".", "").replace(",", ".")), at + 1
    if _FIGURES.fullmatch(figures) and not figures.isdecimal():
        return _scaled(tokens, Decimal(figures.replace(",", "")), at + 1)
    whole = cardinal(tokens, at)
    return _spoken_hundreds(tokens, at) or _with_fraction(tokens, *whole) if whole else None


def _with_fraction(tokens: Tokens, whole: int, end: int) -> Found:
    """Add what follows a whole number: "point five", "and a half", "dozen"."""
    if tokens[end] == "point" and (digits := _digits(tokens, end + 1)):
        return _scaled(tokens, Decimal(f"{whole}.{digits[0]}"), digits[1])
    if tokens.have(end, "and", "a", "half"):
        return _scaled(tokens, whole + Decimal("0.5"), end + 3)
    return (Decimal(whole * _DOZEN), end + 1) if tokens[end] == "dozen" else (Decimal(whole), end)


def _spoken_hundreds(tokens: Tokens, at: int) -> Found | None:
    """Read "seven eighty eight", 788, but no time such as "seven thirty"."""
    head = UNITS.get(tokens[at], 0)
    if not 0 < head < 10 or (tokens[at - 1] in UNITS or tokens[at - 1] in TENS):
        return None
    pair = below_hundred(tokens, at + 1)
    if pair is None or pair[0] < 60 or tokens[pair[1]] in UNITS or tokens[pair[1]] in TENS:
        return None
    return Decimal(head * 100 + pair[0]), pair[1]


def _is_sign(tokens: Tokens, at: int) -> bool:
    return tokens.is_glued(at + 1) and not tokens.is_glued(at)


def _scaled(tokens: Tokens, value: Decimal, end: int) -> Found:
    if (scale := _SCALES.get(tokens[end])) is not None:
        return value * scale, end + 1
    return value, end


def _digits(tokens: Tokens, at: int) -> tuple[str, int] | None:
    if tokens[at].isdecimal():
        return tokens[at], at + 1
    digits, end = "", at
    while (digit := {"oh": 0, "o": 0, **UNITS}.get(tokens[end], 10)) < 10:
        digits, end = digits + str(digit), end + 1
    if digits:
        return digits, end
    pair = below_hundred(tokens, at)
    return (str(pair[0]), pair[1]) if pair else None


def ordinal(tokens: Tokens, at: int) -> tuple[int, int] | None:
    """Read an ordinal number: "first", "twenty first", "42nd", "hundredth"."""
    word = tokens[at]
    if match := _ORDINAL_FIGURES.fullmatch(word):
        return int(match[1]), at + 1
    if word in _ORDINALS:
        return _ORDINALS[word], at + 1
    after = at + 2 if tokens[at + 1] == "-" else at + 1
    if word in TENS and (unit := _ORDINAL_UNITS.get(tokens[after], 10)) < 10:
        return TENS[word] + unit, after + 1
    return None


def year(tokens: Tokens, at: int) -> tuple[int, int] | None:
    """Read a year from 1100 to 2199: "nineteen seventy one", "2028"."""
    head = below_hundred(tokens, at)
    if head and 11 <= head[0] <= 21:
        if tokens[head[1]] == "hundred":
            return head[0] * 100, head[1] + 1
        pair = digit_pair(tokens, head[1])
        if pair:
            return head[0] * 100 + pair[0], pair[1]
    whole = cardinal(tokens, at)
    is_year = whole is not None and 1100 <= whole[0] <= 2199
    return (
        whole if is_year and ((tokens[at].isdecimal() and len(tokens[at]) == 4) or not tokens[at].isdecimal()) else None
    )


def plain(value: Decimal) -> str:
    """Write a number without exponent and trailing zeros."""
    return str(int(value)) if value == value.to_integral_value() else f"{value:f}"
