from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engines.asr.moonshine.decoding import LOOP_TOKENS, Hypothesis, decode_greedily, find_loop
from engines.asr.moonshine.vocabulary import END_TOKEN, START_TOKEN

VOCABULARY = 12


@dataclass
class PrefixModel:
    """A stand-in for the decoder: the next token depends on the row and on every token before it.

    It keeps what was run at each position, as the caches of a real decoder do, so that a wrong position, a stale
    entry or a row that was moved wrongly shows in what it predicts.
    """

    seeds: list[int]
    caches: list[list[int]] = field(default_factory=list)
    steps: int = 0

    def begin(self, tokens: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        assert tokens.shape == (len(self.seeds), lengths.max())
        self.caches = [list(row) for row in tokens.tolist()]
        return np.array(
            [
                [self.next_token(row, row_tokens[: i + 1]) for i in range(len(row_tokens))]
                for row, row_tokens in enumerate(self.caches)
            ]
        )

    def step(self, tokens: np.ndarray, positions: np.ndarray) -> np.ndarray:
        self.steps += 1
        assert len(tokens) == len(positions) == len(self.seeds)
        for cache, token, position in zip(self.caches, tokens.tolist(), positions.tolist(), strict=True):
            assert position <= len(cache)
            cache[position:] = [token]
        return np.array([self.next_token(row, cache) for row, cache in enumerate(self.caches)])

    def retire(self, row: int) -> None:
        for rows in (self.seeds, self.caches):
            rows[row] = rows[-1]
            rows.pop()

    def next_token(self, row: int, prefix: list[int]) -> int:
        value = hash((self.seeds[row], *prefix)) % (VOCABULARY + 2)
        return END_TOKEN if value >= VOCABULARY else value + 3


def decode(seeds: list[int], drafts: list[list[int]], limits: list[int]) -> list[list[int]]:
    hypotheses = decode_greedily(PrefixModel(list(seeds)), drafts, limits)
    assert all(hypothesis.done for hypothesis in hypotheses)
    return [hypothesis.tokens for hypothesis in hypotheses]


def by_hand(seed: int, limit: int) -> list[int]:
    model = PrefixModel([seed])
    tokens: list[int] = []
    while len(tokens) < limit and (token := model.next_token(0, [START_TOKEN, *tokens])) != END_TOKEN:
        tokens.append(token)
    return tokens


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(1, 14)), min_size=1, max_size=6))
def test_a_batch_decodes_each_row_as_if_alone(rows: list[tuple[int, int]]) -> None:
    seeds, limits = [seed for seed, _ in rows], [limit for _, limit in rows]
    assert decode(seeds, [[] for _ in rows], limits) == [by_hand(seed, limit) for seed, limit in rows]


@settings(max_examples=200)
@given(st.data())
def test_any_draft_leads_to_the_same_tokens(data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.tuples(st.integers(0, 10**6), st.integers(1, 14)), min_size=1, max_size=5))
    drafts = []
    for seed, limit in rows:
        truth = by_hand(seed, limit)
        kept = data.draw(st.integers(0, len(truth)))
        drafts.append(truth[:kept] + data.draw(st.lists(st.integers(3, VOCABULARY + 2), max_size=5)))
    seeds, limits = [seed for seed, _ in rows], [limit for _, limit in rows]
    assert decode(seeds, drafts, limits) == [by_hand(seed, limit) for seed, limit in rows]


def test_a_draft_that_holds_needs_no_further_step() -> None:
    seed = next(seed for seed in range(1000) if 5 <= len(by_hand(seed, 50)) < 50)
    model = PrefixModel([seed])
    truth = by_hand(seed, 50)
    [hypothesis] = decode_greedily(model, [truth], [50])
    assert hypothesis.tokens == truth
    assert model.steps == 0


def test_half_a_draft_saves_half_of_the_steps() -> None:
    seed = next(seed for seed in range(1000) if 8 <= len(by_hand(seed, 50)) < 50)
    truth = by_hand(seed, 50)
    from_scratch, drafted = PrefixModel([seed]), PrefixModel([seed])
    decode_greedily(from_scratch, [[]], [50])
    decode_greedily(drafted, [truth[:4]], [50])
    assert drafted.steps == from_scratch.steps - 4


@pytest.mark.parametrize("cycle", [1, 2, 5, 16])
def test_a_loop_is_cut_to_one_round(cycle: int) -> None:
    loop = list(range(100, 100 + cycle))
    hypothesis = Hypothesis(limit=1000)
    for token in [7, 8, 9] + loop * 100:
        hypothesis.append(token)
        if hypothesis.done:
            break
    assert hypothesis.done
    assert hypothesis.tokens == [7, 8, 9, *loop]


def test_repetition_that_people_use_is_no_loop() -> None:
    assert find_loop([5] * (LOOP_TOKENS - 1)) == 0
    assert find_loop([1, 2, 3, 4, 5, 6] * 3) == 0


def test_a_limit_ends_a_hypothesis() -> None:
    hypothesis = Hypothesis(limit=2)
    hypothesis.append(5)
    assert not hypothesis.done
    hypothesis.append(6)
    assert hypothesis.done
    assert hypothesis.tokens == [5, 6]
