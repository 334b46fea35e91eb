"""Numbers and mail addresses, as people dictate them.

"Double four" is 44, and "anna dot weber at example dot com" a mail address.
"""

from __future__ import annotations

import itertools
import re
from typing import NamedTuple

from pipelines.text.digit_strings import DIGITS, TEENS, TENS, find_codes

MIN_PHONE_DIGITS, MAX_PHONE_DIGITS = 5, 15
"""Of a telephone number; ITU-T E.164 has 15 at most."""


class Dictated(NamedTuple):
    """A value in a text: code points ``start`` to before ``end``, and what is meant."""

    start: int
    end: int
    value: str


_UNIT = r"(?:one|two|three|four|five|six|seven|eight|nine)"
_WORD = r"(?:zero|oh|o|one|two|three|four|five|six|seven|eight|nine|double|triple|hundred|\d+)"
_MIXED = re.compile(
    rf"(?:\+|\bplus\s+)?\b{_WORD}\b(?:[\s,.-]+(?:and\s+|then\s+|um+[,\s]+|uh+[,\s]+)?{_WORD}\b)*", re.IGNORECASE
)
_PAIRS = (
    r"(?:ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen"
    r"|(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)"
    rf"(?:[ ,-]{{1,2}}{_UNIT})?)"
)
_ANY = re.compile(
    rf"(?:\+|\bplus\s+)?\b(?:{_PAIRS}|{_WORD})\b(?:[\s,.-]+(?:um+[,\s]+|uh+[,\s]+)?(?:{_PAIRS}|{_WORD})\b)*",
    re.IGNORECASE,
)
_HUNDREDS = re.compile(rf"\b({_UNIT}|[1-9])[ ,]+hundred(?:[ ,]+(?:and )?({_PAIRS}))?\b", re.IGNORECASE)
"""Three digits of a number: "four hundred seventy one"."""
_CORRECTING = re.compile(
    r"[\s,.]*(?:(?:ah|oh|on|no|sorry|wait|i mean|um+|uh+|actually|pardon)[\s,.]+)*"
    r"(?:no|sorry|wait|i mean|actually)[\s,.]+(?:(?:sorry|it's|that's|wait|no)[\s,.]+)*",
    re.IGNORECASE,
)
_SAID_WHOLE = 0.7
"""Of the digits of a number: so many said again take the place of all."""
_MISHEARD_ZERO = re.compile(
    r"(?:^|(?<=is )|(?<=it's )|(?<=, )|(?<=number ))(?:a|or|of)"
    rf"(?=[ ,]+{_UNIT}\b[ ,]+(?:{_UNIT}|zero|oh|o|double|triple)\b)",
    re.IGNORECASE,
)
"""What recognizers make of "oh" at the beginning of a number."""
_GAP = re.compile(r"[\s,.-]*(?:and|then|um+|uh+)?[\s,.-]*")

_SIGN = r"\.| dot | point | underscore | dash | hyphen | minus | plus "
_DOMAIN = r"(?:@| at | @ )(?P<domain>[\w-]+(?:(?: dash | hyphen )[\w-]+)*(?:(?:\.| dot | point )[\w-]+)+)"
_MAIL = re.compile(rf"(?P<local>[\w+-]+(?:(?:{_SIGN})[\w+-]+)*){_DOMAIN}", re.IGNORECASE)
_MAIL_OF_SENTENCES = re.compile(rf"(?P<local>[\w+-]+(?:(?:{_SIGN}|\. )[\w+-]+)*){_DOMAIN}", re.IGNORECASE)
_SIGNS = {"dot": ".", "point": ".", "underscore": "_", "dash": "-", "hyphen": "-", "minus": "-", "plus": "+"}
_MAIL_LEAD = re.compile(
    r"^(?:(?:my|the|it|it's|its|is|that's|email|e-mail|mail|address|send|to|write|um|uh|yes|okay)\s+)+", re.IGNORECASE
)


def _zeros_heard(text: str) -> str:
    """Write an "oh" that was heard as "a", "or" or "of", of the same length."""
    return _MISHEARD_ZERO.sub(lambda found: "oh"[-len(found[0]) :] if len(found[0]) > 1 else "o", text)


