"""What people dictate: numbers, telephone numbers, mail addresses, names."""

from __future__ import annotations

import pytest

from pipelines.text.dictated import find_digits, find_mail_addresses, find_phones
from pipelines.text.person_names import find_person


@pytest.mark.parametrize(
    ("said", "asked", "unasked"),
    [
        ("40718", ["40718"], ["40718"]),
        ("four oh seven one eight", ["40718"], ["40718"]),
        ("forty seven eighteen", ["4718"], []),
        ("it's four oh seven, um, one eight", ["40718"], []),
        ("my PIN is 4471", ["4471"], ["4471"]),
        ("double four oh nine two", ["44092"], ["44092"]),
        ("nine", ["9"], []),
        ("oh, which number", [], []),
        ("no idea", [], []),
    ],
)
def test_digits(said: str, asked: list[str], unasked: list[str]):
    assert [one.value for one in find_digits(said, is_asked=True)] == asked
    if unasked or not asked:
        assert [one.value for one in find_digits(said)] == unasked


@pytest.mark.parametrize(
    ("said", "numbers"),
    [
        ("0151 2233 471", ["01512233471"]),
        ("it's 0160-998-1204 thanks", ["01609981204"]),
        ("oh one seven two five five five one nine", ["017255519"]),
        ("four seven one double eight three", ["471883"]),
        ("plus four nine 171 555 01 23", ["+491715550123"]),
        ("my number is +49 30 123456", ["+4930123456"]),
        ("Zero, one, five, one, two, two, three, three, four hundred, seventy one.", ["01512233471"]),
        ("oh eight hundred, one, two, three, four", ["08001234"]),
        ("zero, one, five, seven, seventy, one, twenty, three, forty", ["0157712340"]),
        ("at nine", []),
        ("It's a one seven nine, two four six, eight zero.", ["017924680"]),
    ],
)
def test_phones(said: str, numbers: list[str]):
    assert [one.value for one in find_phones(said, is_asked=True)] == numbers


@pytest.mark.parametrize(
    ("said", "address"),
    [
        ("anna.weber@example.com", "anna.weber@example.com"),
        ("it's anna dot weber at example dot com", "anna.weber@example.com"),
        ("my email is A underscore B at mail dash box dot co dot uk please", "a_b@mail-box.co.uk"),
        ("send it to w.kaufmann at example dot net", "w.kaufmann@example.net"),
        ("I am at home", None),
    ],
)
def test_mail_addresses(said: str, address: str | None):
    assert [one.value for one in find_mail_addresses(said)] == ([address] if address else [])


@pytest.mark.parametrize(
    ("said", "asked", "unasked"),
    [
        ("Anna Weber", "Anna Weber", None),
        ("it's Weber, Anna Weber", "Anna Weber", None),
        ("yes, um, anna weber please", "Anna Weber", None),
        ("my name is Marie Lefevre", "Marie Lefevre", "Marie Lefevre"),
        ("good morning, this is Julia Brandt, I need a filling", "Julia Brandt", "Julia Brandt"),
        ("hi, John Smith here, I have a problem", "John Smith", "John Smith"),
        ("it says Lehmann on the door, Ursula Lehmann", "Ursula Lehmann", None),
        ("it's for my daughter Lena Brandt", "Lena Brandt", None),
        ("W E B E R", "Weber", None),
        ("Weber Anna Weber", "Anna Weber", None),
        ("there you are", None, None),
        ("Meyer, M A I E R", "Maier", None),
        ("the name is O'Brien", "O'Brien", "O'Brien"),
        ("let me think", None, None),
        ("this is wrong", None, None),
        ("no idea", None, None),
    ],
)
def test_names(said: str, asked: str | None, unasked: str | None):
    found = find_person(said, is_asked=True)
    assert (found.value if found else None) == asked
    found = find_person(said)
    assert (found.value if found else None) == unasked
