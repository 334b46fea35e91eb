"""Verbalization of figures, amounts, dates, addresses and abbreviations."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pipelines.speech.verbalizing import moments
from pipelines.speech.verbalizing.numbers import cardinal, decade, denominator, digits, ordinal, plural, year
from pipelines.speech.verbalizing.tables import ABBREVIATIONS, CURRENCIES, SYMBOLS, TITLES, UNITS, alternatives

if TYPE_CHECKING:
    from collections.abc import Callable

_WHOLE = r"\d{1,3}(?:,\d{3}){1,5}|\d{1,300}"
_NUMBER = rf"(?:(?:{_WHOLE})(?:\.\d{{1,300}})?|\.\d{{1,300}})"
_SIGNED = rf"(?:(?<![\w.,-])[-−+])?{_NUMBER}"
_MONTH = (
    "(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?"
    "|Nov(?:ember)?|Dec(?:ember)?)"
)
_DAYS = {
    **dict.fromkeys(("Mon",), "Monday"),
    **dict.fromkeys(("Tue", "Tues"), "Tuesday"),
    **dict.fromkeys(("Wed", "Weds"), "Wednesday"),
    **dict.fromkeys(("Thu", "Thur", "Thurs"), "Thursday"),
    **dict.fromkeys(("Fri",), "Friday"),
    **dict.fromkeys(("Sat",), "Saturday"),
    **dict.fromkeys(("Sun",), "Sunday"),
}
_DAY = rf"(?:{alternatives(_DAYS)})\.?"
_DASH = r"\s?[-–]\s?"
_BIG = r"(?:hundred|thousand|million|billion|trillion)"
_SCALES = {"k": "thousand", "K": "thousand", "m": "million", "M": "million", "bn": "billion", "B": "billion"}
_AMOUNT = rf"({_NUMBER})(?:\s?({_BIG})\b|({alternatives(_SCALES)})\b)?"


_ADDRESS_SIGNS = {".": "dot", "@": "at", "/": "slash", "-": "dash", "_": "underscore", ":": "colon", "+": "plus"}


def _address(found: re.Match[str]) -> str:
    """Read a web or mail address, its signs by name."""
    bare = re.sub(r"^https?://(?:www\.)?|^mailto:|/$", "", found[0], flags=re.IGNORECASE)
    return re.sub(r"[^\w\s]|_", lambda sign: f" {_ADDRESS_SIGNS.get(sign[0], '')} ", bare).strip()


def _span_of_names(found: re.Match[str]) -> str:
    """Read a span of days or months: "Mon-Fri" is "Monday to Friday"."""
    return " to ".join(_named(name) for name in found.groups())


def _named(name: str) -> str:
    """Return a day or a month in full."""
    bare = name.rstrip(".")
    return _DAYS.get(bare) or moments.MONTHS[moments.month_number(bare) - 1]


def _days_of_month(found: re.Match[str]) -> str:
    month, first, last, year_figures = found.groups()
    spoken = f"{_named(month)} {ordinal(first)} to {ordinal(last)}"
    return spoken + (f", {year(year_figures)}" if year_figures else "")


def _amounts(found: re.Match[str]) -> str:
    """Read a span of amounts: the currency is said once, behind both."""
    sign, first, last, big, scale = found.group("sign", "first", "last", "big", "scale")
    behind = f" {big or _SCALES[scale]}" if big or scale else ""
    return f"{cardinal(first)} to {cardinal(last)}{behind} {CURRENCIES[sign or found['behind']][1]}"


def _european(found: re.Match[str]) -> str:
    """Write a number whose decimals come after a comma as English has it."""
    whole, _, decimals = found[0].partition(",")
    return f"{whole.replace('.', ',')}.{decimals}"


def _written_amount(found: re.Match[str]) -> str:
    """Read an amount with hundredths whose currency is written out: "3.50 euros"."""
    one, several, cent, cents = next(names for names in CURRENCIES.values() if found[3] in names[:2])
    whole = f"{cardinal(found[1])} {one if found[1] == '1' else several}"
    return f"{whole} and {cardinal(found[2].lstrip('0') or '0')} {cent if found[2] == '01' else cents}"


def _line(found: re.Match[str]) -> str:
    """Read a number with a letter: "bus 20A" is "bus twenty A"."""
    return f"{found[1]} {_letters_and_figures_of(found[2]).strip()} {found[3]}"


def _phone(found: re.Match[str]) -> str:
    groups = re.findall(r"\d+", found[0])
    return ("plus " if found[0].startswith("+") else "") + ", ".join(map(digits, groups))


def _time(found: re.Match[str]) -> str:
    hour, minute, second, half_day = found.group("hour", "minute", "second", "half")
    words = moments.clock_time(hour, minute or "", second or "", half_day or "")
    if words is None:
        return found[0]
    ends = found[0].endswith(".") and not found.string[found.end() :].strip()
    return words + ("." if ends else "")


def _iso_date(found: re.Match[str]) -> str:
    return moments.date(found[1], int(found[2]), int(found[3])) or found[0]


def _american_date(found: re.Match[str]) -> str:
    first, second = int(found[1]), int(found[2])
    month, day = (first, second) if first <= 12 else (second, first)
    return moments.date(found[3], month, day) or found[0]


def _month_day(found: re.Match[str]) -> str:
    spoken = moments.date("", moments.month_number(found[1]), int(found[2]))
    return found[0] if spoken is None else spoken + (f", {year(found[3])}" if found[3] else "")


def _day_month(found: re.Match[str]) -> str:
    day, number = int(found[2]), moments.month_number(found[3])
    if not 1 <= day <= 31:
        return found[0]
    spoken = f"{found[1] or 'the '}{ordinal(str(day))} of {moments.MONTHS[number - 1]}"
    return spoken + (f", {year(found[4])}" if found[4] else "")


def _money(found: re.Match[str]) -> str:
    sign, number, big, scale = found[1] or found[6], found[2] or found[5], found[3], found[4]
    one, several, cent, cents = CURRENCIES[sign]
    if big or scale:
        return f"{cardinal(number)} {big or _SCALES[scale]} {several}"
    whole, _, hundredths = number.replace(",", "").partition(".")
    if len(hundredths) not in {0, 2} or not cent or int(hundredths or 0) == 0:
        bare = whole if int(hundredths or 0) == 0 else number
        return f"{cardinal(bare)} {one if bare in {'1', '01'} else several}"
    parts = [f"{cardinal(hundredths.lstrip('0'))} {cent if int(hundredths) == 1 else cents}"]
    if int(whole or 0):
        parts.insert(0, f"{cardinal(whole)} {one if int(whole) == 1 else several}")
    return " and ".join(parts)


def _measure(found: re.Match[str]) -> str:
    number, (one, several) = found[1], UNITS[found[2]]
    return f"{cardinal(number)} {one if number.lstrip('+-−') == '1' else several}"


def _degrees(found: re.Match[str]) -> str:
    scale = {"C": " Celsius", "F": " Fahrenheit"}.get(found[2] or "", "")
    return f"{cardinal(found[1])} degree{'' if found[1].lstrip('+-−') == '1' else 's'}{scale}"


def _fraction(found: re.Match[str]) -> str:
    whole, above, below = found.groups()
    if not 1 < int(below) <= 100 or not 0 < int(above) < int(below):
        return f"{f'{cardinal(whole)} ' if whole else ''}{cardinal(above)} slash {cardinal(below)}"
    if whole and above == "1":
        part = {"2": "a half", "4": "a quarter"}.get(below, f"one {denominator(below, one=True)}")
        return f"{cardinal(whole)} and {part}"
    spoken = f"{cardinal(above)} {denominator(below, one=above == '1')}"
    return f"{cardinal(whole)} and {spoken}" if whole else spoken


def _range(found: re.Match[str]) -> str:
    first, second = (_alone(figures) for figures in found.groups())
    return f"{first} to {second}"


def _alone(figures: str) -> str:
    """Read a lone number; of four figures maybe as a year."""
    if len(figures) == 4 and figures.isdecimal() and 1100 <= int(figures) < 2100 and int(figures) % 1000:
        return year(figures)
    return cardinal(figures)


def _version(found: re.Match[str]) -> str:
    return " point ".join(cardinal(part) for part in found[0].split("."))


def _letters_and_figures(found: re.Match[str]) -> str:
    """Read figures beside letters: "B12" is "B twelve", "A320" "A three twenty"."""
    return _letters_and_figures_of(found[0])


def _letters_and_figures_of(figures: str) -> str:
    if figures[0] == "0" or len(figures) > 3:
        return f" {digits(figures)} "
    if len(figures) == 3 and not figures.endswith("00"):
        rest = f"oh {digits(figures[2])}" if figures[1] == "0" else cardinal(figures[1:])
        return f" {digits(figures[0])} {rest} "
    return f" {cardinal(figures)} "


def _abbreviation(found: re.Match[str]) -> str:
    """Expand an abbreviation; keep the full stop of its sentence."""
    rest = found.string[found.end() :].lstrip()
    ends = found[0].endswith(".") and not rest
    return ABBREVIATIONS[found[0]] + ("." if ends else "")


def _symbol(found: re.Match[str]) -> str:
    return f" {SYMBOLS[found[0]]} "


_SIGNS = alternatives(sign for sign in CURRENCIES if not sign.isalpha())
_BEFORE_MARK = re.compile(r" +([,.;:!?])")
_CODES = alternatives(sign for sign in CURRENCIES if sign.isalpha())
_HOUR = r"(?<![\w:.,/-])(?P<hour>\d{1,2})"
_HALF = r"(?P<half>[AaPp])\.?[Mm]\b\.?(?=\W|$)"

_PLACES = (
    "bus|tram|train|line|route|gate|seat|row|room|platform|track|bay|exit|door|desk|counter|building|apartment|apt|flat|unit"
    "|suite|floor|flight|highway|road|number"
)
_CURRENCY_WORDS = alternatives(name for names in CURRENCIES.values() for name in names[:2] if names[2])
_BEHIND = rf"(?P<behind>{_SIGNS}|(?:{_CODES})\b)"

_RULES: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
    (
        re.compile(
            r"\b(?:https?://|www\.)[^\s<>\"']{1,500}[^\s<>\"'.,;:!?)]|\b[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}\b",
            re.IGNORECASE,
        ),
        _address,
    ),
    (re.compile(r"(?<![\w.])\w[\w-]{0,62}\.(?:com|org|net|edu|gov|io|ai|dev)\b(?:/[\w/-]{1,100})?"), _address),
    (re.compile(rf"\b({_DAY}){_DASH}({_DAY})(?!\w)"), _span_of_names),
    (re.compile(rf"\b({_MONTH})\.?{_DASH}({_MONTH})(?!\w)"), _span_of_names),
    (re.compile(rf"(?<=\d){_DASH}(?={_MONTH}\b)"), lambda _: " to "),
    (re.compile(rf"\b({alternatives(_DAYS)})(?=,? \d)"), lambda found: _named(found[1])),
    (re.compile(r"(?<![\w.,])\d{1,3}(?:\.\d{3}){1,4},\d{1,2}(?![\w,])"), _european),
    (re.compile(rf"(?<![\w.,])\d{{1,6}},\d\d(?=\s?(?:{_SIGNS}|(?:{_CODES}|{_CURRENCY_WORDS})\b))"), _european),
    (
        re.compile(
            rf"(?P<sign>{_SIGNS})\s?(?P<first>{_NUMBER}){_DASH}(?:{_SIGNS})?(?P<last>{_NUMBER})"
            rf"(?:\s?(?P<big>{_BIG})\b|(?P<scale>{alternatives(_SCALES)})\b)?(?P<behind>)"
        ),
        _amounts,
    ),
    (
        re.compile(
            rf"(?P<sign>)(?P<big>)(?P<scale>)(?<![\w.,-])(?P<first>{_NUMBER}){_DASH}(?P<last>{_NUMBER})\s?{_BEHIND}"
        ),
        _amounts,
    ),
    (
        re.compile(rf"(?<![\w.,])({_WHOLE})\.(\d\d) ({_CURRENCY_WORDS})\b"),
        _written_amount,
    ),
    (re.compile(r"(?<![\w/])24/7(?![\w/])"), lambda _: "twenty four seven"),
    (
        re.compile(r"\b((?:call|dial|ring|text|phone|Call|Dial|Ring|Text|Phone)(?: the)?) (\d{3})(?![\w%]|[.,-]\d)"),
        lambda found: f"{found[1]} {digits(found[2])}",
    ),
    (re.compile(r"(?<![\w.,$€£/-])911(?![\w%/-]|[.,]\d)"), lambda _: digits("911")),
    (
        re.compile(r"\b(?:[Ee]xt\.?|[Ee]xtension|(?<=\d )x) ?(\d{1,6})\b"),
        lambda found: f"extension {digits(found[1])}",
    ),
    (re.compile(rf"\b((?i:{_PLACES})) (\d{{1,4}})-?([A-Z])\b"), _line),
    (
        re.compile(r"\bv(\d{1,4}(?:\.\d{1,5}){0,5})\b(?!\.\d)"),
        lambda found: f"version {' point '.join(cardinal(part) for part in found[1].split('.'))}",
    ),
    (
        re.compile(r"\b([Tt]he|[Ee]arly|[Mm]id|[Ll]ate|[Hh]is|[Hh]er|[Mm]y|[Oo]ur|[Tt]heir|[Yy]our)([ -])(\d0)'?s\b"),
        lambda found: f"{found[1]} {plural(cardinal(found[3]))}",
    ),
    (re.compile(r"(?<=[\dmM])\.?\s?[-–]\s?(?=\d{1,2}(?::\d\d|\s?[AaPp]\.?[Mm]\b))"), lambda _: " to "),
    (re.compile(r"\b(\d)'(\d{1,2})(?:\"|'')"), lambda found: f"{cardinal(found[1])} foot {cardinal(found[2])}"),
    (re.compile(r"(?<![\w])'(\d0)'?s\b"), lambda found: plural(cardinal(found[1]))),
    (re.compile(r"(?<![\w.,])(1[1-9]\d0|20\d0)'?s\b"), lambda found: decade(found[1])),
    (re.compile(rf"{_HOUR}:(?P<minute>\d\d)(?::(?P<second>\d\d))?(?:\s?{_HALF})?(?![\d:])"), _time),
    (re.compile(rf"{_HOUR}(?P<minute>)(?P<second>)\s?{_HALF}"), _time),
    (re.compile(r"(?<![\w/-])(\d{4})-(\d\d)-(\d\d)(?![\w/-])"), _iso_date),
    (re.compile(r"(?<![\w/])(\d{1,2})/(\d{1,2})/(\d{4}|\d\d)(?![\w/])"), _american_date),
    (
        re.compile(rf"\b({_MONTH})\.? (\d{{1,2}}){_DASH}(\d{{1,2}})(?![\d:%/-]|\.\d)(?:,? (\d{{4}})\b)?"),
        _days_of_month,
    ),
    (re.compile(rf"\b({_MONTH})\.? (\d{{1,2}})(?:st|nd|rd|th)?\b(?![\d:%/]|\.\d)(?:,? (\d{{4}})\b)?"), _month_day),
    (re.compile(rf"\b([Tt]he )?(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? ({_MONTH})\b\.?(?:,? (\d{{4}})\b)?"), _day_month),
    (
        re.compile(
            r"(?<![\w.,+-])\+?(?:\d{1,3}[ -])?(?:\(\d{3}\) ?|\d{3}[ -])?\d{3}-\d{4}(?![\w-])"
            r"|(?<![\w+])\+\d{1,3}(?: \d{1,8}){2,5}\b"
        ),
        _phone,
    ),
    (re.compile(rf"({_SIGNS})\s?{_AMOUNT}()()"), _money),
    (re.compile(rf"\b({_CODES})\s{_AMOUNT}()()"), _money),
    (re.compile(rf"()()()()(?<![\w.,])({_NUMBER})\s?({_SIGNS}|(?:{_CODES})\b)"), _money),
    (
        re.compile(rf"(?<![\w.])({_NUMBER})\s?¢"),
        lambda found: f"{cardinal(found[1])} cent{'' if found[1] == '1' else 's'}",
    ),
    (re.compile(rf"({_SIGNED})\s?°\s?([CF])?(?!\w)"), _degrees),
    (re.compile(rf"({_SIGNED})\s?%"), lambda found: f"{cardinal(found[1])} percent"),
    (re.compile(rf"({_SIGNED})\s?({alternatives(UNITS)})(?![\w²³/'-])"), _measure),
    (re.compile(r"\b(?:No|no|Nr)\. ?(?=\d)|(?<![\w&])#(?=\d)"), lambda _: "number "),
    (re.compile(rf"\b({alternatives(TITLES)})\.? (?=[A-Z][a-z])"), lambda found: f"{TITLES[found[1]]} "),
    (re.compile(rf"(?<![\w.])(?:{alternatives(ABBREVIATIONS)})(?!\w)"), _abbreviation),
    (re.compile(r"(?<![\w.])(?:(\d{1,3}) )?(\d{1,3})/(\d{1,3})(?![\w/]|\.\d)"), _fraction),
    (re.compile(r"(?<![\w.,-])(\d{1,4}) ?[-–] ?(\d{1,4})(?![\w-]|[.,]\d)"), _range),
    (re.compile(rf"(?<![\w.])({_WHOLE})(?:st|nd|rd|th)\b"), lambda found: ordinal(found[1])),
    (re.compile(r"(?<![\w.])\d{1,5}(?:\.\d{1,5}){2,5}(?![\w]|\.\d)"), _version),
    (
        re.compile(r"(?<=[A-Za-z])-?\d{1,300}(?![\d.,]\d)|(?<![\w.,])\d{1,300}(?=[A-Za-z])"),
        lambda found: _letters_and_figures(_bare(found)),
    ),
    (
        re.compile(_SIGNED),
        lambda found: _alone(found[0].lstrip("+")) if found[0][:1] != "+" else f"plus {_alone(found[0][1:])}",
    ),
    (re.compile(r"\band/or\b"), lambda _: "and or"),
    (re.compile(r"(?<=\s)&(?=\s)|(?<=\w)&(?=\w)|[@+=§%°²³µ$€£¢]"), _symbol),
)


def _bare(found: re.Match[str]) -> re.Match[str]:
    bare = re.search(r"\d+", found[0])
    assert bare is not None
    return bare


def in_words(text: str) -> str:
    """Return a text with words and punctuation alone."""
    for pattern, spoken in _RULES:
        if pattern.search(text):
            text = pattern.sub(spoken, text)
    return _BEFORE_MARK.sub(r"\1", " ".join(text.split()))
