"""Follow-up questions: which depend on the ones before, and what they ask."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.data.answers import Answer, AnswerSearch, Document
from pipelines.data.messages import Reply
from pipelines.data.stages import QA
from pipelines.session.config import ConversationConfig
from pipelines.session.conversation import Conversation
from pipelines.session.exchanges import Exchanges
from pipelines.stages.follow_ups import MAX_EXCHANGES, Exchange, follow_up
from pipelines.stages.noun_phrases import phrases_of
from tests.unit.pipelines.fakes import FakeModels

TOWER = Exchange("How high is the old tower?", "34 metres")
FOUNDER = Exchange("Who founded the museum?", "Clara Winter")


@pytest.mark.parametrize(
    ("earlier", "question", "asked"),
    [
        (TOWER, "When was it built?", "When was the old tower built?"),
        (TOWER, "and how many steps does it have?", "How many steps does the old tower have?"),
        (TOWER, "Who was its architect?", "Who was the old tower's architect?"),
        (FOUNDER, "When was she born?", "When was Clara Winter born?"),
        (FOUNDER, "And who was her husband?", "Who was Clara Winter's husband?"),
        (FOUNDER, "Where does it stand?", "Where does the museum stand?"),
        (Exchange("When did the Marie Louise sink?", "1926"), "Who raised her?", "Who raised the Marie Louise?"),
        (Exchange("Where does the ferry go?", "Gull Island"), "Who lives there?", "Who lives at Gull Island?"),
        (Exchange("How many pictures did he take?", "9,000"), "Where are they kept?", "Where are pictures kept?"),
        (Exchange("What stands on the quay?", "a statue"), "Who made it?", "Who made the quay?"),
        (Exchange("When does it open on weekdays?", "nine"), "And on Sundays?", "When does it open on Sundays?"),
        (Exchange("How much is it for adults?", "8"), "What about children?", "How much is it for children?"),
        (Exchange("Who cast the bell?", "Holm"), "And when?", "When cast the bell?"),
        (Exchange("When does the shop open?", "nine"), "the café?", "When does the café open?"),
        (TOWER, "And who designed the lighthouse?", "Who designed the lighthouse?"),
        (Exchange("Is it?", ""), "And on Sundays?", "Is it on Sundays?"),
    ],
)
def test_what_a_follow_up_asks(earlier: Exchange, question: str, asked: str):
    found = follow_up(question, [earlier])
    assert found is not None
    assert found.asked == asked
    assert earlier.question in found.query


@pytest.mark.parametrize(
    "question",
    [
        "When was the lighthouse built?",
        "Who was the first to make Christianity their state religion?",
        "What is the capital of the country that has it?",
        "Is it raining?",
        "How long does it take to walk to the harbour?",
        "Are there any boats?",
        "What time is it?",
        "What is one of the reasons?",
        "Do those with a ticket wait?",
        "large",
        "yes please",
        "thank you",
        "",
        "?!",
    ],
)
def test_what_stands_alone(question: str):
    assert follow_up(question, [TOWER]) is None


def test_without_history_nothing_is_a_follow_up():
    assert follow_up("When was it built?", []) is None


def test_the_last_question_with_an_answer_is_gone_on_from():
    found = follow_up("When was it built?", [TOWER, Exchange("thank you"), Exchange("nice weather")])
    assert found is not None
    assert found.asked == "When was the old tower built?"


@pytest.mark.parametrize(
    ("question", "phrases"),
    [
        ("How heavy is the bell in the tower called?", ["the bell in the tower"]),
        ("When did the old bridge collapse?", ["the old bridge"]),
        ("Who designed the lighthouse on Gull Island?", ["the lighthouse on Gull Island"]),
        ("Which captain sailed the boat?", ["the boat"]),
        ("", []),
    ],
)
def test_noun_phrases(question: str, phrases: list[str]):
    assert [question[one.start : one.end] for one in phrases_of(question)] == phrases


_WORDS = st.sampled_from(
    "and what about how is it the tower Marie there on Sundays ? ' - which of one then his that".split()  # noqa: SIM905 - easier to read
)


@given(st.lists(_WORDS, max_size=12).map(" ".join), st.lists(_WORDS, max_size=12).map(" ".join), st.text(max_size=20))
def test_any_text_is_taken(question: str, before: str, answer: str):
    found = follow_up(question, [Exchange(before, answer)])
    assert found is None or found.asked


def test_a_conversation_remembers_a_few_questions():
    exchanges = Exchanges()
    for number in range(MAX_EXCHANGES + 2):
        exchanges.add(f"question {number}", AnswerSearch())
    exchanges.add("and she?", AnswerSearch(Answer("Ada", 0.9, 0, 3, "a"), asked="Who is Ada?"))
    assert len(exchanges.latest) == MAX_EXCHANGES
    assert exchanges.latest[-1] == Exchange("Who is Ada?", "Ada")


async def test_typed_turns_are_read_with_the_ones_before():
    class Asked(FakeModels):
        async def find(self, question, document, due=None):
            asked.append(question)
            return await super().find(question, document, due)

    asked: list[str] = []
    documents = (Document("guide", "1608 is when the tower was built. "),)
    conversation = Conversation(ConversationConfig(documents=documents), Asked(0.001, 0.001, 0.001), None)
    answers = []
    try:
        for text in ("How high is the tower?", "And when was it built?", "And who paid for it?", "Thank you."):
            await conversation.add_text(text)
            async for message in conversation.outbox:
                if isinstance(message, Reply):
                    answers.append(message.results[QA])
                    break
    finally:
        await conversation.close()
    assert asked[:4] == ["How high is the tower?", "When was the tower built?", "Who paid for the tower?", "Thank you."]
    assert [answer.asked for answer in answers] == ["", "When was the tower built?", "Who paid for the tower?", ""]
