"""Phrases that are likely to be said: what callers may hand in, and what becomes of it in the search.

A hint of a few words is a *phrase*: it is preferred as a whole. A longer one is a *sentence*: nobody says it word for
word, but it tells which words follow one another. So do phrases of several words. A few hundred sentences and the
values of a domain thereby make a small language model of it, without any training.
"""

from __future__ import annotations

import logging
import math
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from engines.asr.biasing import Pattern, PhraseAutomaton
from engines.asr.errors import InvalidHintsError
from engines.asr.spelling import SPACE, words
from engines.asr.vocabulary import Spelling

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from concurrent.futures import Future

    from numpy.typing import NDArray

    from engines.asr.vocabulary import Vocabulary

logger = logging.getLogger(__name__)

MAX_PHRASES = 1_000
MAX_CHARACTERS = 60_000
"""Of all phrases of a sequence together."""
MAX_WORD = 50
"""Characters between spaces: five more than the longest word of a dictionary."""
MAX_BOOST = 100.0
DEFAULT_BOOST = -1.0
"""Stands for the boost that suits the kind of hint."""

PHRASE_BOOST = 11.0
"""What a phrase gets whose boost is left open …"""
SENTENCE_BOOST = 5.0
"""… and a sentence."""
LONGEST_PHRASE = 6
"""Words of the longest phrase; more are a sentence."""
FULL_PIECES = 4
"""Pieces of a phrase that count in full. A longer one earns no more than so many: enough to be preferred, but not to
be heard in anything that begins like it."""
PAIR_SHARE = 0.5
"""Share of a phrase's boost that the pairs of words in it get."""

# What is remembered of a set of hints: some megabytes at most.
_MOST_STEPS = 20_000
_MOST_BOOSTS = 500
_NATS_PER_DECIBEL = math.log(10) / 10
# Stands before the first word of a text: sentences also tell how they begin.
_BEGINNING = Spelling(b"\n", 0.0, (0.0,), 1)


@dataclass(frozen=True, slots=True)
class Hint:
    """Something that is likely to be said.

    Attributes:
        text: its words; case and punctuation do not matter.
        boost: 0 to 100 decibels, or ``DEFAULT_BOOST``: 10 makes each piece that a word is spelled in ten times as
            likely, 20 a hundred times.
    """

    text: str
    boost: float = DEFAULT_BOOST


def check_hints(texts: Sequence[str], boosts: Sequence[float]) -> tuple[Hint, ...]:
    """Returns the hints that a request brings.

    Raises:
        InvalidHintsError: they are too many, too long, or a boost is out of range.
    """
    if len(texts) > MAX_PHRASES:
        raise InvalidHintsError(f"PHRASE_HINTS holds {len(texts):,} phrases; send at most {MAX_PHRASES:,}.")
    characters = sum(map(len, texts))
    if characters > MAX_CHARACTERS:
        raise InvalidHintsError(f"PHRASE_HINTS holds {characters:,} characters; send at most {MAX_CHARACTERS:,}.")
    if longest := max((part for text in texts for part in text.split() if len(part) > MAX_WORD), key=len, default=""):
        raise InvalidHintsError(f"PHRASE_HINTS holds a word of {len(longest):,} characters; send at most {MAX_WORD}.")
    if not boosts:
        boosts = [DEFAULT_BOOST] * len(texts)
    if len(boosts) != len(texts):
        raise InvalidHintsError(
            f"PHRASE_BOOSTS holds {len(boosts)} boosts for {len(texts)} phrases; send one for each, or none."
        )
    for boost in boosts:
        if boost != DEFAULT_BOOST and not 0 <= boost <= MAX_BOOST:
            raise InvalidHintsError(
                f"PHRASE_BOOSTS holds {boost:g}; send 0 to {MAX_BOOST:g}, or {DEFAULT_BOOST:g} for the usual boost."
            )
    return tuple(Hint(text, float(boost)) for text, boost in zip(texts, boosts, strict=True))


BiasState = tuple[int, int]
"""Where a text stands among the phrases, and among the pairs of words."""


