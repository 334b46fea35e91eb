"""Questions in a document are answered by what stands beside them, never by themselves."""

from __future__ import annotations

import pytest

from pipelines.text.reading.faq import MAX_ANSWER_CHARACTERS, asked_for, beside, read_entries

FAQ = """# Questions

**Q: May I smoke in the garden?**

A: Only behind the shed.

1. When is breakfast served?
From seven to ten. On Sundays from eight.
2. Where do I leave my key?
- At the desk.

Is parking free? A: No, it costs nine euros a night.

## What about cats and dogs?

They are welcome.

### Who are we?
### How do I get there?
By tram.
"""


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("may I smoke in the garden", "Only behind the shed."),
        ("When is the breakfast served?", "From seven to ten. On Sundays from eight."),
        ("where do I leave my key?", "At the desk."),
        ("Is parking free?", "No, it costs nine euros a night."),
        ("what about cats and dogs", "They are welcome."),
        ("How do I get there?", "By tram."),
        ("Who are we?", None),
        ("How much is a room?", None),
    ],
)
def test_what_is_asked_as_the_document_asks_it_is_answered_from_beside_it(question: str, answer: str | None) -> None:
    found = asked_for(FAQ, read_entries(FAQ), question)
    assert (None if found is None else FAQ[slice(*found[0].answer)]) == answer


def test_a_passage_in_a_question_leads_to_its_answer() -> None:
    entries = read_entries(FAQ)
    start = FAQ.index("breakfast")
    entry = beside(entries, start, start + len("breakfast served"))
    assert entry is not None
    assert FAQ[slice(*entry.answer)].startswith("From seven")
    assert beside(entries, FAQ.index("By tram"), FAQ.index("By tram") + 7) is None


@pytest.mark.parametrize(
    "text", ["Why so late? We like it that way.", "Is it? Yes.", "He asked: who pays? Nobody knew.", "No question."]
)
def test_questions_within_prose_are_prose(text: str) -> None:
    assert read_entries(text) == []


def test_of_a_long_answer_whole_sentences_are_told() -> None:
    text = "What is on show?\n" + "There are many boats of all kinds. " * 30
    (entry,) = read_entries(text)
    answer = text[slice(*entry.answer)]
    assert len(answer) <= MAX_ANSWER_CHARACTERS
    assert answer.endswith("kinds.")
