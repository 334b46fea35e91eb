"""Questions: which part of a turn asks, what kind of answer is asked for, and what a pronoun points at."""

from __future__ import annotations

import pytest

from pipelines.data.answers import Answer, Document
from pipelines.stages.answer_kinds import fits, states
from pipelines.stages.follow_ups import points_at
from pipelines.stages.questions import asks, question_in, requests
from pipelines.stages.statements import days_in, most_like, statements_of
from pipelines.stages.wording import paragraph_of


@pytest.mark.parametrize(
    ("said", "question"),
    [
        ("hello, I'd like a lasagne, do you have pasta", "Do you have pasta"),
        ("good morning, what does it cost to send five kilograms", "What does it cost to send five kilograms"),
        ("um, how many copies can I, no wait, how much is a copy actually?", "How much is a copy?"),
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
        ("Doctor Lindner", "No, we do not do braces. Doctor Lindner does."),
        ("95 euros", "Filling: 95 euros."),
    ],
)
def test_what_is_told_of_an_answer(answer: str, told: str):
    start = TEXT.index(answer)
    found = Answer(answer, 0.9, start, start + len(answer), "a")
    assert paragraph_of(found, [Document("a", TEXT)]) == told


MENU = """| Pizza | Small | Large |
|---|---|---|
| Hawaii | 7 euros | 11 euros |
| Salami | 6 euros | 10 euros |

| Transfer | Price |
|---|---|
| Transfer abroad | 7 euros |
| Transfer at home | free |
"""


@pytest.mark.parametrize(
    ("first", "last", "told"),
    [
        ("Hawaii", "11 euros", "Hawaii: Small 7 euros, Large 11 euros."),
        ("Transfer abroad", "free", "Transfer abroad: 7 euros. Transfer at home: free."),
    ],
)
def test_rows_are_told_with_the_headings_of_their_table(first: str, last: str, told: str):
    start, end = MENU.index(first), MENU.index(last) + len(last)
    assert paragraph_of(Answer(MENU[start:end], 0.9, start, end, "a"), [Document("a", MENU)]) == told


@pytest.mark.parametrize(
    ("question", "statement", "is_told"),
    [
        ("how big is a large pizza", "A large pizza measures 32 centimetres.", True),
        ("how big can a parcel be", "Size Large: Up to 15 kilograms; Price 11 pounds 40.", False),
        ("how many books may I take", "You can borrow up to 20 items.", True),
        ("how many books may I take", "Books can be kept for four weeks.", False),
        ("how many days does it take", "It takes two working days.", True),
        ("how many calories are in it", "Margherita: Small 6 euros.", False),
        ("what do you take for the delivery", "The last delivery leaves at 22:30.", False),
        ("what do you take for the delivery", "Delivery costs 2.90 euros.", True),
    ],
)
def test_what_a_statement_has(question: str, statement: str, *, is_told: bool):
    assert states(question, statement) is is_told


@pytest.mark.parametrize(
    ("said", "days"),
    [
        ("Monday to Friday 9:00 to 18:00", {0, 1, 2, 3, 4}),
        ("are you there at the weekend, or on Fridays", {4, 5, 6}),
        ("Saturday to Monday", {0, 5, 6}),
        ("every day", set(range(7))),
        ("tomorrow", set()),
    ],
)
def test_days_of_a_text(said: str, days: set[int]):
    assert days_in(said) == days


def test_the_statement_that_is_most_like_a_question_answers():
    text = "On Sundays it opens at eleven. It is closed on Mondays.\nWhat it costs:"
    statements = statements_of(text, "Opening hours")
    assert [one.told for one in statements] == ["On Sundays it opens at eleven.", "It is closed on Mondays."]
    assert statements[1].compared == ("It is closed on Mondays.", "Opening hours It is closed on Mondays.")
    # The day that is asked for counts, and so does what a reader finds, where a question asks for more than yes or no.
    assert most_like("are you open on Monday", statements, [0.5, 0.45], [0.3, 0.0])[0] == 1  # type: ignore[index]
    assert most_like("when do you open", statements, [0.4, 0.45], [0.9, 0.0])[0] == 0  # type: ignore[index]
    assert most_like("do you sell ice cream", statements, [0.4, 0.45], [0.3, 0.0]) is None


def test_the_answer_of_a_question_of_the_document_is_one_statement():
    (only,) = statements_of("Yes. Water is fine.", "Do I have to fast?")
    assert (only.start, only.end, only.heading) == (0, 19, "Do I have to fast?")


@pytest.mark.parametrize(
    ("said", "is_asked", "is_requested"),
    [
        ("until what time are you open", True, False),
        ("I hope you have a lift", True, False),
        ("could you leave it on the porch", True, True),
        ("it broke, can I come in today", True, True),
        ("at ten in the morning", False, False),
    ],
)
def test_questions_and_requests(said: str, *, is_asked: bool, is_requested: bool):
    assert (asks(said), requests(said)) == (is_asked, is_requested)