class PhraseBias:
    """What the tokens of a text earn by a set of hints (``engines.asr.search_ports.Bias``)."""

    def __init__(self, hints: Iterable[Hint], vocabulary: Vocabulary) -> None:
        spellings: dict[str, Spelling] = {}
        phrases: list[Pattern] = []
        pairs: dict[tuple[Spelling, Spelling], float] = {}
        for hint in hints:
            said = [spellings.get(w) or spellings.setdefault(w, vocabulary.spell_word(w)) for w in words(hint.text)]
            is_phrase = len(said) <= LONGEST_PHRASE
            boost = _nats(hint.boost, PHRASE_BOOST if is_phrase else SENTENCE_BOOST)
            if is_phrase:
                boost *= min(1.0, FULL_PIECES / max(1, sum(word.pieces for word in said)))
                phrases.append(Pattern(said, [boost * word.pieces for word in said]))
                boost *= PAIR_SHARE
            for pair in pairwise(said if is_phrase else [_BEGINNING, *said]):
                pairs[pair] = max(pairs.get(pair, 0.0), boost)
        self._vocabulary = vocabulary
        self._phrases = PhraseAutomaton(pattern for pattern in phrases if pattern.words)
        self._pairs = PhraseAutomaton(Pattern(pair, [0.0, boost * pair[1].pieces]) for pair, boost in pairs.items())
        self._steps: dict[tuple[BiasState, int], tuple[BiasState, float]] = {}
        self._boosts: dict[BiasState, tuple[NDArray[np.int64], NDArray[np.float32]]] = {}
        self.closing = vocabulary.closing
        blank = bytes([SPACE])
        self.initial: BiasState = (
            self._phrases.advance(0, blank)[0],
            self._pairs.advance(0, blank + _BEGINNING.letters + blank)[0],
        )
        self.initial_bonus = self._pending(self.initial)

    def spelling(self, token: int) -> bytes:
        """Returns the letters that a token spells."""
        return self._vocabulary.spelling(token)

    def advance(self, state: BiasState, token: int) -> tuple[BiasState, float]:
        """Returns the state after ``token`` and what the token earns; negative when it gives a bonus back."""
        step = self._steps.get((state, token))
        if step is None:
            if len(self._steps) >= _MOST_STEPS:
                self._steps.clear()
            step = self._advance(state, self._vocabulary.spelling(token))
            self._steps[state, token] = step
        return step

    def finish(self, state: BiasState) -> float:
        """Returns what the end of the text earns: it completes phrases, and gives back what is unfinished."""
        after, earned = self._advance(state, bytes([SPACE]))
        return earned - self._pending(after)

    def _pending(self, state: BiasState) -> float:
        return self._phrases.pending(state[0]) + self._pairs.pending(state[1])

    def boosted(self, state: BiasState) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Returns the tokens that go on with a phrase or a pair, and what they earn more than others."""
        found = self._boosts.get(state)
        if found is None:
            if len(self._boosts) >= _MOST_BOOSTS:
                self._boosts.clear()
            found = self._boosts[state] = self._find_boosted(state)
        return found

    def _advance(self, state: BiasState, spelling: bytes) -> tuple[BiasState, float]:
        phrase, by_phrases = self._phrases.advance(state[0], spelling)
        pair, by_pairs = self._pairs.advance(state[1], spelling)
        return (phrase, pair), by_phrases + by_pairs

    def _find_boosted(self, state: BiasState) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        pending = self._pending(state)
        tokens: list[int] = []
        bonuses: list[float] = []
        open_spellings = [(b"", state, 0.0)]
        while open_spellings:
            spelling, node, earned = open_spellings.pop()
            if earned + pending > 0:
                same = self._vocabulary.tokens(spelling)
                tokens += same
                bonuses += [earned + pending] * len(same)
            letters = self._phrases.continuations(node[0]) | self._pairs.continuations(node[1])
            for letter in letters:
                longer = spelling + bytes([letter])
                if self._vocabulary.has_prefix(longer):
                    after, more = self._advance(node, bytes([letter]))
                    open_spellings.append((longer, after, earned + more))
        return np.array(tokens, np.int64), np.array(bonuses, np.float32)


class BiasCache:
    """The biases that were used last: the turns of a conversation, and conversations of one application, share one.

    They are made in a thread of their own, one after the other: a thousand sentences take half a second, in which
    others are to be recognized.
    """

    def __init__(self, vocabulary: Vocabulary, capacity: int = 32) -> None:
        self._vocabulary = vocabulary
        self._capacity = capacity
        self._biases: OrderedDict[tuple[Hint, ...], Future[PhraseBias]] = OrderedDict()
        self._maker = ThreadPoolExecutor(1, "hints")

    def get(self, hints: tuple[Hint, ...]) -> Future[PhraseBias]:
        """Returns the bias of ``hints``, which may not be ready yet."""
        bias = self._biases.pop(hints, None)
        if bias is None:
            bias = self._maker.submit(PhraseBias, hints, self._vocabulary)
            bias.add_done_callback(_log_failure)
        self._biases[hints] = bias
        if len(self._biases) > self._capacity:
            self._biases.popitem(last=False)
        return bias


def _log_failure(bias: Future[PhraseBias]) -> None:
    """Tells of a mistake in making hints ready, but not which words they hold."""
    if error := bias.exception():
        logger.error("phrase hints could not be made ready and are left out: %s", type(error).__name__)


def _nats(boost: float, default: float) -> float:
    return (default if boost == DEFAULT_BOOST else boost) * _NATS_PER_DECIBEL
