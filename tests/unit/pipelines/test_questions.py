"""Questions: which part of a turn asks, what kind of answer is asked for, and what a pronoun points at."""

from __future__ import annotations

import pytest

from pipelines.stages.answer_kinds import fits
from pipelines.stages.answering import Answer, Document
from pipelines.stages.follow_ups import points_at
from pipelines.stages.questions import question_in
from pipelines.stages.wording import paragraph_of


@pytest.mark.parametrize(
    ("said", "question"),
    [
        ("hello, I'd like a lasagne, do you have pasta", "Do you have pasta"),
        ("good morning, what does it cost to send five kilograms", "What does it cost to send five kilograms"),
        ("um, how many copies can I, no wait, how much is a copy actually?", "How much is a copy actually?"),
        ("I want a pizza", "I want a pizza"),
        ("is it far", "Is it far"),
        ("okay", "okay"),
        ("", ""),
    ],
)
def test_the_question_of_a_turn(said: str, question: str):
    assert question_in(said) == question


@pytest.mark.parametrize(
    ("question", "answer", "is_fitting"),
    [
        ("how much is a cleaning", "45 minutes", False),
        ("how much is a cleaning", "80 euros", True),
        ("how much is it", "free for members", True),
        ("how much does it cost", "cheques", False),
        ("what does a copy cost", "10", True),
        ("how long does it take", "45 minutes", True),
        ("how long does it take", "the dentist", False),
        ("how late are you open", "day and night", False),
        ("what time do you close", "8 pm", True),
        ("when are you open", "on weekdays", True),
        ("how many seats are there", "the blue ones", False),
        ("who pays the price", "the landlord", True),
        ("where is the price list", "at the door", True),
        ("what is a crown", "a cap for a tooth", True),
    ],
)
def test_the_kind_of_an_answer(question: str, answer: str, is_fitting: bool):
    assert fits(question, answer) is is_fitting


@pytest.mark.parametrize(
    ("said", "topic", "asked"),
    [
        ("how much is it anyway", "cleaning", "How much is the cleaning anyway"),
        ("does that cost anything", "cleaning", "Does the cleaning cost anything"),
        ("how much is that?", "latte", "How much is the latte?"),
        ("how much is a latte", "mocha", None),
    ],
)
def test_what_a_pronoun_points_at(said: str, topic: str, asked: str | None):
    found = points_at(said, topic)
    assert (found.asked if found else None) == asked


TEXT = """## Braces

No, we do not do braces. Doctor Lindner does.

| Treatment | Price |
|---|---|
| Filling | 95 euros |
"""


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("we do not do braces", "No, we do not do braces. Doctor Lindner does."),
        ("Doctor Lindner", "Doctor Lindner does."),
        ("95 euros", "Filling: 95 euros."),
    ],
)
def test_what_is_told_of_an_answer(answer: str, told: str):
    start = TEXT.index(answer)
    found = Answer(answer, 0.9, start, start + len(answer), "a")
    assert paragraph_of(found, [Document("a", TEXT)]) == told
