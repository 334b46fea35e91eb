"""Phrase hints: from what callers send to a bias of the search.

A hint of a few words is a *phrase*: it is preferred as a whole. A longer one is a *sentence*: nobody says it word for
word, but it tells which words follow one another. So do phrases of several words. A few hundred sentences and the
values of a domain thereby make a small language model of it, without any training.
"""

from __future__ import annotations

import logging
import math
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from threading import Lock
from typing import TYPE_CHECKING

from engines.asr.errors import InvalidHintsError
from engines.asr.search.biasing import BiasAutomaton, Pattern
from engines.asr.search.boosts import BoostFinder
from engines.asr.search.spelling import SPACE, words
from engines.asr.search.vocabulary import Spelling
from engines.asr.serving.recognizer import DEFAULT_BOOST, Hint

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from concurrent.futures import Future

    from engines.asr.search.biasing import BiasState
    from engines.asr.search.ports import Boosted
    from engines.asr.search.vocabulary import Vocabulary

logger = logging.getLogger(__name__)

MAX_PHRASES = 1_000
MAX_CHARACTERS = 60_000
"""Of all phrases of a sequence together."""
MAX_WORD = 50
"""Characters between spaces: five more than the longest word of a dictionary."""
MAX_BOOST = 100.0

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

MAX_NODES = 300_000
"""Of the automata of all sets of hints that are kept: some 100 MB. A set of 60,000 characters has up to 150,000."""

# Steps of an automaton that are remembered: some megabytes.
_MAX_STEPS = 20_000
_NATS_PER_DECIBEL = math.log(10) / 10
# Stands before the first word of a text: sentences also tell how they begin.
_BEGINNING = Spelling(b"\n", 0.0, (0.0,), 1)


def check_hints(texts: Sequence[str], boosts: Sequence[float]) -> tuple[Hint, ...]:
    """Return the hints that a request brings.

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


class PhraseBias:
    """Bias of a set of hints (``engines.asr.search.ports.Bias``)."""

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
        self._automaton = BiasAutomaton(
            (pattern for pattern in phrases if pattern.words),
            (Pattern(pair, [0.0, boost * pair[1].pieces]) for pair, boost in pairs.items()),
        )
        self._steps: dict[tuple[BiasState, int], tuple[BiasState, float]] = {}
        self._boosts = BoostFinder(self._automaton, vocabulary)
        self.closing = vocabulary.closing
        blank = bytes([SPACE])
        self.initial: BiasState = self._automaton.after(blank, blank + _BEGINNING.letters + blank)
        self.initial_bonus = self._automaton.pending(self.initial)
        # The long walks are those from the beginning of a text and of any other word; all others come upon these.
        self.boosted(self.initial)
        self.boosted(self._automaton.after(blank, blank))

    def __len__(self) -> int:
        """Return the number of nodes that the hints take: what they cost in memory."""
        return len(self._automaton)

    def spelling(self, token: int) -> bytes:
        """Return the letters that a token spells."""
        return self._vocabulary.spelling(token)

    def advance(self, state: BiasState, token: int) -> tuple[BiasState, float]:
        """Return the state after ``token`` and its bonus, negative when given back."""
        step = self._steps.get((state, token))
        if step is None:
            if len(self._steps) >= _MAX_STEPS:
                self._steps.clear()
            step = self._automaton.advance(state, self._vocabulary.spelling(token))
            self._steps[state, token] = step
        return step

    def finish(self, state: BiasState) -> float:
        """Return the bonus at the end of a text, without unfinished phrases."""
        after, earned = self._automaton.advance(state, bytes([SPACE]))
        return earned - self._automaton.pending(after)

    def boosted(self, state: BiasState) -> Boosted:
        """Return the tokens that continue a phrase or a pair, with their bonus."""
        return self._boosts.boosted(state)


class BiasCache:
    """Cache of biases, shared by turns and conversations with the same hints.

    They are made in a thread of their own, one after the other: a thousand sentences take a second, in which others
    are to be recognized. Those that were used longest ago make room for others: large sets for each other, small ones
    hardly ever.
    """

    def __init__(self, vocabulary: Vocabulary, capacity: int = 32) -> None:
        self._vocabulary = vocabulary
        self._capacity = capacity
        self._biases: OrderedDict[tuple[Hint, ...], Future[PhraseBias]] = OrderedDict()
        # Of the biases that are made.
        self._nodes: dict[tuple[Hint, ...], int] = {}
        self._lock = Lock()
        self._maker = ThreadPoolExecutor(1, "hints")

    @property
    def nodes(self) -> int:
        """The nodes of all that is kept."""
        with self._lock:
            return sum(self._nodes.values())

    def get(self, hints: tuple[Hint, ...]) -> Future[PhraseBias]:
        """Return the bias of ``hints``, which may not be ready yet."""
        with self._lock:
            bias = self._biases.pop(hints, None)
            if bias is None:
                bias = self._maker.submit(self._make, hints)
                bias.add_done_callback(_log_failure)
            self._biases[hints] = bias
            self._make_room()
        return bias

    def _make(self, hints: tuple[Hint, ...]) -> PhraseBias:
        bias = PhraseBias(hints, self._vocabulary)
        with self._lock:
            if hints in self._biases:
                self._nodes[hints] = len(bias)
                self._make_room()
        return bias

    def _make_room(self) -> None:
        """Forget what was used longest ago; what was used last stays, whatever its size."""
        while len(self._biases) > 1 and (len(self._biases) > self._capacity or sum(self._nodes.values()) > MAX_NODES):
            hints, _ = self._biases.popitem(last=False)
            self._nodes.pop(hints, None)


def _log_failure(bias: Future[PhraseBias]) -> None:
    """Tell of a mistake in making hints ready, but not which words they hold."""
    if error := bias.exception():
        logger.error("phrase hints could not be made ready and are left out: %s", type(error).__name__)


def _nats(boost: float, default: float) -> float:
    return (default if boost == DEFAULT_BOOST else boost) * _NATS_PER_DECIBEL
