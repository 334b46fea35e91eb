"""Sentences with numbers, times, dates, amounts and names, as an assistant says them; the same for the same seed."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_PLACES = ("the harbour", "the museum", "the main station", "the airport", "the library", "the town hall")
_CITIES = ("Lisbon", "Porto", "Hamburg", "Boston", "Chicago", "Dublin", "Vienna", "Toronto", "Seattle", "Madrid")
_NAMES = ("Mr. Miller", "Dr. Smith", "Mrs. Jackson", "Prof. Wilson", "Anna", "Peter", "Laura", "David")
_THINGS = ("tickets", "apples", "chairs", "letters", "bottles of water", "books", "eggs", "batteries")
_MONTHS = ("January", "March", "April", "June", "July", "August", "October", "November")
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

Chance = random.Random


def _time(chance: Chance) -> str:
    half = chance.choice(("am", " a.m.", "pm", " p.m."))
    return f"{chance.randint(1, 12)}:{chance.choice(('05', '10', '15', '20', '30', '40', '45', '50'))}{half}"


def _amount(chance: Chance) -> str:
    return f"${chance.randint(1, 90)}.{chance.choice(('05', '20', '25', '50', '75', '99'))}"


TEMPLATES: Sequence[Callable[[Chance], str]] = (
    lambda c: f"Your train to {c.choice(_CITIES)} leaves at {_time(c)} from platform {c.randint(1, 24)}.",
    lambda c: f"That will be {_amount(c)}, please.",
    lambda c: f"The total is {_amount(c)} for {c.randint(2, 30)} {c.choice(_THINGS)}.",
    lambda c: f"It is {c.randint(2, 35)}°C and sunny in {c.choice(_CITIES)} today.",
    lambda c: f"Your meeting with {c.choice(_NAMES)} is on {c.choice(_MONTHS)} {c.randint(1, 28)}.",
    lambda c: f"{c.choice(_PLACES).capitalize()} was built in {c.randint(1750, 1999)}.",
    lambda c: f"It is {c.randint(2, 95)} km from here to {c.choice(_PLACES)}.",
    lambda c: f"I have set a timer for {c.randint(2, 59)} minutes.",
    lambda c: f"There are {c.randint(1, 9)},{c.randint(100, 999)} people in the queue.",
    lambda c: f"The battery is at {c.randint(5, 99)}%.",
    lambda c: f"The {c.choice(('1st', '2nd', '3rd', '4th', '5th', '21st'))} door on the left is {c.choice(_PLACES)}.",
    lambda c: f"Call me back at 555-{c.randint(100, 999)}-{c.randint(1000, 9999)}.",
    lambda c: f"The museum is open from {c.randint(8, 11)} am to {c.randint(4, 9)} pm on {c.choice(_DAYS)}.",
    lambda c: f"Add {c.choice(('1/2', '3/4', '1/4'))} cup of sugar and {c.randint(2, 9)} eggs.",
    lambda c: f"{c.choice(_NAMES)} lives at {c.randint(2, 99)} Baker St. in {c.choice(_CITIES)}.",
    lambda c: f"The flight takes {c.randint(2, 11)} hours and {c.randint(5, 55)} minutes.",
    lambda c: f"Your order of {c.choice(_MONTHS)} {c.randint(1, 28)}, {c.randint(2010, 2024)} costs {_amount(c)}.",
    lambda c: f"The ferry is {c.randint(2, 45)} min late, and arrives at {_time(c)}.",
    lambda c: f"I found {c.randint(2, 40)} answers in the documents, but none of them is from {c.randint(1990, 2020)}.",
    lambda c: f"No problem, I will remind you on {c.choice(_DAYS)} to call {c.choice(_NAMES)}.",
)


def sentences(count: int, seed: int) -> list[str]:
    """Returns so many sentences, from each template about as many."""
    chance = random.Random(seed)
    return [TEMPLATES[number % len(TEMPLATES)](chance) for number in range(count)]
