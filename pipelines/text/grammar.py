"""NeMo's grammars for writing figures, and which words they read.

The library ``wetext`` carries the grammars compiled, as finite-state transducers over bytes. They take a millisecond a
word and let no other thread run meanwhile, so a text is not given to them as a whole: which words can be part of a
figure at all is read from the transducer itself, and what stands between other words is converted by itself. That
changes nothing, because any other word is a token of its own and tokens do not know of each other.
"""

from __future__ import annotations

import collections
import itertools
from typing import TYPE_CHECKING

import kaldifst
from wetext import Normalizer
from wetext.constants import FST_PATHS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

KINDS = ("cardinal", "date", "decimal", "measure", "money", "ordinal", "telephone", "time", "whitelist")
"""What the grammars write otherwise than it is spoken, beside addresses."""

DOT = "dot"
"""Word of every address of a mail or a page, of which any other words may be part."""
_MIDDLES = frozenset({"at", DOT})

_CONNECTIVES = (
    "a am and bar base before bit book cat clock common display dollar dollars double east face feet foot for "
    "force half hour hours hundred i in inch inches is life march mark may mile miles mind minute minutes new "
    "no north now of off on open past per percent play plus point pop pound pounds power quarter real seconds "
    "shop south square states tell the to too unit units us I"
)
CONNECTIVES = frozenset(_CONNECTIVES.split())
"""Frequent words that are part of figures ("half past two"), but make none among themselves, except for this:"""

EXCEPTION = ("a", "i")
"""Written "AI"."""

LONGEST_RUN = 16
"""Words that are converted at a time, in about 10 ms; longer numbers and addresses are cut."""

_SPACE = ord(" ")
_LONGEST_WORD = 64


class Grammar:
    """The grammars, ready to convert; to load them takes about a second.

    Attributes:
        words: all that can be part of a figure, but for addresses.
    """

    def __init__(self) -> None:
        self._normalizer = Normalizer(lang="en", operator="itn")
        tagger = read_tagger()
        self.words = frozenset().union(*(_words(tokens(tagger, kind)) for kind in KINDS))

    def convert(self, words: Sequence[str]) -> str:
        """Write words in lower case, without punctuation, in figures."""
        return str(self._normalizer.normalize(" ".join(words)))

    def runs(self, words: Sequence[str]) -> Iterator[tuple[Sequence[str], bool]]:
        """Yield ``words`` in runs, in order, each with whether it may hold a figure."""
        is_read = (lambda _: True) if DOT in words else self.words.__contains__
        for known, group in itertools.groupby(words, is_read):
            run = list(group)
            if not known or (CONNECTIVES.issuperset(run) and EXCEPTION not in itertools.pairwise(run)):
                yield run, False
                continue
            while run:
                end = self._end(run)
                yield run[:end], True
                run = run[end:]

    def _end(self, words: Sequence[str]) -> int:
        """Return the number of words to convert at a time, without splitting figures."""
        if len(words) <= LONGEST_RUN:
            return len(words)
        places = range(LONGEST_RUN, 0, -1)
        return next((at for at in places if not self._belong_together(*words[at - 1 : at + 1])), LONGEST_RUN)

    def _belong_together(self, word: str, following: str) -> bool:
        """Return whether two neighbours may be in one figure, or in an address."""
        both = {word, following}
        return both <= self.words or not both.isdisjoint(_MIDDLES)


def read_tagger() -> kaldifst.StdVectorFst:
    """Return the transducer from words to tokens, its output labels sorted."""
    tagger = kaldifst.StdVectorFst.read(FST_PATHS["en"]["itn"]["tagger"])
    kaldifst.arcsort(tagger, "olabel")
    return tagger


def tokens(tagger: kaldifst.StdVectorFst, kind: str) -> kaldifst.StdVectorFst:
    """Return the part of ``tagger`` that reads one token of a kind and nothing else."""
    opening = f"{kind} {{".encode()
    inside, closed = len(opening), len(opening) + 1
    arcs = [
        (0, b" ", 0),
        *((at, bytes([label]), at + 1) for at, label in enumerate(opening)),
        (inside, bytes(label for label in range(1, 256) if label != ord("}")), inside),
        (inside, b"}", closed),
        (closed, b" ", closed),
    ]
    return kaldifst.compose(tagger, acceptor(arcs, closed))


def acceptor(arcs: Iterable[tuple[int, bytes, int]], *finals: int) -> kaldifst.StdVectorFst:
    """Make an acceptor that begins in state 0.

    Args:
        arcs: from which state by any of which labels to which state.
        finals: the states that it may end in.
    """
    arcs = list(arcs)
    fst = kaldifst.StdVectorFst()
    for _ in range(1 + max(state for source, _, target in arcs for state in (source, target))):
        fst.add_state()
    fst.start = 0
    for state in finals:
        fst.set_final(state, 0.0)
    for source, labels, target in arcs:
        for label in labels:
            fst.add_arc(source, kaldifst.StdArc(label, label, 0.0, target))
    kaldifst.arcsort(fst, "ilabel")
    return fst


def _words(fst: kaldifst.StdVectorFst) -> set[str]:
    """Return every word that can stand in an input of ``fst``.

    Raises:
        ValueError: there is no end of them.
    """
    arcs = [
        [(arc.ilabel, arc.nextstate) for arc in kaldifst.ArcIterator(fst, state)] for state in range(fst.num_states)
    ]
    begins = {fst.start, *(target for leaving in arcs for label, target in leaving if label == _SPACE)}
    found = set()
    pending = [(b"", _without_input(arcs, begins))]
    while pending:
        word, states = pending.pop()
        if len(word) > _LONGEST_WORD:
            raise ValueError(
                f"the grammar reads words of any length, such as {word!r}: it is not one of the known kinds"
            )
        following: dict[int, set[int]] = collections.defaultdict(set)
        for label, target in itertools.chain.from_iterable(arcs[state] for state in states):
            following[label].add(target)
        if word and (_SPACE in following or any(fst.final(state).value == 0 for state in states)):
            found.add(word.decode())
        pending += [
            (word + bytes([label]), _without_input(arcs, targets))
            for label, targets in following.items()
            if label not in {0, _SPACE}
        ]
    return found


def _without_input(arcs: Sequence[Sequence[tuple[int, int]]], states: Iterable[int]) -> set[int]:
    """Return the states that are reached from ``states`` without reading anything."""
    reached = set(states)
    pending = list(reached)
    while pending:
        new = {target for label, target in arcs[pending.pop()] if not label} - reached
        reached |= new
        pending += new
    return reached
