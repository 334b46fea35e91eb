"""Only what may hold a figure is given to the grammars; that changes nothing is proved on their transducers."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import kaldifst
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.text.grammar import (
    CONNECTIVES,
    EXCEPTION,
    KINDS,
    LONGEST_RUN,
    acceptor,
    read_tagger,
    tokens,
)
from pipelines.text.itn import grammar, inverse_normalize

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ADDRESSES = "electronic"
"""The grammars' own name for addresses of mails and pages."""
OTHER_WORDS = ("hello", "weather", "don't", "naïve", "u.s.", "Paris", "walked")
NUMBERS = ("one", "two", "twenty", "first", "second", "hundred", "june", "dollars", "o'clock", "half", "past", "point")


def connected(words: Iterable[str]) -> kaldifst.StdVectorFst:
    """Accepts ``words`` in any order and number, single spaces between them, but not the exception."""
    first, second = EXCEPTION
    begin, end, after_first, behind_first = range(4)
    new_states = itertools.count(4)
    arcs = [(end, b" ", begin), (after_first, b" ", behind_first)]
    for source, word in itertools.product((begin, behind_first), words):
        if (source, word) != (behind_first, second):
            arcs += chain(source, word.encode(), after_first if word == first else end, new_states)
    return acceptor(arcs, end, after_first)


def chain(source: int, word: bytes, target: int, new_states: Iterator[int]) -> Iterator[tuple[int, bytes, int]]:
    states = [source, *itertools.islice(new_states, len(word) - 1), target]
    for (before, after), label in zip(itertools.pairwise(states), word, strict=True):
        yield before, bytes([label]), after


def without_dot() -> kaldifst.StdVectorFst:
    """Accepts any words but "dot", single spaces between them."""
    begin, d, do, dot, other = range(5)
    labels = frozenset(range(1, 256)) - {ord(" ")}
    arcs = [(other, bytes(labels), other), (dot, bytes(labels), other)]
    for state, letter, following in ((begin, "d", d), (d, "o", do), (do, "t", dot)):
        arcs += [(state, letter.encode(), following), (state, bytes(labels - {ord(letter)}), other)]
    arcs += [(state, b" ", begin) for state in (d, do, other)]
    return acceptor(arcs, d, do, other)


def reads_any(words: kaldifst.StdVectorFst, kind: str) -> bool:
    kaldifst.arcsort(words, "olabel")
    part = tokens(read_tagger(), kind)
    kaldifst.arcsort(part, "ilabel")
    return kaldifst.compose(words, part).start >= 0


@pytest.mark.parametrize("kind", [*KINDS, ADDRESSES])
def test_connectives_make_no_figure_among_themselves(kind: str):
    assert not reads_any(connected(CONNECTIVES), kind)


@pytest.mark.parametrize(("words", "kind"), [({"two"}, "cardinal"), ({"ai", "a"}, "whitelist"), ({"dot"}, ADDRESSES)])
def test_other_words_would_make_some(words: set[str], kind: str):
    assert reads_any(connected({*CONNECTIVES, *words}), kind)


def test_there_is_no_address_without_a_dot():
    assert not reads_any(without_dot(), ADDRESSES)


async def test_the_exception_is_converted():
    assert (
        await inverse_normalize("it is a i now") == grammar().convert(["it", "is", "a", "i", "now"]) == "it is AI now"
    )


@given(
    st.lists(
        st.sampled_from(OTHER_WORDS) | st.sampled_from(NUMBERS) | st.sampled_from(sorted(CONNECTIVES)), max_size=12
    )
)
def test_runs_are_converted_as_the_whole(words: list[str]):
    converted = [grammar().convert(run) if is_read else " ".join(run) for run, is_read in grammar().runs(words)]
    assert " ".join(converted) == grammar().convert(words)


def test_words_that_are_no_figure_are_not_given_to_the_grammars():
    words = ["we", "walked", "to", "the", "shop", "and", "bought", "twenty", "three", "apples"]
    assert list(grammar().runs(words)) == [
        (["we", "walked"], False),
        (["to", "the", "shop", "and"], False),
        (["bought"], False),
        (["twenty", "three"], True),
        (["apples"], False),
    ]


@pytest.mark.parametrize("words", [["five"] * 100, ["the", "dot"] * 50])
def test_runs_have_an_end(words: list[str]):
    runs = [run for run, _ in grammar().runs(words)]
    assert max(map(len, runs)) == LONGEST_RUN
    assert list(itertools.chain.from_iterable(runs)) == words


@pytest.mark.parametrize(
    ("spoken", "figure"),
    [
        ("my email is bob at example dot com and i would like to pay one hundred twenty three dollars", "$123"),
        ("i would like to pay one hundred twenty three dollars my email is bob at example dot com", "bob@example.com"),
    ],
)
async def test_figures_and_addresses_are_not_cut_where_other_words_are_near(spoken: str, figure: str):
    assert figure in await inverse_normalize(spoken)
