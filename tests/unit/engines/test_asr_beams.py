"""The beam search against an exhaustive one, on a stand-in for the decoder."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engines.asr.moonshine.decoding import LOOP_TOKENS
from engines.asr.moonshine.vocabulary import END_TOKEN, START_TOKEN
from engines.asr.search.beams import search
from engines.asr.search.ports import Candidates, SearchTask

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engines.asr.search.ports import Boosted
    from engines.asr.serving.recognizer import Alternative

TOKENS = (3, 4, 5)
LIMIT = 4


def probabilities(seed: int, prefix: tuple[int, ...]) -> dict[int, float]:
    """Log probabilities of what follows, which depend on the row and on every token before."""
    rng = random.Random(hash((seed, *prefix)))
    weights = {token: rng.uniform(0.05, 1) for token in (*TOKENS, END_TOKEN)}
    return {token: math.log(weight / sum(weights.values())) for token, weight in weights.items()}


@dataclass
class PrefixScorer:
    """It keeps what was run at each position of each row, as the caches of a real decoder do."""

    seeds: list[int]
    width: int
    rows: list[list[int]] = field(default_factory=list)

    def begin(self, tokens: np.ndarray, lengths: np.ndarray, boosted: Sequence[Boosted]) -> Candidates:
        assert len(tokens) == len(boosted) == len(self.seeds) * self.width
        self.rows = [row[:length] for row, length in zip(tokens.tolist(), lengths.tolist(), strict=True)]
        return self.candidates()

    def step(self, tokens: np.ndarray, positions: np.ndarray, boosted: Sequence[Boosted]) -> Candidates:
        assert len(tokens) == len(boosted) == len(self.rows)
        for row, token, position in zip(self.rows, tokens.tolist(), positions.tolist(), strict=True):
            assert position <= len(row)
            row[position:] = [token]
        return self.candidates()

    def copy(self, source: int, target: int, positions: int) -> None:
        self.rows[target] = self.rows[source][:positions]

    def retire(self, utterance: int) -> None:
        first = utterance * self.width
        self.rows[first : first + self.width] = self.rows[-self.width :]
        del self.rows[-self.width :]
        self.seeds[utterance] = self.seeds[-1]
        self.seeds.pop()

    def candidates(self) -> Candidates:
        found = []
        for number, row in enumerate(self.rows):
            assert row[0] == START_TOKEN
            found.append(probabilities(self.seeds[number // self.width], tuple(row[1:])))
        tokens = [[*TOKENS, END_TOKEN] for _ in found]
        values = [[one[token] for token in (*TOKENS, END_TOKEN)] for one in found]
        return Candidates(np.array(tokens), np.array(values))


@dataclass(frozen=True)
class TokenBias:
    """Token 4 after token 3 earns a bonus."""

    bonus: float = 0.0
    closing: frozenset[int] = frozenset()
    initial: int = 0
    initial_bonus: float = 0.0

    def spelling(self, token: int) -> bytes:
        return bytes([64 + token])

    def advance(self, state: int, token: int) -> tuple[int, float]:
        return token, self.bonus if (state, token) == (3, 4) else 0.0

    def finish(self, state: int) -> float:
        return 0.0

    def boosted(self, state: int) -> Boosted:
        return (np.array([4]), np.array([self.bonus], np.float32)) if state == 3 else (np.zeros(0, int), np.zeros(0))


def run(seeds: list[int], width: int, bonus: float = 0.0, wanted: int = 1) -> list[list[Alternative]]:
    tasks = [SearchTask(TokenBias(bonus), LIMIT, wanted) for _ in seeds]
    return search(PrefixScorer(list(seeds), width), tasks, width)


def score(seed: int, text: tuple[int, ...], bonus: float) -> float:
    """What a whole text scores, bonuses weighed by what the model thinks of the end."""
    total = 0.0
    for position, token in enumerate(text):
        following = probabilities(seed, text[:position])
        total += following[token]
        if position and (text[position - 1], token) == (3, 4):
            total += bonus * (1 - math.exp(following[END_TOKEN]))
    return total + (probabilities(seed, text)[END_TOKEN] if len(text) < LIMIT else 0.0)


def every_text(seed: int, bonus: float) -> list[tuple[float, tuple[int, ...]]]:
    texts = (text for length in range(LIMIT + 1) for text in itertools.product(TOKENS, repeat=length))
    return sorted(((score(seed, text, bonus), text) for text in texts), reverse=True)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.7, 3.0]))
def test_a_wide_search_finds_what_trying_everything_finds(seed: int, bonus: float) -> None:
    expected = every_text(seed, bonus)
    [found] = run([seed], width=81, bonus=bonus, wanted=5)
    assert [alternative.tokens for alternative in found[:5]] == [text for _, text in expected[:5]]
    assert [alternative.score for alternative in found[:5]] == pytest.approx([value for value, _ in expected[:5]])
    for alternative in found[:5]:
        assert alternative.log_probability == pytest.approx(score(seed, alternative.tokens, 0.0))


@settings(deadline=None)
@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=6), st.sampled_from([2, 4]), st.sampled_from([0.0, 2.0]))
def test_a_batch_searches_each_utterance_as_if_alone(seeds: list[int], width: int, bonus: float) -> None:
    assert run(seeds, width, bonus, wanted=3) == [run([seed], width, bonus, wanted=3)[0] for seed in seeds]


def test_a_prefix_is_not_questioned() -> None:
    prefix = (5, 3)
    [found] = search(PrefixScorer([7], 2), [SearchTask(TokenBias(), LIMIT, prefix=prefix)], 2)
    assert found[0].tokens[:2] == prefix
    best = max((t for _, t in every_text(7, 0.0) if t[:2] == prefix), key=lambda t: score(7, t, 0.0))
    assert score(7, found[0].tokens, 0.0) <= score(7, best, 0.0) + 1e-9


class SureScorer(PrefixScorer):
    """Says one thing with near certainty: tokens 3 and 4 in turn, and the end after ``ends_after`` of them."""

    ends_after = 4

    def candidates(self) -> Candidates:
        values = np.full((len(self.rows), 4), -9.0)
        for row, said in zip(values, self.rows, strict=True):
            ends = len(said) > self.ends_after
            row[3 if ends else (len(said) - 1) % 2] = -0.001
        return Candidates(np.tile([*TOKENS, END_TOKEN], (len(self.rows), 1)), values)


def test_bonuses_do_not_prolong_what_is_at_its_end() -> None:
    class Greedy(TokenBias):
        def advance(self, state: int, token: int) -> tuple[int, float]:
            return token, 8.0

    [found] = search(SureScorer([0], 4), [SearchTask(Greedy(), 50)], 4)
    assert found[0].tokens == (3, 4, 3, 4)


def test_a_loop_is_cut_as_in_greedy_decoding() -> None:
    class Endless(SureScorer):
        ends_after = 1_000

    [found] = search(Endless([0], 2), [SearchTask(TokenBias(), 200)], 2)
    assert found[0].tokens[:4] == (3, 4)
    assert len(found[0].tokens) < LOOP_TOKENS
