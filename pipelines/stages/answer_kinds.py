"""Kind of answer that a question asks for: an amount of money, a time, a number."""

from __future__ import annotations

import re

_MONEY = re.compile(
    r"\bhow (?:much (?:is|are|was|were|will|would|do(?:es)? .*\b(?:cost|charge|pay|take)|for|to)|expensive|cheap)\b"
    r"|\b(?:cost|costs|price|prices|fee|fees|charge|charges)\b|\bwhat do you (?:take|ask) for\b"
    r"|\b(?:do|must|have to|need to)\b.*\bpay\b",
    re.IGNORECASE,
)
_LONG = re.compile(r"\bhow long\b", re.IGNORECASE)
_MANY = re.compile(r"\bhow (?:many|old|far|big|large|high|warm|fast)\b", re.IGNORECASE)
_WHEN = re.compile(r"\bwhen\b", re.IGNORECASE)
_CLOCK = re.compile(r"\b(?:what time|how late|how early)\b", re.IGNORECASE)
_NO_QUESTION = re.compile(r"\b(?:why|who|where|whether)\b", re.IGNORECASE)

_AMOUNT = re.compile(
    r"[$€£¥]|\b(?:euros?|cents?|dollars?|pounds?|pence|pennies|francs?|yen|eur|usd|gbp|percent|free|nothing|included"
    r"|no (?:fee|charge|cost)s?|gratis|pays|paid)\b|%",
    re.IGNORECASE,
)
_HOURS = re.compile(r"\d|\b(?:noon|midnight|o'clock|closed|round the clock|half past|quarter)\b", re.IGNORECASE)
_NUMBER = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|hundred|thousand|million|half|quarter"
    r"|twice|once|no|none|several|many|few|all|any|both|single|unlimited)\b",
    re.IGNORECASE,
)
_UNITS = re.compile(
    r"\b(?:seconds?|minutes?|hours?|days?|weeks?|months?|years?|centur\w+|decades?|nights?|forever|until|till|long)\b",
    re.IGNORECASE,
)
_TIMES = re.compile(
    r"\d|\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|january|february|march|april|may|june|july|august|september"
    r"|october|november|december|morning|noon|afternoon|evening|night|midnight|today|tomorrow|daily|always|never|closed"
    r"|after|before|during|weekends?|weekdays?|summer|winter|spring|autumn|century|soon|immediately|once|when|day"
    r"|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b",
    re.IGNORECASE,
)

_SIZE = re.compile(r"\bhow (?:big|large|high|tall|deep|far|wide|near|close)\b", re.IGNORECASE)
_COUNT = re.compile(r"\bhow many \w+", re.IGNORECASE)
_LENGTH = re.compile(
    r"\b(?:(?:kilo|centi|milli)?met(?:er|re)s?|[kcm]?m|miles?|feet|foot|inch(?:es)?|minutes?|next|near|beside|behind"
    r"|opposite|seats?|people|persons?)\b",
    re.IGNORECASE,
)
_PRICED = re.compile(
    r"[$€£¥]\s*\d+(?:[.,]\d+)?|\d+(?:[.,]\d+)? (?:euros?|cents?|dollars?|pounds?|pence)\b(?: \d+)?"
    r"|\b\d{1,2}:\d{2}\b|\b\d{1,2} ?[ap]\.?m\b\.?",
    re.IGNORECASE,
)
"""Prices and times of day, which tell no size and no number."""
_DURATION = re.compile(r"\b\w+ (?:seconds?|minutes?|hours?|days?|weeks?|months?|years?)\b", re.IGNORECASE)


def asks_for_money(question: str) -> bool:
    """Return whether a question asks for a price."""
    return _MONEY.search(question) is not None and _NO_QUESTION.search(question) is None


def asks_for_hours(question: str) -> bool:
    """Return whether a question asks for a time of day, or when something is open."""
    is_open = re.search(r"\b(?:open|close[sd]?|shut)\b", question, re.IGNORECASE) is not None
    return _CLOCK.search(question) is not None or (_WHEN.search(question) is not None and is_open)


def is_hour(text: str) -> bool:
    """Return whether a text tells times of day."""
    return _HOURS.search(text) is not None


def is_amount(text: str) -> bool:
    """Return whether a text has an amount of money, or says that it is free."""
    return _AMOUNT.search(text) is not None


def fits(question: str, answer: str) -> bool:
    """Return whether an answer may be of the kind that is asked for.

    Args:
        question: English.
        answer: the words that answer it, as they stand in a document.
    """
    if _NO_QUESTION.search(question):
        return True
    if _MONEY.search(question):
        return _AMOUNT.search(answer) is not None or (_NUMBER.search(answer) is not None and not _UNITS.search(answer))
    if _CLOCK.search(question):
        return _HOURS.search(answer) is not None
    if _LONG.search(question):
        return _NUMBER.search(answer) is not None or _UNITS.search(answer) is not None
    if _MANY.search(question):
        return _NUMBER.search(answer) is not None
    return _WHEN.search(question) is None or _TIMES.search(answer) is not None


def states(question: str, statement: str) -> bool:
    """Return whether a statement has what is asked for.

    A price or a time of day is no size, and no number of things.

    Args:
        question: English.
        statement: a sentence, or a row of a table.
    """
    sized = _SIZE.search(question)
    counted = _COUNT.search(question)
    if sized is not None or (counted is not None and not _MONEY.search(counted[0])):
        rest = _PRICED.sub(" ", statement)
        if counted is not None and not _UNITS.search(counted[0]):
            rest = _DURATION.sub(" ", rest)
        return (_LENGTH if sized is not None else _NUMBER).search(rest) is not None
    if asks_for_money(question):
        return is_amount(statement)
    return fits(question, statement)
