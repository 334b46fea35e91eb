"""Contextual biasing: an automaton over the letters of phrases.

Shallow fusion with the contextual biasing of Zhao et al. 2019, "Shallow-Fusion End-to-End Contextual Biasing": text
that spells the beginning of a phrase earns a bonus at once, so that a beam search does not lose it, keeps it when
the phrase is complete, and gives it back when the phrase is left unfinished. The failure links are those of Aho and
Corasick 1975, "Efficient String Matching": a phrase that begins inside another is not missed.

Letters rather than tokens, because a recognizer spells the same word in many ways ("Latte", "latte", "LAT|TE").
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from engines.asr.search.spelling import SPACE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from engines.asr.search.vocabulary import Spelling

ROOT = 0

BiasState = tuple[int, int]
"""Where a text stands among the phrases, and among the pairs of words."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A phrase as it is spelled, and what its words are worth.

    Attributes:
        words: its words.
        bonuses: one a word, 0 or more, in natural logarithms of a probability.
    """

    words: Sequence[Spelling]
    bonuses: Sequence[float]

    def steps(self) -> Iterator[tuple[int, float]]:
        """Yield the letters of words and spaces, with the bonus earned at each."""
        total = 0.0
        for word, bonus in zip(self.words, self.bonuses, strict=True):
            yield SPACE, total + bonus * word.space_share
            for letter, share in zip(word.letters, word.shares, strict=True):
                yield letter, total + bonus * share
            total += bonus
        yield SPACE, total


class PhraseAutomaton:
    """Follows a text and tells what it earns.

    What a text has earned in all is the worth of the phrases that it holds completely, plus the *pending* bonus of
    the node that it stands on. Overlapping phrases earn each their own; of phrases inside one another the dearer.

    Node 0 is the root; every other node stands for a prefix of a pattern. Its fail node stands for the longest proper
    suffix of that prefix which is itself a prefix of a pattern.
    """

    def __init__(self, patterns: Iterable[Pattern]) -> None:
        self._children: list[dict[int, int]] = [{}]
        self._parents = [ROOT]
        self._depths = [0]
        self._letters = [SPACE]
        # The most that a text can have earned at this node without having left a pattern …
        self._potentials = [0.0]
        # … and how much of it it keeps if it leaves now.
        self._kept = [0.0]
        self._fails = [ROOT]
        complete: dict[int, float] = {}
        for pattern in patterns:
            node = self._insert(pattern)
            complete[node] = max(sum(pattern.bonuses), complete.get(node, 0.0))
        for node in sorted(range(1, len(self._depths)), key=self._depths.__getitem__):
            self._link(node)
            self._settle(node, complete)

    def __len__(self) -> int:
        """Return the number of nodes."""
        return len(self._children)

    def advance(self, node: int, spelling: bytes) -> tuple[int, float]:
        """Read letters; return node and bonus, negative when one is given back."""
        earned = 0.0
        for letter in spelling:
            if letter == SPACE and self._letters[node] == SPACE and node != ROOT:
                continue
            while (child := self._children[node].get(letter)) is None and node != ROOT:
                fail = self._fails[node]
                earned += self.pending(fail) - self.pending(node)
                node = fail
            if child is not None:
                earned += self._potentials[child] - self._potentials[node]
                node = child
        return node, earned

    def pending(self, node: int) -> float:
        """Return what is given back if the text leaves its patterns at ``node``."""
        return self._potentials[node] - self._kept[node]

    def continuations(self, node: int) -> set[int]:
        """Return the letters that keep the text inside some pattern."""
        letters = set(self._children[node])
        while node != ROOT:
            node = self._fails[node]
            letters |= self._children[node].keys()
        return letters

    def _insert(self, pattern: Pattern) -> int:
        node = ROOT
        for letter, bonus in pattern.steps():
            child = self._children[node].get(letter)
            if child is None:
                child = self._add(node, letter)
            self._potentials[child] = max(self._potentials[child], bonus)
            node = child
        return node

    def _add(self, parent: int, letter: int) -> int:
        node = len(self._children)
        self._children.append({})
        self._children[parent][letter] = node
        self._parents.append(parent)
        self._depths.append(self._depths[parent] + 1)
        self._letters.append(letter)
        self._potentials.append(0.0)
        self._kept.append(0.0)
        self._fails.append(ROOT)
        return node

    def _link(self, node: int) -> None:
        """Find the fail node; those of all shorter prefixes are known."""
        parent, letter = self._parents[node], self._letters[node]
        while parent != ROOT:
            parent = self._fails[parent]
            child = self._children[parent].get(letter)
            if child is not None:
                self._fails[node] = child
                return

    def _settle(self, node: int, complete: dict[int, float]) -> None:
        """Find the dearest set of complete, disjoint phrases of a prefix."""
        kept = self._kept[self._parents[node]]
        if self._letters[node] == SPACE:
            inner = node
            while inner != ROOT:
                if inner in complete:
                    before = self._ancestor(node, self._depths[inner] - 1)
                    kept = max(kept, self._kept[before] + complete[inner])
                inner = self._fails[inner]
        self._kept[node] = kept
        self._potentials[node] = max(self._potentials[node], kept)

    def _ancestor(self, node: int, steps: int) -> int:
        for _ in range(steps):
            node = self._parents[node]
        return node


class BiasAutomaton:
    """Follows a text among phrases and among pairs of words at once."""

    def __init__(self, phrases: Iterable[Pattern], pairs: Iterable[Pattern]) -> None:
        self._phrases = PhraseAutomaton(phrases)
        self._pairs = PhraseAutomaton(pairs)

    def __len__(self) -> int:
        """Return the number of nodes, of both together."""
        return len(self._phrases) + len(self._pairs)

    def after(self, phrases: bytes, pairs: bytes) -> BiasState:
        """Return the state of a text's beginning, for phrases and for pairs."""
        return self._phrases.advance(ROOT, phrases)[0], self._pairs.advance(ROOT, pairs)[0]

    def advance(self, state: BiasState, spelling: bytes) -> tuple[BiasState, float]:
        """Read letters; return state and bonus, negative when one is given back."""
        phrase, by_phrases = self._phrases.advance(state[0], spelling)
        pair, by_pairs = self._pairs.advance(state[1], spelling)
        return (phrase, pair), by_phrases + by_pairs

    def pending(self, state: BiasState) -> float:
        """Return what is given back if the text leaves all patterns at ``state``."""
        return self._phrases.pending(state[0]) + self._pairs.pending(state[1])

    def continuations(self, state: BiasState) -> set[int]:
        """Return the letters that keep the text inside some pattern."""
        return self._phrases.continuations(state[0]) | self._pairs.continuations(state[1])