def find_digits(text: str, *, is_asked: bool = False) -> list[Dictated]:
    """Find numbers that are told in digits or pairs: "four oh seven eighteen".

    Args:
        text: English, as it was said or typed.
        is_asked: whether such a number was asked for: then it may be short, and told in pairs.
    """
    if is_asked:
        text = _zeros_heard(text)
    else:
        found = [Dictated(start, end, digits) for start, end, digits in find_codes(text)]
        figures = (match for match in re.finditer(r"(?<![\w.,:/-])\d{4,}(?![\w/:%-]|[.,]\d)", text))
        taken = {(one.start, one.end) for one in found}
        return sorted([*found, *(Dictated(*it.span(), it[0]) for it in figures if it.span() not in taken)])
    if (corrected := _corrected(text)) is not None:
        return [corrected]
    spans = [Dictated(*match.span(), _figures(match[0])) for match in _ANY.finditer(text)]
    spans = [one for one in spans if len(one.value.lstrip("+")) > 1 or len(spans) == 1]
    gaps = (text[one.end : other.start] for one, other in itertools.pairwise(spans))
    if len(spans) > 1 and all(_GAP.fullmatch(gap) for gap in gaps):
        return [Dictated(spans[0].start, spans[-1].end, "".join(one.value for one in spans).replace("+", ""))]
    return [
        one._replace(value=one.value.lstrip("+"))
        for one in spans
        if one.value and text[one.start : one.end].lower() not in {"oh", "o"}
    ]


def find_phones(text: str, *, is_asked: bool = False) -> list[Dictated]:
    """Find telephone numbers: the digits, with a plus where one was said.

    Args:
        text: English, as it was said or typed.
        is_asked: whether one was asked for.
    """
    found: list[Dictated] = []
    text = _zeros_heard(text) if is_asked else text
    if is_asked and (corrected := _corrected(text)) is not None:
        return [corrected]
    for match in _MIXED.finditer(text) if not is_asked else _ANY.finditer(text):
        said = match[0].strip()
        value = ("+" if re.match(r"\+|plus\b", said, re.IGNORECASE) else "") + _figures(said).lstrip("+")
        least = MIN_PHONE_DIGITS if is_asked else MIN_PHONE_DIGITS + 1
        if least <= len(value.lstrip("+")) <= MAX_PHONE_DIGITS:
            found.append(Dictated(match.start(), match.start() + len(said), value))
    return found


def find_mail_addresses(text: str, *, is_asked: bool = False) -> list[Dictated]:
    """Find mail addresses, dictated or written; in lower case.

    Args:
        text: English, as it was said or typed.
        is_asked: whether one was asked for: then "Jan. Kowal at" is "jan.kowal@", as recognizers write a dot.
    """
    found = []
    for match in (_MAIL_OF_SENTENCES if is_asked else _MAIL).finditer(text):
        local, start = match["local"], match.start()
        lead = _MAIL_LEAD.match(local)
        if lead is not None and lead.end() < len(local):
            local, start = local[lead.end() :], start + lead.end()
        written = f"{_written(local)}@{_written(match['domain'])}"
        found.append(Dictated(start, match.end(), written))
    return found


def _corrected(text: str) -> Dictated | None:
    """Return a number with its last group said again: "four, no, five"."""
    spans = list(_ANY.finditer(text))
    for first, second in itertools.pairwise(spans):
        if not _CORRECTING.fullmatch(text[first.end() : second.start()]):
            continue
        before, again = _figures(first[0]), _figures(second[0])
        if len(again) < _SAID_WHOLE * len(before):
            groups = re.split(r"[,.]\s*" if "," in first[0] else r"\s+", first[0].strip(" ,."))
            again = _figures(", ".join(groups[:-1])) + again
        return Dictated(first.start(), second.end(), again)
    return None


def _figures(said: str) -> str:
    said = _HUNDREDS.sub(lambda found: f"{_figures(found[1])}{_figures(found[2] or '').zfill(2)} ", said)
    digits, times, tens = "", 1, ""
    for word in re.findall(r"[a-z]+|\d+|\+", said.lower()):
        if tens and word in DIGITS and word not in {"oh", "o", "zero"}:
            digits, tens = digits + TENS[tens] + DIGITS[word], ""
            continue
        if tens:
            digits, tens = digits + TENS[tens] + "0", ""
        if word in {"double", "triple"}:
            times = 2 if word == "double" else 3
        elif word in TENS:
            tens = word
        elif word in {"plus", "+"}:
            digits += "+"
        else:
            digits, times = (
                digits + (DIGITS.get(word) or TEENS.get(word) or (word if word.isdigit() else "")) * times,
                1,
            )
    return digits + (TENS[tens] + "0" if tens else "")


def _written(dictated: str) -> str:
    words = re.split(r"\s+", dictated.strip().lower())
    return "".join(_SIGNS.get(word, word) for word in words)
