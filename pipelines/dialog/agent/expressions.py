"""Arithmetic over values: ``sum of price * count + 2.50``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal, DivisionByZero, InvalidOperation
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Scope = Callable[[str], Decimal | None]

MAX_CHARACTERS = 200
_TOKEN = re.compile(r"\s*(?:(\d+(?:\.\d+)?)|(sum of\b|number of\b)|([A-Za-z]\w*)|([-+*/\u00d7\u00f7()]))")
_SAME = {"\u00d7": "*", "\u00f7": "/"}
_FORM = "write names, numbers, + - * /, parentheses, `sum of` and `number of`"
_CENT = Decimal("0.01")


class ExpressionError(ValueError):
    """A text is no expression; the message has the cure."""


@dataclass(frozen=True, slots=True)
class Expression:
    """Expression, or a part of one.

    Attributes:
        kind: ``number``, ``name``, ``sum``, ``count`` (of a list), or an operator.
        text: of a number or name.
        parts: operands.
    """

    kind: str
    text: str = ""
    parts: tuple[Expression, ...] = ()

    def names(self, *, in_items: bool | None = None) -> frozenset[str]:
        """Return the names in it.

        Args:
            in_items: whether those within ``sum of``, or the others; None: all.
        """
        own = {self.text} if self.kind in {"name", "count"} and in_items is not True else set[str]()
        if self.kind == "sum" and in_items is not None:
            return self.parts[0].names() if in_items else frozenset()
        return frozenset(own.union(*(part.names(in_items=in_items) for part in self.parts)))


def parse(text: str) -> Expression:
    """Read an expression.

    Raises:
        ExpressionError: it is none.
    """
    if len(text) > MAX_CHARACTERS:
        raise ExpressionError(f"{len(text)} characters: {MAX_CHARACTERS} are the most, divide it into two")
    tokens: list[tuple[str, str]] = []
    at, text = 0, text.rstrip()
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise ExpressionError(f"{text[at:].strip()[:20]!r} is no part of an expression: {_FORM}")
        kind = ("number", "list", "name", "sign")[(found.lastindex or 1) - 1]
        value = found[found.lastindex or 1]
        tokens.append((kind, _SAME.get(value, value)))
        at = found.end()
    reader = _Reader(tokens)
    whole = reader.sum()
    if reader.tokens:
        raise ExpressionError(f"{reader.tokens[0][1]!r} stands where the expression is over: {_FORM}")
    return whole


class _Reader:
    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self.tokens = tokens

    def sum(self) -> Expression:
        left = self.product()
        while self.tokens and self.tokens[0][1] in {"+", "-"}:
            left = Expression(self.tokens.pop(0)[1], parts=(left, self.product()))
        return left

    def product(self) -> Expression:
        left = self.factor()
        while self.tokens and self.tokens[0][1] in {"*", "/"}:
            left = Expression(self.tokens.pop(0)[1], parts=(left, self.factor()))
        return left

    def factor(self) -> Expression:
        kind, value = self.tokens.pop(0) if self.tokens else ("", "")
        if kind in {"number", "name"}:
            return Expression(kind, value)
        if value == "sum of":
            inner = self.product()
            if _has_sum(inner):
                raise ExpressionError("`sum of` within `sum of`: sum up once")
            return Expression("sum", parts=(inner,))
        if value == "number of" and self.tokens and self.tokens[0][0] == "name":
            return Expression("count", self.tokens.pop(0)[1])
        if value == "(":
            inner = self.sum()
            if self.tokens and self.tokens.pop(0)[1] == ")":
                return inner
            raise ExpressionError("a parenthesis without its partner: close it")
        raise ExpressionError(f"a value is missing{f' before {value!r}' if value else ' at the end'}: {_FORM}")


def _has_sum(expression: Expression) -> bool:
    return expression.kind in {"sum", "count"} or any(map(_has_sum, expression.parts))


def evaluate(expression: Expression, scope: Scope, items: Sequence[Scope]) -> Decimal | None:
    """Return the value of an expression; None where one that it needs is missing.

    Args:
        expression: as :func:`parse` has read it.
        scope: values by name.
        items: values by name of each item, for ``sum of``.
    """
    match expression.kind:
        case "number":
            return Decimal(expression.text)
        case "name":
            return scope(expression.text)
        case "count":
            return Decimal(len(items))
        case "sum":
            found = [evaluate(expression.parts[0], one, ()) for one in items]
            return None if None in found else sum((one for one in found if one is not None), Decimal())
    left, right = (evaluate(part, scope, items) for part in expression.parts)
    return None if left is None or right is None else _combined(expression.kind, left, right)


def _combined(sign: str, left: Decimal, right: Decimal) -> Decimal | None:
    try:
        match sign:
            case "+":
                return left + right
            case "-":
                return left - right
            case "*":
                return left * right
        return left / right
    except (DivisionByZero, InvalidOperation):
        return None


def as_text(number: Decimal) -> str:
    """Return a number with two decimals, or with none."""
    rounded = number.quantize(_CENT)
    return str(int(rounded)) if rounded == rounded.to_integral_value() else str(rounded)


def as_number(text: str) -> Decimal | None:
    """Return a text as a number; None where it is none."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None
