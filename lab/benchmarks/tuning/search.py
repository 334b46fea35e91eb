"""The search itself: which candidate is measured next, and which one wins. It knows no clock and no service.

It follows successive halving (Jamieson and Talwalkar, "Non-stochastic Best Arm Identification and Hyperparameter
Optimization", 2016): every move is tried alone and briefly, the best again and for longer, and then together.
What comes out on top must beat the default in turns with it, for on a machine with other work no two minutes are alike:
under a load that the default just does not carry, where a better candidate shows, and under one that it carries, where
callers are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from benchmarks.tuning.outcome import Measured, Outcome, held, is_better
from benchmarks.tuning.space import DEFAULT, Candidate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.tuning.space import Move

MAX_STREAMS = 512
"""More are never open at a time."""
_FIRST_STREAMS = 8
_LOAD_SHARE, _SCREEN_SHARE, _COMBINE_SHARE, _CONFIRM_SHARE = 0.2, 0.55, 0.7, 0.9
"""How much of the time has passed when a stage ends; what is left is for how much the winner holds."""
_DEFAULT_EVERY = 4
_LONGER = 2
_CLEARLY = 0.85
"""So much longer is a load once few candidates are left."""
_MIN_ROUNDS, _MAX_ROUNDS = 2, 5
_CHECKS = 2
"""Measurements of the check at the end."""


class DefaultFailedError(RuntimeError):
    """The service does not come up as it is, so that there is nothing to compare with; the message says why."""


class Measure(Protocol):
    """Measures a candidate: so many conversations for so many seconds."""

    def __call__(self, candidate: Candidate, streams: int, seconds: float, *, unseen: bool = False) -> Outcome:
        """Returns what came of it; ``unseen``: with conversations that no choice is made by."""


@dataclass(frozen=True, slots=True)
class Enough:
    """How much time a decision takes, by the measurements so far.

    Attributes:
        round_minutes: of one measurement of the default and one of a candidate, in turns.
        minutes: limit with which one candidate can be compared with the default.
        all_minutes: limit with which all moves are tried as well.
        moves: how many these are.
    """

    round_minutes: float
    minutes: int
    all_minutes: int
    moves: int


@dataclass(slots=True)
class Found:
    """What a search has found so far.

    Attributes:
        points: everything that was measured, in order.
        best: the candidate that looks best.
        confirmed: whether it beat the default in turns with it, or is the default and nothing that was tried beats it.
            False as long as that is undecided.
        streams: the load under which candidates were compared.
        carried_streams: the load under which those that came out on top were compared as well.
        enough: how much time a decision takes on this machine; None before the first measurement.
        check: the best one and the default under conversations that the search has not seen; None where the default
            stays, and before.
    """

    points: list[Measured] = field(default_factory=list)
    best: Candidate = DEFAULT
    confirmed: bool = True
    streams: int = _FIRST_STREAMS
    carried_streams: int = _FIRST_STREAMS
    enough: Enough | None = None
    check: tuple[Outcome, Outcome] | None = None

    @property
    def loads(self) -> list[int]:
        """The loads under which the best one was compared with the default, the lower one first."""
        return sorted({self.carried_streams, self.streams})


class Search:
    """Looks for the best candidate within a time limit.

    Args:
        moves: what can be set otherwise.
        measure: measures a candidate.
        limit_seconds: time for everything. A measurement that was begun is ended.
        load_seconds: how long conversations last while moves are tried.
        say: told what is going on.

    Attributes:
        found: what has been found, at any moment.
    """

    def __init__(
        self,
        moves: Sequence[Move],
        measure: Measure,
        limit_seconds: float,
        load_seconds: float,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.found = Found(confirmed=False)
        self._moves = moves
        self._measure = measure
        self._limit_seconds = limit_seconds
        self._load_seconds = load_seconds
        self._say = say
        self._spent_seconds = 0.0
        self._start_seconds = 0.0

    def run(self) -> Found:
        """Searches until the time is spent or everything was tried.

        Raises:
            DefaultFailedError: the service does not come up without a change either.
        """
        self._find_load()
        self._decide(self._combine(self._screen()))
        self._find_limit()
        return self.found

    def _decide(self, better: Sequence[Candidate]) -> None:
        """Lets the first candidate win that beats the default in turns, and the default where none does."""
        for candidate in better:
            self.found.best = candidate
            if not self._has_time(1.0, 2 * _MIN_ROUNDS + _CHECKS, _LONGER):
                self._say(f"no time to compare the default with {candidate}: give more --minutes")
                self.found.best = DEFAULT
                return
            if self._confirm(candidate) and self._check(candidate):
                self.found.confirmed = True
                return
        self.found.best = DEFAULT
        self.found.confirmed = any(point.candidate != DEFAULT for point in self.found.points) or not self._moves

    def _find_load(self) -> None:
        """Finds the load that the default just does not carry: there a better candidate shows."""
        carried, failed, streams = 0, 0, _FIRST_STREAMS
        while not self.found.points or self._has_time(_LOAD_SHARE):
            outcome = self._try(DEFAULT, streams)
            if outcome.complaint:
                raise DefaultFailedError(outcome.complaint)
            if outcome.carried:
                carried = streams
            else:
                failed = streams
            self.found.streams, self.found.carried_streams = failed or carried, carried or failed
            if carried == MAX_STREAMS or (failed and failed - carried <= max(1, carried // 4)):
                return
            streams = (carried + failed) // 2 if failed else min(2 * streams, MAX_STREAMS)

    def _screen(self) -> list[Move]:
        """Tries every move alone; returns those that beat the default that was measured last, the best first."""
        ranked: list[tuple[tuple[int, float], int]] = []
        default = None
        for number, move in enumerate(self._moves):
            if not self._has_time(_SCREEN_SHARE):
                self._say(f"no time for {len(self._moves) - number} of {len(self._moves)} moves: give more --minutes")
                break
            if default is None or number % _DEFAULT_EVERY == 0:
                default = self._try(DEFAULT, self.found.streams)
            outcome = self._try(DEFAULT.with_move(move), self.found.streams)
            if is_better(outcome, default):
                ranked.append((_gain(outcome, default), number))
                self.found.best = DEFAULT.with_move(self._moves[min(ranked)[1]])
        return [self._moves[number] for _, number in sorted(ranked)]

    def _combine(self, moves: Sequence[Move]) -> list[Candidate]:
        """Tries the best moves again and for longer, and together; returns candidates, the best first."""
        best_moves = moves[: -(-len(self._moves) // 2)]
        trials: list[tuple[Candidate, Outcome]] = []
        together = DEFAULT
        for move in best_moves:
            for candidate in dict.fromkeys((together.with_move(move), DEFAULT.with_move(move))):
                if not self._has_time(_COMBINE_SHARE, 1, _LONGER):
                    break
                outcome = self._try(candidate, self.found.streams, _LONGER)
                if candidate != DEFAULT.with_move(move) or together == DEFAULT:
                    best = min(trials, key=lambda trial: trial[1].rank, default=None)
                    together = candidate if best is None or is_better(outcome, best[1]) else together
                trials.append((candidate, outcome))
        if not trials:
            return [DEFAULT.with_move(move) for move in best_moves[:1]]
        return [candidate for candidate, _ in sorted(trials, key=lambda trial: trial[1].rank)]

    def _confirm(self, candidate: Candidate) -> bool:
        """Measures a candidate and the default in turn; whether the candidate wins all rounds but one at most.

        The two loads change from round to round.
        """
        loads = self.found.streams, self.found.carried_streams
        wins = rounds = 0
        while rounds < _MIN_ROUNDS or (rounds < _MAX_ROUNDS and self._has_time(_CONFIRM_SHARE, 2 + _CHECKS, _LONGER)):
            # Who goes first changes, so that what drifts helps neither.
            order = (candidate, DEFAULT) if rounds // 2 % 2 else (DEFAULT, candidate)
            outcomes = {each: self._try(each, loads[rounds % 2], _LONGER) for each in order}
            rounds += 1
            wins += is_better(outcomes[candidate], outcomes[DEFAULT])
            if rounds - wins > 1:
                return False
        self._say(f"{candidate}: better than the default in {wins} of {rounds} rounds")
        return wins == rounds or (rounds > _MIN_ROUNDS and rounds - wins <= 1)

    def _check(self, candidate: Candidate) -> bool:
        """Measures a candidate and the default with conversations that nothing was chosen by.

        The candidate must keep both bounds, if the default does, and not be worse.
        """
        streams, seconds = self.found.carried_streams, _LONGER * self._load_seconds
        chosen, default = (self._measure(each, streams, seconds, unseen=True) for each in (candidate, DEFAULT))
        self._spent_seconds += chosen.took_seconds + default.took_seconds
        self.found.check = chosen, default
        if chosen.fits and (chosen.carried or not default.holds) and not _is_clearly_better(default, chosen):
            return True
        self._say(f"{candidate}: not as good with conversations that it was not chosen by")
        self.found.check = None
        return False

    def _find_limit(self) -> None:
        """Raises the load until the best candidate does not carry it, or lowers one that it does not carry."""
        best, streams = self.found.best, self.found.streams
        falls = False
        while self.found.confirmed and self._has_time(1.0) and 0 < streams < MAX_STREAMS:
            carried = self._try(best, streams).carried
            if (carried and falls) or (not carried and held(self.found.points, best)):
                return
            falls = not carried
            step = max(1, streams // 4)
            streams = min(MAX_STREAMS, streams + step) if carried else streams - step

    def _try(self, candidate: Candidate, streams: int, longer: int = 1) -> Outcome:
        seconds = longer * self._load_seconds
        outcome = self._measure(candidate, streams, seconds)
        self._spent_seconds += outcome.took_seconds
        self._start_seconds = max(0.0, outcome.took_seconds - seconds)
        self.found.points.append(Measured(candidate, streams, outcome))
        self.found.enough = self._enough()
        return outcome

    def _enough(self) -> Enough:
        """Estimates the limits: what is left after combining is to hold a comparison, and screening every move."""
        short, long = (longer * self._load_seconds + self._start_seconds for longer in (1, _LONGER))
        comparison = (2 * _MIN_ROUNDS + _CHECKS) * long / (1 - _COMBINE_SHARE)
        moves = len(self._moves)
        screening = (moves + math.ceil(moves / _DEFAULT_EVERY)) * short / (_SCREEN_SHARE - _LOAD_SHARE)
        return Enough(
            2 * long / 60,
            math.ceil(comparison / 60),
            math.ceil(max(comparison, screening) / 60),
            moves,
        )

    def _has_time(self, share: float, measurements: int = 1, longer: int = 1) -> bool:
        """Whether so many more measurements will have ended when so much of the time has passed."""
        needed = measurements * (longer * self._load_seconds + self._start_seconds)
        return self._spent_seconds + needed <= share * self._limit_seconds


def _gain(outcome: Outcome, default: Outcome) -> tuple[int, float]:
    """Tells by how much an outcome beats the default's, for sorting: the most first."""
    return outcome.rank[1] - default.rank[1], outcome.p95_ms / default.p95_ms


def _is_clearly_better(outcome: Outcome, other: Outcome) -> bool:
    """Tells whether an outcome is better by more than single measurements scatter."""
    return is_better(outcome, other) and outcome.p95_ms < _CLEARLY * other.p95_ms
