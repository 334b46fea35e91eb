"""Amounts of money, percentages, temperatures, ordinals and plain numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipelines.data.values import ValueKind
from pipelines.text.values.numerals import number, ordinal, plain

if TYPE_CHECKING:
    from decimal import Decimal

    from pipelines.text.values.tokens import Tokens

_SIGNS = {"$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY"}
MONEY_SIGNS = frozenset(_SIGNS)
_CURRENCIES = {
    "dollar": "USD",
    "dollars": "USD",
    "buck": "USD",
    "bucks": "USD",
    "usd": "USD",
    "euro": "EUR",
    "euros": "EUR",
    "eur": "EUR",
    "pound": "GBP",
    "pounds": "GBP",
    "quid": "GBP",
    "yen": "JPY",
    "yuan": "CNY",
    "rupee": "INR",
    "rupees": "INR",
    "franc": "CHF",
    "francs": "CHF",
    "rubles": "RUB",
    "pesos": "MXN",
    "kronor": "SEK",
    "zloty": "PLN",
    "won": "KRW",
}
_QUALIFIED = {
    ("swiss", "francs"): "CHF",
    ("swiss", "franc"): "CHF",
    ("canadian", "dollars"): "CAD",
    ("australian", "dollars"): "AUD",
    ("us", "dollars"): "USD",
    ("american", "dollars"): "USD",
    ("british", "pounds"): "GBP",
    ("pounds", "sterling"): "GBP",
    ("japanese", "yen"): "JPY",
    ("indian", "rupees"): "INR",
}
_HUNDREDTHS = {"cent": "USD", "cents": "USD", "pence": "GBP", "p": "GBP"}
_AFTER_AMOUNTS = frozenset(("", ".", ",", "!", "?", "please", "to", "from", "for", "in", "on", "and", "each"))
"""What follows "twelve dollars fifty": nothing that there may be fifty of."""
_SCALES = {"celsius": "celsius", "c": "celsius", "fahrenheit": "fahrenheit", "f": "fahrenheit"}


@dataclass(frozen=True, slots=True)
class Quantity:
    """Quantity up to the token ``end``; see ``model.Value``."""

    kind: ValueKind
    value: str
    end: int
    unit: str = ""


def quantity(tokens: Tokens, at: int) -> Quantity | None:
    """Read a quantity; the longest reading counts."""
    found = [read for read in (_with_sign(tokens, at), _counted(tokens, at), _ordinal(tokens, at)) if read is not None]
    return max(found, key=lambda read: read.end) if found else None


def _with_sign(tokens: Tokens, at: int) -> Quantity | None:
    """Read "$19.99"."""
    currency = _SIGNS.get(tokens[at])
    found = number(tokens, at + 1) if currency else None
    return Quantity(ValueKind.MONEY, _amount(found[0]), found[1], currency or "") if found else None


def _counted(tokens: Tokens, at: int) -> Quantity | None:
    found = number(tokens, at)
    if found is None:
        return None
    value, end = found
    of_a_kind = _percentage(tokens, value, end) or _money(tokens, value, end) or _temperature(tokens, value, end)
    # "one of them" counts nothing.
    is_article = end == at + 1 and tokens[at] == "one"
    return of_a_kind or (None if is_article else Quantity(ValueKind.NUMBER, plain(value), end))


def _percentage(tokens: Tokens, value: Decimal, end: int) -> Quantity | None:
    if tokens[end] in {"percent", "%"}:
        return Quantity(ValueKind.PERCENTAGE, plain(value), end + 1)
    return Quantity(ValueKind.PERCENTAGE, plain(value), end + 2) if tokens.have(end, "per", "cent") else None


def _money(tokens: Tokens, value: Decimal, end: int) -> Quantity | None:
    word = tokens[end]
    if qualified := _QUALIFIED.get((word, tokens[end + 1])):
        return Quantity(ValueKind.MONEY, _amount(value), end + 2, qualified)
    if word in _HUNDREDTHS and (word != "p" or tokens.is_glued(end)):
        return Quantity(ValueKind.MONEY, _amount(value / 100), end + 1, _HUNDREDTHS[word])
    currency = _SIGNS.get(word) or _CURRENCIES.get(word)
    if currency is None:
        return None
    following = end + 2 if tokens[end + 1] == "and" else end + 1
    cents = number(tokens, following)
    if cents and tokens[cents[1]] in _HUNDREDTHS and 0 < cents[0] < 100:
        return Quantity(ValueKind.MONEY, _amount(value + cents[0] / 100), cents[1] + 1, currency)
    if cents and 10 <= cents[0] < 100 and following == end + 1 and tokens[cents[1]] in _AFTER_AMOUNTS:
        return Quantity(ValueKind.MONEY, _amount(value + cents[0] / 100), cents[1], currency)
    return Quantity(ValueKind.MONEY, _amount(value), end + 1, currency)


def _temperature(tokens: Tokens, value: Decimal, end: int) -> Quantity | None:
    if tokens[end] not in {"degrees", "degree", "°"}:
        return None
    end += 1
    unit = _SCALES.get(tokens[end], "")
    end = end + 1 if unit else end
    if tokens.have(end, "below", "zero"):
        value, end = -value, end + 2
    return Quantity(ValueKind.TEMPERATURE, plain(value), end, unit)


def _ordinal(tokens: Tokens, at: int) -> Quantity | None:
    found = ordinal(tokens, at)
    # "a second" and "ten seconds" are durations, which are read before.
    if found is None or (tokens[at] == "second" and tokens[at - 1] in {"a", "per", "each"}):
        return None
    return Quantity(ValueKind.ORDINAL, str(found[0]), found[1])


def _amount(value: Decimal) -> str:
    """Write an amount of money: without decimals, or with two at least."""
    written = plain(value)
    return written if "." not in written or len(written.split(".")[1]) > 1 else f"{written}0"
