"""What is said aloud."""

import pytest

from pipelines.data.answers import Answer, AnswerSearch, Document
from pipelines.data.stages import NLU, QA
from pipelines.data.understanding import Understanding
from pipelines.session.config import ConversationConfig
from pipelines.stages.registry import StageRequest
from pipelines.stages.wording import NO_ANSWER, answer_in_words, sentence_of

GUIDE = "The museum is in Main Street. It opens at 10 a.m. on weekdays. Dogs stay outside.\n\nTickets: 9 euros\n"


def found(passage: str, text: str = GUIDE) -> Answer:
    start = text.index(passage)
    return Answer(passage, 0.9, start, start + len(passage), "guide")


def said(answer: Answer | None, kind: str, intent: str = "none", text: str = GUIDE) -> str:
    config = ConversationConfig(documents=(Document("guide", text),))
    inputs = {NLU: Understanding(intent, kind=kind), QA: AnswerSearch(answer)}
    return answer_in_words(StageRequest("when does it open?", config, inputs))


def test_an_answer_is_said_in_the_sentence_of_the_document() -> None:
    assert said(found("10 a.m."), "question") == "It opens at 10 a.m. on weekdays."
    assert said(found("Main Street"), "statement") == "The museum is in Main Street."


def test_an_answer_that_stands_in_no_sentence_is_said_alone() -> None:
    assert said(found("9 euros"), "question") == "9 euros."


def test_of_a_long_sentence_the_answer_alone_is_said() -> None:
    text = "It opens, " + "as everybody knows, " * 20 + "at seven in the evening, every day."
    assert said(found("at seven in the evening,", text), "question", text=text) == "At seven in the evening."


def test_wrapped_lines_are_one_sentence() -> None:
    text = "The exhibition about the history of the harbour is open from Tuesday\nto Sunday. It is free.\n"
    whole = "The exhibition about the history of the harbour is open from Tuesday to Sunday."
    assert sentence_of(found("Tuesday\nto Sunday", text), (Document("guide", text),)) == whole


def test_a_question_without_an_answer_is_told_so() -> None:
    assert said(None, "question") == NO_ANSWER
    assert said(None, "") == NO_ANSWER, "it ends with a question mark"


@pytest.mark.parametrize("kind", ["command", "statement"])
def test_what_asks_nothing_is_not_answered(kind: str) -> None:
    assert said(None, kind) == ""


def test_a_command_is_not_answered_with_a_passage() -> None:
    assert said(found("10 a.m."), "command", "lights_on") == ""
    assert said(found("10 a.m."), "command") == "It opens at 10 a.m. on weekdays.", '"tell me when it opens"'


def test_an_answer_of_signs_alone_is_nothing_to_say() -> None:
    assert said(found("—", "— one —"), "question", text="— one —") == ""
