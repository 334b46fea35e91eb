"""Capitals and punctuation from labels, and the cutting of long texts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.bert.punctuating import (
    CAPITAL,
    CASES,
    LOWER,
    MARKS,
    UPPER,
    Window,
    case_of,
    cut_windows,
    split_words,
    write,
)
from engines.bert.punctuator import Punctuator, WordTokenizer, load_spellings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

NONE, COMMA, PERIOD, QUESTION = range(len(MARKS))


def one_hot(labels: Sequence[int], classes: int) -> npt.NDArray[np.float32]:
    return np.eye(classes, dtype=np.float32)[list(labels)].reshape(-1, classes)


def written(text: str, marks: Sequence[int] = (), cases: Sequence[int] = (), **spellings: str) -> str:
    """Writes ``text`` by these labels; words beyond them have no mark and are lower."""
    words = split_words(text)
    rest = [0] * len(words)
    labels = [([*given, *rest][: len(words)], len(kinds)) for given, kinds in ((marks, MARKS), (cases, CASES))]
    return write(text, words, *(one_hot(*pair) for pair in labels), spellings)


def test_words_get_capitals_and_marks():
    labels = ([NONE, COMMA, NONE, NONE, QUESTION], [LOWER, CAPITAL])
    assert written("hello anna is it late", *labels) == "Hello Anna, is it late?"


def test_a_text_begins_with_a_capital_and_ends_with_an_end():
    assert written("turn it off") == "Turn it off."
    marks = np.array([[9, 8, 1, 2]], np.float32)
    assert write("really", split_words("really"), marks, one_hot([LOWER], 3), {}) == "Really?"


def test_a_sentence_begins_with_a_capital():
    assert written("stop it hurts", [PERIOD]) == "Stop. It hurts."
    assert written("is it so yes", [NONE, NONE, QUESTION]) == "Is it so? Yes."


def test_an_abbreviation_ends_no_sentence():
    assert written("tea coffee etc for all", [COMMA, COMMA, PERIOD]) == "Tea, coffee, etc. for all."
    assert written("e.g. this one") == "E.g. this one."


@pytest.mark.parametrize(
    ("text", "case", "expected"),
    [
        ("the usa", UPPER, "USA"),
        ("a tv's", UPPER, "TV's"),
        ("in u.s", UPPER, "U.S"),
        ("a 4k", CAPITAL, "4K"),
        ("so i'm", CAPITAL, "I'm"),
        ("the élan", CAPITAL, "Élan"),
        ("at 9:30", UPPER, "9:30"),
        ("costs $23.50", CAPITAL, "$23.50"),
    ],
)
def test_a_word_is_written_in_its_case(text: str, case: int, expected: str):
    assert written(text, (), [LOWER, case]).split(" ")[1] == f"{expected}."


def test_words_with_capitals_inside_are_spelled_as_they_are_known():
    assert written("the iphone", (), [LOWER, CAPITAL], iphone="iPhone") == "The iPhone."


def test_what_is_punctuated_already_stays_as_it_is():
    text = "Hello, Anna! It's 9:30 - see the BBC's «iPhone» test; it costs $23.50 (about 20 euros)."
    assert written(text, [COMMA, COMMA, *[NONE] * 20]) == text


def test_own_marks_are_kept_and_none_is_added_to_them():
    text = "well, is it? no! it's done... really; yes: so - there!"
    assert written(text, [NONE, NONE, PERIOD, PERIOD, NONE, PERIOD, COMMA, COMMA, COMMA, COMMA]) == (
        "Well, is it? No! It's done... Really; yes: so - there!"
    )


def test_marks_stand_inside_quotation_marks_and_no_hyphen_or_slash_gets_one():
    assert written('he said "hello" loudly', [NONE, COMMA, COMMA]) == 'He said, "hello," loudly.'
    assert written("a well-known and/or new thing", [NONE, COMMA, NONE, COMMA]) == "A well-known and/or new thing."


def test_a_text_all_in_capitals_is_read_as_if_it_were_none():
    assert written("HELLO ANNA ARE YOU THERE", [NONE, COMMA, NONE, NONE, QUESTION], [LOWER, CAPITAL]) == (
        "Hello Anna, are you there?"
    )
    assert written("NASA") == "NASA."


@pytest.mark.parametrize("text", ["", "...", " - ", "?!", "\n"])
def test_a_text_without_words_stays_as_it_is(text: str):
    assert written(text) == text


@given(st.text(max_size=200), st.integers(0, 3), st.integers(0, 2))
def test_nothing_but_capitals_and_marks_changes(text: str, mark: int, case: int):
    def bare(anything: str) -> str:
        return "".join(c for c in anything.casefold() if c not in ".,?")

    count = len(split_words(text))
    assert bare(written(text, [mark] * count, [case] * count)) == bare(text)


@given(st.text(max_size=100))
def test_words_stand_where_they_say(text: str):
    words = split_words(text)
    assert all(text[word.start : word.end] == word.text for word in words)
    assert "".join(word.text + word.gap for word in words) == text[words[0].start :] if words else True


@pytest.mark.parametrize(
    ("word", "case"),
    [("the", LOWER), ("I", CAPITAL), ("I'm", CAPITAL), ("Anna's", CAPITAL), ("BBC's", UPPER), ("U.S", UPPER),
     ("16GB", UPPER), ("4", LOWER), ("iPhone", None), ("McDonald", None)],
)  # fmt: skip
def test_the_case_of_a_word(word: str, case: int | None):
    assert case_of(word) == case


@given(st.lists(st.integers(1, 16), max_size=200), st.integers(16, 60), st.integers(0, 12))
def test_windows_keep_every_word_once_and_never_hold_too_much(lengths: list[int], room: int, overlap: int):
    windows = cut_windows(lengths, room, overlap)
    assert [word for window in windows for word in range(*window.kept)] == list(range(len(lengths)))
    for window in windows:
        assert window.first <= window.kept[0] <= window.kept[1] <= window.last
        assert sum(lengths[window.first : window.last]) <= room


def test_neighbouring_windows_overlap_and_keep_what_is_far_from_their_edges():
    windows = cut_windows([1] * 45, 20, 6)
    assert [(window.first, window.last) for window in windows] == [(0, 20), (14, 34), (28, 45)]
    assert [window.kept for window in windows] == [(0, 17), (17, 31), (31, 45)]
    assert cut_windows([9, 9, 9], 10, 6) == [Window(n, n + 1, (n, n + 1)) for n in range(3)]


class Marking:
    """Stands in for the network: words that begin with the token ``wanted`` end sentences, and every row is noted."""

    def __init__(self, wanted: int) -> None:
        self.wanted = wanted
        self.rows: list[npt.NDArray[np.int64]] = []

    def run(self, requests: Sequence[Mapping[str, npt.NDArray[np.int64]]]) -> list[dict[str, npt.NDArray[np.float32]]]:
        self.rows += [request["input_ids"][0] for request in requests]
        return [
            {
                "mark_logits": one_hot([PERIOD if token == self.wanted else NONE for token in ids], len(MARKS))[None],
                "case_logits": one_hot([LOWER] * len(ids), len(CASES))[None],
            }
            for ids in (request["input_ids"][0] for request in requests)
        ]


@pytest.fixture(scope="module")
def tokenizer() -> WordTokenizer:
    return WordTokenizer(Path(__file__).parents[3] / "model_repository" / "punctuation" / "1" / "tokenizer.json")


def test_every_word_has_tokens_and_a_place(tokenizer: WordTokenizer):
    ((music, long, strange),) = tokenizer.encode([["music", "z" * 90, "\u2603x"]])
    assert len(music) == 1
    assert len(long) == 16
    assert strange
    ids, begins = tokenizer.frame([music, long, strange])
    assert [ids[begin] for begin in begins] == [music[0], long[0], strange[0]]
    assert len(ids) == len(music) + len(long) + len(strange) + 2


def test_long_texts_are_read_in_windows_and_all_texts_at_once(tokenizer: WordTokenizer):
    ((stop,),) = tokenizer.encode([["stop"]])
    session = Marking(stop[0])
    text = " ".join(["play music now", *["play the music now stop"] * 80])
    long, empty, short = Punctuator(session, tokenizer, {}).punctuate([text, "...", "stop it"])
    assert long == " ".join(["Play music now play the music now stop.", *["Play the music now stop."] * 79])
    assert (empty, short) == ("...", "Stop. It.")
    assert len(session.rows) > 4
    assert max(len(row) for row in session.rows) <= 128


def test_spellings_are_read_and_damaged_ones_named(tmp_path: Path):
    path = tmp_path / "spellings.json"
    assert load_spellings(path) == {}
    path.write_text('{"ebay": "eBay"}')
    assert load_spellings(path) == {"ebay": "eBay"}
    for damaged in ("[1]", "{"):
        path.write_text(damaged)
        with pytest.raises(ValueError, match=r"spellings\.json holds no spellings"):
            load_spellings(path)
