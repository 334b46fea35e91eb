"""Capacity arithmetic: speakers that a service can answer in time.

What counts is not how many conversations are open but how much is said in them: a silent one costs next to nothing. So
demand and limit are both in *speakers*: seconds of speech for each second.

The limit starts from a prediction, because latency shows an overload too late: many callers can come within the
seconds that pass before the first of them waits for a reply. From there it follows what is measured, by additive
increase and multiplicative decrease (Chiu and Jain, "Analysis of the increase and decrease algorithms for congestion
avoidance in computer networks", Computer Networks and ISDN Systems 17, 1989), with what Netflix's concurrency-limits
(https://github.com/Netflix/concurrency-limits, 2018) adds to it: a limit that is not used does not grow, for nothing
was learned about it. Nor is it used by those who have just come: replies were easy before they did. Between the signs
of ease and those of overload nothing changes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

NEWCOMER = 0.5
"""Speakers that a conversation counts as before anything was heard of it: who calls, calls to say something."""

_NEWCOMER_SECONDS = 10.0
_MEMORY_SECONDS = 30.0
_SILENT = 0.02


class SpeechShare:
    """Share of a conversation's time with speech, as far as is known.

    An average that forgets, and that begins as if :data:`NEWCOMER` had been observed for ten seconds.
    """

    def __init__(self) -> None:
        self._spoken = NEWCOMER * _NEWCOMER_SECONDS
        self._seconds = _NEWCOMER_SECONDS

    @property
    def expected(self) -> float:
        """Speakers that the conversation counts as; above 1 for fast audio."""
        return max(_SILENT, self._spoken / self._seconds)

    def observe(self, spoken_seconds: float, seconds: float) -> None:
        """Take in that within so many seconds so many seconds of speech came."""
        kept = math.exp(-seconds / _MEMORY_SECONDS)
        self._spoken = kept * (self._spoken + spoken_seconds)
        self._seconds = kept * (self._seconds + seconds)


@dataclass(frozen=True, slots=True)
class Evidence:
    """Measurements of an interval.

    Attributes:
        utilization: share of the time for their replies that the slowest twentieth needed, 1 for all of it;
            None when there were too few to tell.
        busy: the share of the while in which the busiest model computed, 0 to 1.
        demand: speakers now.
        carried: the least of them in all the time that the utilization was measured in: what is known to be carried.
    """

    utilization: float | None
    busy: float
    demand: float
    carried: float

    @property
    def overloaded(self) -> bool:
        """True if replies are about to be late."""
        return self.utilization is not None and self.utilization > _OVERLOADED

    @property
    def easy(self) -> bool:
        """True if there is room for more; False also after too few replies."""
        return self.utilization is not None and self.utilization < _EASY and self.busy < _BUSY


_OVERLOADED, _EASY = 0.85, 0.5
_BUSY = 0.8
_STEADY_SECONDS = 4.0
_USED = 0.85
_DECREASE = 0.85
_INCREASE = 0.05
_START = 0.3
_REPLY_SECONDS = 0.7
_LOWEST, _HIGHEST = 0.1, 1.0


class AdaptiveLimit:
    """The speakers that can be answered in time.

    Args:
        throughput: speakers that the machine carried when nothing but throughput counted. The limit stays between 0.1
            and all of it.
        start: the part of it that the limit starts at; see :func:`safe_part`.
        known: speakers that a processor of this kind is known to carry: less is not believed, for whatever else runs
            is measured too.

    Attributes:
        speakers: the limit.
    """

    def __init__(self, throughput: float, start: float = _START, known: float = 0.0) -> None:
        self._throughput = max(throughput, known)
        self._changed_at = -math.inf
        self._lowest = max(1.0, _LOWEST * self._throughput)
        self.speakers = max(self._lowest, start * throughput, _START * known)

    def update(self, evidence: Evidence, now: float) -> bool:
        """Take in measurements until ``now`` (seconds); return whether the limit changed.

        After a change nothing happens for four seconds: what it brings about has to show first.
        """
        if now < self._changed_at + _STEADY_SECONDS:
            return False
        wanted = self.speakers
        if evidence.overloaded:
            # From what is there now: a limit far above it would have to shrink many times before it was felt.
            wanted = _DECREASE * min(self.speakers, evidence.demand)
        elif evidence.easy:
            # Not far beyond what is known to be carried: where the ease ends shows when it is too late.
            wanted = min(self.speakers + _INCREASE * self._throughput, evidence.carried / _USED)
            wanted = max(self.speakers, wanted)
        wanted = min(max(self._lowest, wanted), max(self._lowest, _HIGHEST * self._throughput))
        if wanted == self.speakers:
            return False
        self.speakers, self._changed_at = wanted, now
        return True


def safe_part(alone_seconds: float) -> float:
    """Return the share of its throughput at which a machine replies in time.

    What takes ``t`` alone takes about ``t / (1 - load)`` where others arrive at random (M/M/1, Kleinrock, "Queueing
    Systems", volume 1, 1975). That must stay within the silence after an utterance and the usual budget; 0.3 is the
    most that is dared without evidence, for people speak at once and pause in mid-sentence as they please.
    """
    return min(_START, max(_LOWEST, 1 - alone_seconds / _REPLY_SECONDS))


def slowest_twentieth(utilizations: Sequence[float], least: int = 5) -> float | None:
    """Return the 95th percentile (nearest rank); None of fewer than ``least``."""
    if len(utilizations) < least:
        return None
    return sorted(utilizations)[math.ceil(0.95 * len(utilizations)) - 1]


class Shortage:
    """Overload state with hysteresis: entered sooner than it is left."""

    def __init__(self) -> None:
        self.short = False

    def update(self, evidence: Evidence) -> bool:
        """Take in what was measured; return whether the machine is short of time now."""
        utilization = evidence.utilization or 0.0
        if utilization > 0.7 or evidence.busy > 0.85:
            self.short = True
        elif utilization < 0.5 and evidence.busy < 0.6:
            self.short = False
        return self.short
