"""How documents are cut into passages."""

from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.knowledge.reading.parsed import Block, ParsedDocument
from pipelines.knowledge.reading.passages import MAX_CHARACTERS, MAX_WORDS, Passage, cut


def passages(*blocks: Block) -> list[Passage]:
    return cut(ParsedDocument("Title", blocks))


def test_short_neighbours_of_a_section_stand_together():
    found = passages(Block("One.", ("A",), 1), Block("Two.", ("A",), 1), Block("Three.", ("B",), 1))
    assert found == [Passage(1, "One.\nTwo.", ("A",), 1), Passage(2, "Three.", ("B",), 1)]


def test_a_passage_stays_on_its_page():
    assert [(p.text, p.page) for p in passages(Block("One.", (), 1), Block("Two.", (), 2))] == [
        ("One.", 1),
        ("Two.", 2),
    ]


def test_long_paragraphs_are_cut_between_sentences_and_overlap():
    sentences = [f"Sentence number {number} has a few more words than others." for number in range(40)]
    found = passages(Block(" ".join(sentences)))
    assert len(found) > 2
    assert all(passage.text.startswith("Sentence") and passage.text.endswith("others.") for passage in found)
    for before, after in itertools.pairwise(found):
        assert after.text.split(".")[0] in before.text
    assert all(any(sentence in passage.text for passage in found) for sentence in sentences)


def test_a_sentence_longer_than_a_passage_is_cut_between_words():
    words = [f"word{number}" for number in range(500)]
    found = passages(Block(" ".join(words)))
    assert {word for passage in found for word in passage.text.split()} == set(words)


def test_a_word_longer_than_a_passage_is_cut():
    found = passages(Block("字" * 5_000))
    assert "".join(passage.text for passage in found) == "字" * 5_000


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text("ab .\n|", min_size=1, max_size=4_000).filter(str.strip), min_size=1, max_size=5))
def test_every_word_is_kept_and_no_passage_is_too_long(texts):
    found = passages(*(Block(text) for text in texts))
    assert [passage.number for passage in found] == list(range(1, len(found) + 1))
    assert all(len(passage.text.split()) <= MAX_WORDS and len(passage.text) <= MAX_CHARACTERS for passage in found)
    kept = "".join("".join(passage.text.split()) for passage in found)
    assert set("".join("".join(text.split()) for text in texts)) <= set(kept)
    assert len(kept) >= sum(len("".join(text.split())) for text in texts)
