"""What phrases, pairs of words and broken-off phrases earn."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engines.asr.errors import InvalidHintsError
from engines.asr.moonshine.vocabulary import END_TOKEN
from engines.asr.search import boosts, hints
from engines.asr.search.biasing import Pattern, PhraseAutomaton
from engines.asr.search.hints import (
    FULL_PIECES,
    LONGEST_PHRASE,
    MAX_CHARACTERS,
    MAX_PHRASES,
    PAIR_SHARE,
    BiasCache,
    Hint,
    PhraseBias,
    check_hints,
)
from engines.asr.search.spelling import spell, words
from engines.asr.search.vocabulary import Spelling, Vocabulary

SPACE = "\N{LOWER ONE EIGHTH BLOCK}"
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'.,?-"
# In the order in which merges were learned, as in a vocabulary of byte pairs.
MERGED = ["la", "te", f"{SPACE}la", f"{SPACE}la" + "t", "Te", f"{SPACE}I", f"{SPACE}i", f"{SPACE}ic", "ed", f"{SPACE}a"]
PIECES = [b"", b"", b"", SPACE.encode(), *(c.encode() for c in LETTERS), *(piece.encode() for piece in MERGED)]
VOCABULARY = Vocabulary(PIECES)
DECIBELS = 10 / np.log(10)
"""A boost of so many decibels is 1 in natural logarithms."""
LARGE = [[f"{first}{second} {second}{first}"] for first in LETTERS[:8] for second in LETTERS[8:12]]
"""Sets of hints of the same size."""


def tokens_of(text: str) -> list[int]:
    return [PIECES.index(piece) for word in text.split() for piece in VOCABULARY.segment(word)]


def pieces(word: str) -> int:
    return len(VOCABULARY.segment(word))


def earned(bias: PhraseBias, text: str) -> float:
    state, total = bias.initial, bias.initial_bonus
    for token in tokens_of(text):
        state, more = bias.advance(state, token)
        total += more
    return total + bias.finish(state)


def phrases(*texts: str) -> PhraseBias:
    return PhraseBias([Hint(text, DECIBELS) for text in texts], VOCABULARY)


def whole(letters: bytes) -> Spelling:
    return Spelling(letters, 0.0, (*[0.0] * (len(letters) - 1), 1.0), 1)


@pytest.mark.parametrize("hint", ["latte", "Latte", "latte.", '"latte"', "Latte,"])
@pytest.mark.parametrize("text", ["latte", "Latte", "LATTE", "lat.te", "x latte y", "a, latte?"])
def test_a_phrase_earns_its_pieces_in_any_case_and_punctuation(text: str, hint: str) -> None:
    assert earned(phrases(hint), text) == pytest.approx(pieces("latte"))


def test_punctuation_around_a_word_is_no_part_of_it_and_inside_it_is() -> None:
    assert VOCABULARY.spell_word("don't,") == VOCABULARY.spell_word("don't")
    assert VOCABULARY.spell_word("don't").pieces == pieces("don't") > pieces("dont")


@pytest.mark.parametrize("text", ["", "latt", "lattes", "xlatte", "la tte", "something else"])
def test_what_is_not_the_phrase_earns_nothing(text: str) -> None:
    assert earned(phrases("latte"), text) == pytest.approx(0.0)


def test_a_phrase_that_breaks_off_gives_its_bonus_back() -> None:
    bias = phrases("iced latte")
    state, total = bias.initial, bias.initial_bonus
    for token in tokens_of("iced"):
        state, more = bias.advance(state, token)
        total += more
    assert total == pytest.approx(pieces("iced"))
    for token in tokens_of("tea"):
        state, more = bias.advance(state, token)
        total += more
    assert total + bias.finish(state) == pytest.approx(0.0)


def test_a_phrase_inside_one_that_breaks_off_is_kept() -> None:
    bias = phrases("a latte iced", "latte")
    long_phrase = FULL_PIECES / sum(map(pieces, ("a", "latte", "iced")))
    pair = PAIR_SHARE * pieces("latte") * min(1, long_phrase)
    assert earned(bias, "a latte tea") == pytest.approx(pieces("latte") + pair)


def test_a_long_phrase_earns_no_more_than_a_short_one() -> None:
    text = "latte latte latte"
    # Nothing but the phrase, without what its pairs of words earn.
    bias = phrases(text)
    pairs = earned(bias, "latte latte x latte latte") / 2
    assert earned(bias, text) == pytest.approx(FULL_PIECES + 2 * pairs)


def test_pairs_of_a_sentence_earn_where_they_stand_and_the_sentence_is_no_phrase() -> None:
    sentence = "a b c d e f g"
    assert len(sentence.split()) > LONGEST_PHRASE
    bias = phrases(sentence)
    assert earned(bias, "x c d x") == pytest.approx(pieces("d"))
    assert earned(bias, "d c") == pytest.approx(0.0)
    # The beginning of a sentence is a pair too.
    assert earned(bias, "a") == pytest.approx(pieces("a"))
    assert earned(bias, "x a") == pytest.approx(0.0)


def test_boosted_tokens_are_those_that_earn_more_than_any_other() -> None:
    bias = phrases("iced latte")
    state = bias.initial
    for token in tokens_of("iced"):
        state, _ = bias.advance(state, token)
    tokens, bonuses = bias.boosted(state)
    others = bias.advance(state, PIECES.index(b"x"))[1]
    for token, bonus in zip(tokens.tolist(), bonuses.tolist(), strict=True):
        assert bias.advance(state, token)[1] == pytest.approx(others + bonus, abs=1e-5)
    assert tokens_of("latte")[0] in tokens
    best = max(range(3, len(PIECES)), key=lambda token: bias.advance(state, token)[1])
    assert best in tokens


def varied_sentences(count: int, seed: int = 0) -> tuple[list[str], Vocabulary]:
    """Sentences of nine words that mostly follow other words than before, and tokens that spell their beginnings."""
    rng = random.Random(seed)
    syllables = [consonant + vowel for consonant in "bdfgklmnprst" for vowel in "aeiou"]
    lexicon = ["".join(rng.choices(syllables, k=rng.randint(1, 4))) for _ in range(1000)]
    beginnings = {SPACE + word[:end] for word in lexicon for end in range(1, len(word) + 1)}
    tokens = [*PIECES, *(piece.encode() for piece in sorted(beginnings, key=lambda piece: (len(piece), piece)))]
    return [" ".join(rng.choices(lexicon, k=9)) for _ in range(count)], Vocabulary(tokens)


def test_what_goes_on_with_a_large_set_is_walked_through_once_and_not_for_every_state(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sentences, vocabulary = varied_sentences(1000)
    calls = [0]
    advance = PhraseAutomaton.advance

    def counted(self: PhraseAutomaton, node: int, spelling: bytes) -> tuple[int, float]:
        calls[0] += 1
        return advance(self, node, spelling)

    monkeypatch.setattr(PhraseAutomaton, "advance", counted)
    bias = PhraseBias([Hint(sentence) for sentence in sentences], vocabulary)
    bias.boosted(bias.initial)
    first, calls[0] = calls[0], 0
    state, states = bias.initial, []
    for word in " ".join(random.Random(1).sample(sentences, 4)).split()[:30]:
        (token, *_) = vocabulary.tokens(f" {word}".encode())
        state, _ = bias.advance(state, token)
        states.append(state)
    calls[0] = 0
    assert all(len(bias.boosted(state)[0]) for state in states)
    assert len(set(states)) > 20
    assert first > 1000
    assert calls[0] <= 2 * first


def test_what_is_remembered_of_boosted_tokens_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boosts, "MAX_BOOSTED", 20)
    bias = phrases("iced latte", "a latte iced", "tea ice")
    state = bias.initial
    seen = {}
    for token in tokens_of("iced latte a latte tea"):
        state, _ = bias.advance(state, token)
        seen[state] = bias.boosted(state)
        assert sum(len(tokens) for tokens, _ in bias._boosts._boosted.values()) <= max(20, len(seen[state][0]))
    for known, (tokens, bonuses) in seen.items():
        again = bias.boosted(known)
        np.testing.assert_array_equal(again[0], tokens)
        np.testing.assert_array_equal(again[1], bonuses)


def score_by_hand(text: str, patterns: dict[str, float]) -> float:
    """The most that disjoint phrases of ``text`` are worth, by trying all of them."""
    said = text.split()
    best = [0.0] * (len(said) + 1)
    for end in range(1, len(said) + 1):
        ending = [
            best[start] + patterns[phrase] for start in range(end) if (phrase := " ".join(said[start:end])) in patterns
        ]
        best[end] = max([best[end - 1], *ending])
    return best[-1]


@given(
    st.dictionaries(
        st.lists(st.sampled_from("ab"), min_size=1, max_size=3).map(" ".join),
        st.sampled_from((6, 12, 18, 24, 30)),
        max_size=4,
    ),
    st.lists(st.sampled_from("abc"), max_size=7).map(" ".join),
)
@example({"a a": 6, "a a a": 30, "a b a": 6}, "a b")
def test_an_automaton_gives_at_least_what_disjoint_phrases_are_worth_and_forgets_none(
    worth: dict[str, int], text: str
) -> None:
    # Each word is worth a whole number, so that sums are exact.
    patterns = [
        Pattern([whole(word.encode()) for word in phrase.split()], [value / len(phrase.split())] * len(phrase.split()))
        for phrase, value in worth.items()
    ]
    automaton = PhraseAutomaton(patterns)
    node, total = automaton.advance(0, f" {text} ".encode())
    total -= automaton.pending(node)
    every = sum(
        value * sum(text.split()[i : i + len(phrase.split())] == phrase.split() for i in range(len(text.split())))
        for phrase, value in worth.items()
    )
    assert total <= every + 1e-9
    if len(worth) == 1 and " " not in next(iter(worth)):
        assert total == pytest.approx(score_by_hand(text, {k: float(v) for k, v in worth.items()}))
    assert (total > 0) == (every > 0)


def test_spelling_drops_case_and_punctuation_and_parts_words_at_dashes() -> None:
    assert spell("Sixteen-ounce, don\N{RIGHT SINGLE QUOTATION MARK}t!") == b"sixteen ounce dont"
    assert words("Sixteen-ounce, don't ... OK?") == ["Sixteen", "ounce,", "don't", "OK?"]


def test_words_are_cut_as_byte_pairs_were_learned() -> None:
    assert VOCABULARY.segment("latte") == [f"{SPACE}lat".encode(), b"te"]
    assert VOCABULARY.segment("iced") == [f"{SPACE}ic".encode(), b"ed"]


@pytest.mark.parametrize("word", ["և", "ŉ", "ΐ", "ﬁsh", "ßlick", "ǰ", "İ"])  # Their capitals are of several letters.
def test_words_whose_capitals_are_spelled_otherwise_can_be_hinted_at(word: str) -> None:
    PhraseBias([Hint(word)], VOCABULARY)
    assert len(VOCABULARY.spell_word(word).shares) == len(spell(word))


def test_hints_that_cannot_be_made_ready_are_told_without_their_words(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Vocabulary):
        def spell_word(self, word: str) -> Spelling:
            raise IndexError(word)

    made = BiasCache(Broken(PIECES)).get((Hint("secret"),))
    assert isinstance(made.exception(timeout=5), IndexError)
    (told,) = [record.getMessage() for record in caplog.records]
    assert "IndexError" in told
    assert "secret" not in told


def test_equal_hints_are_compiled_once_and_old_ones_are_forgotten() -> None:
    cache = BiasCache(VOCABULARY, capacity=2)
    first = cache.get((Hint("latte"),))
    assert cache.get((Hint("latte"),)) is first
    cache.get((Hint("a"),))
    cache.get((Hint("b"),))
    assert cache.get((Hint("latte"),)) is not first


def test_large_sets_make_room_for_one_another(monkeypatch: pytest.MonkeyPatch) -> None:
    size = len(phrases(*LARGE[0]))
    monkeypatch.setattr(hints, "MAX_NODES", 3 * size + size // 2)
    cache = BiasCache(VOCABULARY)
    sets = [tuple(Hint(text, DECIBELS) for text in texts) for texts in LARGE]
    made = [cache.get(one) for one in sets]
    assert all(len(bias.result(timeout=10)) == size for bias in made)
    assert cache.nodes == 3 * size
    assert cache.get(sets[-1]) is made[-1]
    assert cache.get(sets[0]) is not made[0]


def test_the_newest_set_is_kept_whatever_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hints, "MAX_NODES", 1)
    cache = BiasCache(VOCABULARY)
    made = [cache.get((Hint(text),)) for text in ("iced", "latte")]
    newest = made[1].result(timeout=10)
    assert cache.nodes == len(newest)
    assert cache.get((Hint("latte"),)) is made[1]


@pytest.mark.parametrize(
    ("texts", "boosts", "match"),
    [
        (["x"] * (MAX_PHRASES + 1), [], "PHRASE_HINTS holds 1,001 phrases"),
        (["x" * (MAX_CHARACTERS + 1)], [], "PHRASE_HINTS holds 60,001 characters"),
        (["a " + "x" * 51], [], "PHRASE_HINTS holds a word of 51 characters; send at most 50"),
        (["x", "y"], [1.0], "PHRASE_BOOSTS holds 1 boosts for 2 phrases"),
        (["x"], [100.1], "PHRASE_BOOSTS holds 100.1"),
        (["x"], [-2.0], "PHRASE_BOOSTS holds -2"),
        (["x"], [float("nan")], "PHRASE_BOOSTS holds nan"),
    ],
)
def test_hints_out_of_bounds_are_refused_by_name(texts: list[str], boosts: list[float], match: str) -> None:
    with pytest.raises(InvalidHintsError, match=match):
        check_hints(texts, boosts)


def test_odd_hints_do_no_harm() -> None:
    bias = phrases("", "...", "\N{SNOWMAN}", "é", "\x00", "a" * 300)
    assert earned(bias, "latte") == pytest.approx(0.0)
    assert END_TOKEN not in bias.boosted(bias.initial)[0]
