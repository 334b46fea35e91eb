"""Batched beam search that prefers hinted phrases and keeps alternatives.

The beams of all utterances are the rows of one decoder batch; an utterance's are consecutive. Scores are sums of log
probabilities and of what the bias gives (``engines.asr.search.hints``): shallow fusion. Three rules keep bonuses from
deciding
how long a text is: a bonus counts only as far as the model does not expect the end (it is multiplied by one minus the
probability of the end token and of what ends a sentence); an unfinished phrase is given back only when texts have
ended and are compared with one another; and a text that loops is cut as in greedy decoding.

Scores are not divided by the length: the recognizer is sure of its ends.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, NamedTuple

import numpy as np

from engines.asr.moonshine.decoding import find_loop, trim_loop
from engines.asr.moonshine.vocabulary import END_TOKEN, START_TOKEN
from engines.asr.search.ports import S
from engines.asr.serving.recognizer import Alternative

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from engines.asr.search.ports import Boosted, Candidates, CandidateScorer, SearchTask

HOPELESS = 12.0
"""Beams are given up once they are so far (natural logarithm) behind the best finished text …"""
PATIENCE = 3.0
"""… or so far behind the last finished text that is wanted: bonuses may yet bring them forward."""
PLAUSIBLE = 6.0
"""Tokens that the model finds so much less probable than the best one are not considered, whatever they would earn:
hints choose among what may have been heard, and put nothing into the speaker's mouth."""


class _Beam(NamedTuple, Generic[S]):
    tokens: tuple[int, ...]
    spelled: bytes
    log_probability: float
    bonus: float
    state: S

    @property
    def score(self) -> float:
        return self.log_probability + self.bonus


class _Extension(NamedTuple, Generic[S]):
    score: float
    row: int
    token: int
    log_probability: float
    bonus: float
    state: S


@dataclass(slots=True)
class _Search(Generic[S]):
    """Beams of one utterance: slot ``i`` is row ``i`` of its block, or None."""

    task: SearchTask[S]
    beams: list[_Beam[S] | None]
    finished: list[Alternative] = field(default_factory=list)

    @classmethod
    def begin(cls, task: SearchTask[S], width: int) -> _Search[S]:
        state = task.bias.initial
        bonus = task.bias.initial_bonus
        for token in task.prefix:
            state, earned = task.bias.advance(state, token)
            bonus += earned
        spelled = b"".join(map(task.bias.spelling, task.prefix))
        return cls(task, [_Beam(task.prefix, spelled, 0.0, bonus, state), *[None] * (width - 1)])

    @property
    def done(self) -> bool:
        """True when no open beam can matter any more."""
        best_open = max((beam.score for beam in self.beams if beam), default=-math.inf)
        ranked = sorted((text.score for text in self.finished), reverse=True)
        if best_open == -math.inf or not ranked:
            return best_open == -math.inf
        enough = len(ranked) >= self.task.wanted
        return best_open <= max(ranked[0] - HOPELESS, ranked[self.task.wanted - 1] - PATIENCE if enough else -math.inf)

    def boosted(self) -> list[Boosted]:
        """Return what is boosted in each row."""
        return [self.task.bias.boosted(beam.state) if beam else _NO_BOOST for beam in self.beams]

    def extend(
        self, tokens: Sequence[Sequence[int]], log_probabilities: Sequence[Sequence[float]]
    ) -> list[tuple[int, int]]:
        """Replace the beams by their best extensions.

        Returns:
            Rows that go on in another row than their own: from, to. None of the latter is among the former.
        """
        width = len(self.beams)
        extensions = [
            extension
            for row, beam in enumerate(self.beams)
            if beam
            for extension in self._extensions(row, beam, tokens[row], log_probabilities[row])
        ]
        going_on: dict[bytes, _Extension[S]] = {}
        for rank, extension in enumerate(sorted(extensions, key=_score, reverse=True)):
            if extension.token == END_TOKEN:
                if rank < width:
                    self._finish(self._beam(extension))
            elif len(going_on) < width:
                # Texts that differ in case or punctuation alone would take the place of other words.
                going_on.setdefault(self._spelled(extension), extension)
        return self._go_on(going_on.values())

    def _extensions(
        self, row: int, beam: _Beam[S], tokens: Sequence[int], log_probabilities: Sequence[float]
    ) -> list[_Extension[S]]:
        advance, score = self.task.bias.advance, beam.score
        end = log_probabilities[-1]
        extensions = [_Extension(score + end, row, END_TOKEN, end, 0.0, beam.state)]
        others = list(zip(tokens[:-1], log_probabilities[:-1], strict=True))
        closing = math.exp(end) + sum(math.exp(p) for token, p in others if token in self.task.bias.closing)
        share = max(0.0, 1 - closing)
        least = max(log_probabilities) - PLAUSIBLE
        for token, log_probability in others:
            if token != END_TOKEN and log_probability >= least:
                state, bonus = advance(beam.state, token)
                bonus *= share if bonus > 0 else 1
                extensions.append(
                    _Extension(score + log_probability + bonus, row, token, log_probability, bonus, state)
                )
        return extensions

    def _parent(self, extension: _Extension[S]) -> _Beam[S]:
        parent = self.beams[extension.row]
        assert parent is not None
        return parent

    def _spelled(self, extension: _Extension[S]) -> bytes:
        spelled = self._parent(extension).spelled
        more = self.task.bias.spelling(extension.token)
        return spelled + (more.lstrip() if spelled.endswith(b" ") else more)

    def _beam(self, extension: _Extension[S]) -> _Beam[S]:
        parent = self._parent(extension)
        ends = extension.token == END_TOKEN
        return _Beam(
            parent.tokens if ends else (*parent.tokens, extension.token),
            parent.spelled if ends else self._spelled(extension),
            parent.log_probability + extension.log_probability,
            parent.bonus + extension.bonus,
            extension.state,
        )

    def _go_on(self, extensions: Iterable[_Extension[S]]) -> list[tuple[int, int]]:
        """Assign rows to the best extensions, keeping rows without one for others."""
        beams: list[_Beam[S] | None] = [None] * len(self.beams)
        moving: list[tuple[int, _Beam[S]]] = []
        for extension in extensions:
            beam = self._beam(extension)
            cycle = find_loop(beam.tokens)
            if cycle or len(beam.tokens) >= self.task.limit:
                self._finish(beam._replace(tokens=tuple(trim_loop(beam.tokens, cycle))))
            elif beams[extension.row] is None:
                beams[extension.row] = beam
            else:
                moving.append((extension.row, beam))
        free = [row for row, beam in enumerate(beams) if beam is None]
        copies = []
        for (source, beam), target in zip(moving, free, strict=False):
            beams[target] = beam
            copies.append((source, target))
        self.beams = beams
        return copies

    def _finish(self, beam: _Beam[S]) -> None:
        score = beam.score + self.task.bias.finish(beam.state)
        self.finished.append(Alternative(beam.tokens, beam.log_probability, score))


