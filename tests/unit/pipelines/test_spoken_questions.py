import pytest

from pipelines.data.answers import Document
from pipelines.data.predictions import AnswerSpan
from pipelines.data.recognition import Timing
from pipelines.errors import ModelError
from pipelines.stages.answering import find_answer
from pipelines.text import itn
from pipelines.text.spoken_questions import as_documents_write

FLIGHTS = "In 1969 Apollo 11 landed. In 1970 Apollo 13 failed. In 1971 Apollo 14 flew, at 7:30, for $1,500."


@pytest.mark.parametrize(
    ("asked", "written"),
    [
        ("Which mission flew in nineteen seventy one?", "Which mission flew in 1971?"),
        ("What flew at seven thirty?", "What flew at 7:30?"),
        ("What cost one thousand five hundred dollars?", "What cost $1,500?"),
        ("Who landed with apollo eleven?", "Who landed with apollo 11?"),
        ("Who was the first to land?", "Who was the first to land?"),
        ("Were two people on board?", "Were two people on board?"),
        ("Did forty two fail?", "Did 42 fail?"),
    ],
)
async def test_numbers_are_written_as_the_document_has_them(asked: str, written: str):
    assert await as_documents_write(asked, FLIGHTS) == written


async def test_words_stay_where_the_document_has_them():
    document = "They led in the fourth quarter, on the 4th of May."
    assert await as_documents_write("who led in the fourth quarter", "They led in the fourth quarter.") == (
        "who led in the fourth quarter"
    )
    assert await as_documents_write("who led on the fourth of may", document) == "who led on the fourth of may"


async def test_without_grammars_the_question_is_asked_as_it_was_said(monkeypatch: pytest.MonkeyPatch):
    def grammar() -> None:
        raise ModelError("no grammars")

    monkeypatch.setattr(itn, "grammar", grammar)
    assert await as_documents_write("in nineteen seventy one", FLIGHTS) == "in nineteen seventy one"


class Asked:
    """A model that answers with the document's first word, and keeps the question."""

    question = ""

    async def find(self, question: str, document: str, _due: float | None = None) -> AnswerSpan:
        self.question = question
        return AnswerSpan(0, document.index(" "), 0.9, Timing(0, 0))


async def test_the_model_is_asked_as_the_documents_write():
    model = Asked()
    await find_answer(model, "What flew in nineteen seventy one?", [Document("1", FLIGHTS)])
    assert model.question == "What flew in 1971?"
