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
    r"|no (?:fee|charge|cost)s?|gratis|pays?|paid)\b|%",
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


def asks_for_money(question: str) -> bool:
    """Return whether a question asks for a price."""
    return _MONEY.search(question) is not None and _NO_QUESTION.search(question) is None


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