def search(scorer: CandidateScorer, tasks: Sequence[SearchTask[S]], width: int) -> list[list[Alternative]]:
    """Decode a batch of utterances.

    Args:
        scorer: the decoder, ready for ``len(tasks) * width`` rows.
        tasks: one an utterance.
        width: beams of each.

    Returns:
        For each utterance the texts found, the best first; at least one.
    """
    searches = [_Search.begin(task, width) for task in tasks]
    starts = [[START_TOKEN, *task.prefix] for task in tasks for _ in range(width)]
    lengths = np.array([len(start) for start in starts], np.int32)
    tokens = np.full((len(starts), lengths.max()), END_TOKEN, np.int64)
    for row, start in zip(tokens, starts, strict=True):
        row[: len(start)] = start
    candidates = scorer.begin(tokens, lengths, [b for running in searches for b in running.boosted()])
    running = list(searches)
    while True:
        _extend(scorer, running, width, candidates)
        running = _retire_done(scorer, running)
        if not running:
            return [sorted(done.finished, key=_score, reverse=True) for done in searches]
        candidates = _step(scorer, running)


def _extend(scorer: CandidateScorer, running: Sequence[_Search[S]], width: int, candidates: Candidates) -> None:
    tokens, log_probabilities = candidates.tokens.tolist(), candidates.log_probabilities.tolist()
    for block, one in enumerate(running):
        first = block * width
        rows = slice(first, first + width)
        for source, target in one.extend(tokens[rows], log_probabilities[rows]):
            # The start token and the tokens of the parent were run; the new token was not.
            beam = one.beams[target]
            assert beam is not None
            scorer.copy(first + source, first + target, len(beam.tokens))


def _step(scorer: CandidateScorer, running: Sequence[_Search[S]]) -> Candidates:
    """Run the last token of every beam; a row without a beam repeats that of another."""
    tokens, positions = [], []
    for one in running:
        some = next(beam for beam in one.beams if beam)
        for beam in one.beams:
            tokens.append((beam or some).tokens[-1])
            positions.append(len((beam or some).tokens))
    boosted = [b for one in running for b in one.boosted()]
    return scorer.step(np.array(tokens, np.int64), np.array(positions, np.int32), boosted)


def _retire_done(scorer: CandidateScorer, running: Sequence[_Search[S]]) -> list[_Search[S]]:
    """Drop the utterances that are done, in the order in which the scorer moves them."""
    left = list(running)
    for block in range(len(left) - 1, -1, -1):
        if left[block].done:
            scorer.retire(block)
            left[block] = left[-1]
            left.pop()
    return left


def _score(scored: _Extension[S] | Alternative) -> float:
    return scored.score


_NO_BOOST: Boosted = (np.zeros(0, np.int64), np.zeros(0, np.float32))
