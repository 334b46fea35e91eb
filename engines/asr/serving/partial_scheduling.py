"""Partial-result scheduling: fewer partial texts when the model is busy.

A final text is waited for; a partial one is looked at in passing, and will be replaced. So when the model is short of
time, partial texts give way: their interval grows with the share of time that the model was busy, and what one batch
spends on them is bounded, because whoever asks for a final text meanwhile waits for that batch; where final texts are
worked out in it or beside it, it has none of the others. So they do where other programs take the cores. Among these
nobody's turn is skipped for ever: who has waited longest comes first (round robin, Nagle, "On Packet Switches with
Infinite Storage", RFC 970, 1985).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MAX_STRETCH = 8.0
"""How many times the interval a busy model may let pass between two partial texts of a sequence."""

EASY, BUSY = 0.55, 0.95
"""Shares of busy time between which the interval grows from itself to ``MAX_STRETCH`` times."""

BATCH_SECONDS = 0.06
"""What one batch may spend on partial texts, but for one of them that takes longer by itself."""

EARLY_SECONDS = 1.0
EARLY_INTERVAL_SECONDS = 0.2
"""The interval between the first two texts of a sequence, which come within ``EARLY_SECONDS``: two texts soon show what
of the first words will stay."""

_MEMORY_SECONDS = 2.0
_WALL_SLACK = 0.9
_LEARNING = 0.2

TAKEN = 1 / 3
"""Share of its time that a worker may wait for a core before partial texts become fewer."""
_TAKEN_LEARNING = 0.5


def core_wait_seconds() -> float:
    """Return the thread's time waiting for a core; 0 where it is not known."""
    try:
        # Time on a core and time in a run queue, in nanoseconds (Linux, Documentation/scheduler/sched-stats.rst).
        return int(Path("/proc/thread-self/schedstat").read_text(encoding="ascii").split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0


class BusyShare:
    """Utilization of all workers over the last seconds.

    An exponential average over time, not over batches: ``e**(-t/2 s)`` of it is older than ``t``.

    Attributes:
        working: How many compute now.
    """

    def __init__(self, workers: int, clock: Callable[[], float]) -> None:
        """Take how many may compute at a time, and a monotonic clock in seconds."""
        self._workers = workers
        self._clock = clock
        self._share = 0.0
        self._counted_to = clock()
        self.working = 0

    @property
    def share(self) -> float:
        """The share, 0 to 1, as of the last time that a worker began or ended."""
        return self._share

    def begin(self) -> None:
        """Record that a worker begins to compute."""
        self._count(1)

    def end(self) -> None:
        """Record that a worker has computed."""
        self._count(-1)

    def _count(self, change: int) -> None:
        now = self._clock()
        kept = math.exp((self._counted_to - now) / _MEMORY_SECONDS)
        self._share = kept * self._share + (1 - kept) * self.working / self._workers
        self.working += change
        self._counted_to = now


@dataclass(frozen=True, slots=True)
class Wish:
    """A sequence that a partial text may be worked out for. All in seconds.

    Attributes:
        new: audio that was not decoded yet.
        length: all audio of the sequence: what a decoding reads.
        waited: time since it was decoded last, or begun.
        searched: whether it is searched with beams, which takes longer.
    """

    new: float
    length: float
    waited: float
    searched: bool = False


class PartialTexts:
    """Decides which wishes come true.

    Args:
        interval_seconds: new audio after which a sequence is due while there is time enough.
        workers: how many may work texts out at a time.
        clock: monotonic, in seconds.

    Attributes:
        load: how busy the model is.
        decoded: partial texts that were worked out.
        thinned: times that a sequence had an interval of new audio, and no text was worked out for want of time.
    """

    def __init__(self, interval_seconds: float, workers: int, clock: Callable[[], float]) -> None:
        self.load = BusyShare(workers, clock)
        self.decoded = 0
        self.thinned = 0
        self._interval = interval_seconds
        # Seconds of work a second of audio, without and with a search: learned from what was measured.
        self._cost = {False: 0.0, True: 0.0}
        self._taken = 0.0

    @property
    def stretch(self) -> float:
        """Stretch of the interval between partial texts, 1 to ``MAX_STRETCH``."""
        position = (self.load.share - EASY) / (BUSY - EASY)
        slowed = 1 / (1 - self._taken) if self._taken > TAKEN else 1.0
        return max(1 + (MAX_STRETCH - 1) * min(1.0, max(0.0, position)), min(slowed, MAX_STRETCH))

    def choose(self, wishes: Sequence[Wish], *, beside: bool = False) -> list[int]:
        """Return the indices of granted wishes, those that waited longest first.

        Args:
            wishes: of the sequences of a batch that nobody waits for.
            beside: texts that are waited for come first in the batch, or another worker computes. Then a busy model
                works nothing out beside it: who asks meanwhile waits for one of the two, or finds a worker free.
        """
        candidates = [index for index, wish in enumerate(wishes) if wish.new >= self._interval_of(wish) - 1e-9]
        chosen: list[int] = []
        left = BATCH_SECONDS
        if beside and self.stretch > 1:
            self.thinned += len(candidates)
            return chosen
        for index in sorted(candidates, key=lambda index: -wishes[index].waited):
            wish = wishes[index]
            cost = self._cost[wish.searched] * wish.length
            if self._due(wish) and (cost <= left + 1e-9 or not chosen):
                chosen.append(index)
                left -= cost
        self.decoded += len(chosen)
        self.thinned += len(candidates) - len(chosen)
        return chosen

    def learn(self, seconds: float, lengths: Sequence[float], *, searched: bool) -> None:
        """Record the time that partial texts of such lengths (seconds) took."""
        cost, known = seconds / max(sum(lengths), 1e-9), self._cost[searched]
        self._cost[searched] = known + _LEARNING * (cost - known) if known else cost

    def note_wait(self, waited_seconds: float, seconds: float) -> None:
        """Record a worker's time waiting for a core, in so many seconds of work.

        Where others take the cores, one speaker's texts become slow although most workers have nothing to do.
        """
        share = min(waited_seconds / max(seconds, 1e-9), 1 - 1 / MAX_STRETCH)
        self._taken += _TAKEN_LEARNING * (share - self._taken)

    def _due(self, wish: Wish) -> bool:
        """Return whether enough is new; a burst makes nobody due sooner when busy."""
        stretch = self.stretch
        wanted = stretch * self._interval_of(wish)
        return wish.new >= wanted - 1e-9 and (stretch == 1 or wish.waited >= _WALL_SLACK * wanted)

    def _interval_of(self, wish: Wish) -> float:
        early = wish.new < wish.length < EARLY_SECONDS
        return min(self._interval, EARLY_INTERVAL_SECONDS) if early else self._interval
