import asyncio

import pytest

from pipelines.data.answers import Document
from pipelines.data.predictions import AnswerSpan
from pipelines.data.recognition import Timing
from pipelines.errors import ModelError
from pipelines.stages.answering import find_answer
from pipelines.text.reading.checks import better_passage, is_negated

PETS = "Dogs and cats are allowed in the cabins. Horses and parrots are not allowed."
HOURS = "Opening hours:\n- Monday: 9 to 17\n- Tuesday: 10 to 18\n- Wednesday: closed"


@pytest.mark.parametrize(
    ("question", "negated"),
    [
        ("Which animals are not allowed?", True),
        ("Which animals aren't allowed?", True),
        ("Who never came?", True),
        ("Which animals are allowed?", False),
        ("Can't you tell me the price?", False),
        ("Why don't you know the hours?", False),
    ],
)
def test_negated_questions(question: str, negated: bool):
    assert is_negated(question) == negated


def test_an_answer_that_denies_nothing_is_doubtful_where_the_question_does():
    is_doubtful, passage = better_passage("Which animals are not allowed?", PETS, PETS.index("Dogs"))
    assert is_doubtful
    assert passage is not None
    assert passage.text.strip() == "Horses and parrots are not allowed."


def test_an_answer_that_denies_is_not_doubtful():
    assert better_passage("Which animals are not allowed?", PETS, PETS.index("Horses")) == (False, None)
    assert better_passage("Which animals are allowed?", PETS, PETS.index("Dogs")) == (False, None)


def test_a_line_that_fits_the_question_better_is_read():
    is_doubtful, passage = better_passage("When is it open on Wednesday?", HOURS, HOURS.index("9 to 17"))
    assert is_doubtful
    assert passage is not None
    assert passage.text.strip() == "- Wednesday: closed"
    assert better_passage("When is it open on Monday?", HOURS, HOURS.index("9 to 17")) == (False, None)


class Model:
    """Finds the first of its words that a text has, with a score of its own for each."""

    def __init__(self, **scores: float) -> None:
        self._scores = scores
        self.read: list[str] = []

    async def find(self, _question: str, document: str, _due: float | None = None) -> AnswerSpan:
        self.read.append(document)
        for word, score in self._scores.items():
            if word in document:
                start = document.index(word)
                return AnswerSpan(start, start + len(word), score, Timing(0.5, 1))
        return AnswerSpan(None, None, 0.1, Timing(0.5, 1))


async def test_a_doubtful_answer_gives_way_to_that_of_the_better_passage():
    found = await find_answer(Model(Dogs=0.9, Horses=0.8), "Which animals are not allowed?", [Document("a", PETS)])
    assert found.answer is not None
    assert (found.answer.text, found.answer.score) == ("Horses", 0.8)
    assert PETS[found.answer.start : found.answer.end] == "Horses"
    assert found.timing == Timing(1, 2)


async def test_without_a_better_answer_the_score_is_lower():
    for model in (Model(Dogs=0.9), Model(Dogs=0.9, Horses=0.3)):
        found = await find_answer(model, "Which animals are not allowed?", [Document("a", PETS)])
        assert found.answer is not None
        assert (found.answer.text, found.answer.score) == ("Dogs", 0.45)


async def test_answers_in_tables_stand_where_the_table_has_them():
    table = "| Room | Price |\n|---|---|\n| Blue | 80 |\n| Green | 95 |"
    model = Model(**{"95": 0.9})
    found = await find_answer(
        model, "What is the price of the green room?", [Document("a", "Hello."), Document("b", table)]
    )
    assert "Room Green: Price 95." in model.read[0]
    assert found.answer is not None
    assert (found.answer.text, found.answer.document_id) == ("95", "b")
    assert table[found.answer.start : found.answer.end] == "95"


async def test_a_model_that_fails_is_told():
    class Failing:
        async def find(self, _question: str, _document: str, _due: float | None = None) -> AnswerSpan:
            raise ModelError("out of order")

    with pytest.raises(ModelError):
        await find_answer(Failing(), "Who?", [Document("a", PETS)])


async def test_long_documents_keep_nobody_waiting():
    rows = "\n".join(f"item {number},{number},{number + 1}" for number in range(2_000))
    table = f"name,price,size\n{rows}"
    turns = 0

    async def count_turns() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count_turns())
    model = Model(**{"price 1999": 0.9})
    found = await find_answer(model, "What is the price of item 1999?", [Document("a", table)])
    counting.cancel()
    assert found.answer is not None
    assert found.answer.text == "1999"
    assert turns > 1
