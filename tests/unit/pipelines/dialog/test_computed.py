"""What is computed from values, tables, and conditions between values."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from pipelines.dialog.agent.conditions import holds
from pipelines.dialog.agent.expressions import ExpressionError, as_text, evaluate, parse
from pipelines.dialog.agent.folder import check

if TYPE_CHECKING:
    from pathlib import Path

AGENT = """\
name: shop
parameters: {fee: "2"}
intents:
  buy:
    slots:
      things:
        type: items
        required: true
        prompt: What?
        say: "{count} {thing}"
        slots:
          thing: {type: closed, required: true, prompt: "Which?"}
          count: {type: number, default: "1"}
      people: {type: number, allow: {between: ["1", "8"]}}
      day: {type: date}
      gift: {type: text, required: true, prompt: "Which card?", when: {people: "> 2"}}
    computed: {total: sum of price * count}
    response: It is {total}.
"""


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2 + 3 * 4", "14"),
        ("(2 + 3) * 4", "20"),
        ("a - 1.5", "8.50"),
        ("a / 4", "2.50"),
        ("a / 3", "3.33"),
        ("sum of n * a", None),
        ("sum of n * m", "13"),
        ("sum of n \u00d7 m + 1", "14"),
        ("number of things * 2", "4"),
        ("a / (a - 10)", None),
        ("missing + 1", None),
    ],
)
def test_expressions(text: str, value: str | None):
    items = [{"n": Decimal(2), "m": Decimal(5)}.get, {"n": Decimal(3), "m": Decimal(1)}.get]
    found = evaluate(parse(text), {"a": Decimal(10)}.get, items)
    assert (None if found is None else as_text(found)) == value


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "missing at the end"),
        ("1 +", "missing at the end"),
        ("(1", "without its partner"),
        ("1 2", "is over"),
        ("__import__('os')", "is no part"),
        ("a.b", "is no part"),
        ("a" * 201, "201 characters"),
        ("* 2", "missing before"),
        ("((((1))))" * 30, "270 characters"),
    ],
)
def test_what_is_no_expression(text: str, problem: str):
    with pytest.raises(ExpressionError, match=problem):
        parse(text)


def test_conditions_between_values():
    values = {"out": "2026-01-05", "back": "2026-01-04", "seats": "4", "people": "5"}
    assert holds({"back": "< {out}", "people": "> {seats}"}, values)
    assert not holds({"back": ">= {out}"}, values)
    assert not holds({"back": "> {never}"}, values)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("", "", ""),
        ("sum of price * count", "price * count", "line 17: 'count' is a slot of an item, of which there are several"),
        ("sum of price * count", "sum of cost", "line 17: 'cost' names nothing: write one of"),
        ("sum of price * count", "sum of (price", "line 17: a parenthesis without its partner: close it"),
        ("{total: sum of price * count}", "{total: other + 1, other: total}", "line 17: 'total' needs itself"),
        ("{total: sum of price * count}", "{total: total}", "line 17: 'total' needs itself"),
        ("{total: sum of", "{day: people + 1, total: sum of", "line 17: 'day' is a slot, parameter or column as well"),
        ('"> 2"', '"> 8"', "line 16: `when`: '> 8' is never allowed for 'people', so that this is never true"),
        ('"> 2"', '"9"', "line 16: `when`: '9' is never allowed for 'people'"),
        ('"> 2"', '"many"', "line 16: `when`: 'many' is never allowed for 'people'"),
        ('"> 2"', '"< {day}"', ""),
        ('"> 2"', '"< {people}"', "line 16: `when` compares 'people' with itself"),
        ('"> 2"', '"< {persons}"', "line 16: `when` compares with 'persons', which is no slot or parameter"),
        ('{people: "> 2"}', '{day: "> friday"}', "line 16: `when`: '> friday' is never allowed for 'day'"),
        ('{people: "> 2"}', '{total: "> much"}', "line 16: `when`: 'total' is a number, and never 'much'"),
        ('{people: "> 2"}', '{things: "2"}', "line 16: `when`: 'things' is a list: compute its number"),
        ('{people: "> 2"}', "{gift: x}", "line 16: gift wait for each other, so that none is asked for"),
        ("{total: sum of", "{total: sum of sum of", "line 17: `sum of` within `sum of`: sum up once"),
    ],
)  # fmt: skip
def test_what_is_computed_is_checked(tmp_path: Path, old: str, new: str, problem: str):
    _write(tmp_path, AGENT.replace(old, new, 1))
    problems = [str(one) for one in check(tmp_path)]
    assert any(problem in one for one in problems) if problem else problems == []


def test_conditions_in_circles(tmp_path: Path):
    day = "day: {type: date, required: true, prompt: 'When?', when: {gift: x}}"
    _write(tmp_path, AGENT.replace("day: {type: date}", day).replace('{people: "> 2"}', '{day: "2026-01-05"}'))
    problems = [str(one) for one in check(tmp_path)]
    assert len(problems) == 2
    assert all("day and gift wait" in one or "gift and day wait" in one for one in problems)


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ("thing,price\npen,1\nink,many\n", "shop.csv, line 3: 'many' is no number, and 'price' no slot"),
        ("thing,price\npen,1\ninc,2\n", "shop.csv, line 3: 'inc' is no value of 'thing': write one of pen, ink"),
        ("thing,price\npen\n", "shop.csv, line 2: 1 values for 2 columns: write 2"),
        ("thing\npen\n", "shop.csv, line 1: the first line must name at least two columns"),
        ("thing,thing\npen,1\n", "shop.csv, line 1: the first line must name at least two columns"),
        ("thing,price\n", "shop.csv: holds no lines below"),
        ("", "shop.csv, line 1: the first line must name"),
        ("stuff,price\n1,1\n", "shop.csv, line 1: no column is named after a slot"),
    ],
)
def test_tables_are_checked(tmp_path: Path, table: str, problem: str):
    _write(tmp_path, AGENT, table)
    assert any(problem in str(one) for one in check(tmp_path))


def _write(folder: Path, agent: str, table: str = "thing,price\npen,1.20\nink,3\n") -> None:
    for name, text in (
        ("agent.yaml", agent),
        ("values/thing.txt", "pen = pens\nink\n"),
        ("sentences/buy.txt", "I want a pen\n"),
        ("tables/shop.csv", table),
    ):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
