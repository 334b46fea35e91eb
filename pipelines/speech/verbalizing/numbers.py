"""Figures in words."""

from __future__ import annotations

import functools

from num2words import num2words

MAX_DIGITS = 15
"""Of a number that is read as one; longer ones are read digit by digit."""

_DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def cardinal(figures: str) -> str:
    """Return a number in words, with its thousands and decimals."""
    sign, bare = ("minus ", figures[1:]) if figures[:1] in "-−" else ("", figures.lstrip("+"))
    whole, point, decimals = bare.replace(",", "").partition(".")
    words = _whole(whole) if whole else "zero"
    return sign + words + (f" point {digits(decimals)}" if point and decimals else "")


def ordinal(figures: str) -> str:
    """Return a whole number as an ordinal: "21" is "twenty first"."""
    bare = figures.replace(",", "")
    return digits(bare) if len(bare) > MAX_DIGITS else _plain(num2words(int(bare), to="ordinal"))


def year(figures: str) -> str:
    """Return a year: "1998" is "nineteen ninety eight", "2005" "two thousand five"."""
    number = int(figures)
    if 2000 <= number < 2010 or number % 1000 == 0:
        return cardinal(figures)
    century, rest = divmod(number, 100)
    if rest == 0:
        return f"{cardinal(str(century))} hundred"
    return f"{cardinal(str(century))} {f'oh {_DIGITS[rest]}' if rest < 10 else cardinal(str(rest))}"


def decade(figures: str) -> str:
    """Return the decade of a year: "1990" is "nineteen nineties"."""
    number = int(figures)
    if number % 100 == 0:
        return f"{year(figures)}s" if number % 1000 else "two thousands" if number == 2000 else f"{year(figures)}s"
    *century, tens = year(figures).split()
    return " ".join([*century, plural(tens)])


def plural(word: str) -> str:
    """Return the plural of a number word: "twenty" is "twenties"."""
    if word.endswith("y"):
        return f"{word[:-1]}ies"
    return f"{word}es" if word.endswith("x") else f"{word}s"


def digits(figures: str) -> str:
    """Return digits one by one; what is no digit is left out."""
    return " ".join(_DIGITS[int(digit)] for digit in figures if digit.isdecimal())


def denominator(figures: str, *, one: bool) -> str:
    """Return what a fraction is a number of: "half", "quarters", "eighths"."""
    name = {2: "half", 4: "quarter"}.get(int(figures)) or ordinal(figures)
    if one:
        return name
    return "halves" if name == "half" else f"{name}s"


@functools.lru_cache(maxsize=4096)
def _whole(figures: str) -> str:
    if len(figures) > MAX_DIGITS or (len(figures) > 1 and figures[0] == "0"):
        return digits(figures)
    return _plain(num2words(int(figures)))


def _plain(words: str) -> str:
    """Remove what is written and not said: hyphens, commas, "and"."""
    return words.replace("-", " ").replace(",", "").replace(" and ", " ")
