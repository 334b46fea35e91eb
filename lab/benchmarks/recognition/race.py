"""Lets contenders take turns, utterance by utterance, so that what else the machine does meets all of them alike."""

from __future__ import annotations

import contextlib
import random
import time
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from benchmarks.recognition.contenders import EIGHT, ONE
from benchmarks.recognition.worker import Worker
from benchmarks.sla.material import RATE_HZ

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from benchmarks.recognition.contenders import Contender
    from benchmarks.recognition.material import Recording

    Place = tuple[int, int]

# Threads of a runtime spin for a moment after their work is done, on cores that the next one needs.
_REST_SECONDS = 0.02


@dataclass(slots=True)
class Entry:
    """A contender with so many utterances at a time, and what it did.

    Attributes:
        contender: who.
        at_once: how many utterances it is given at a time.
        texts: what it recognized, by number of the recording and of the utterance.
        pass_seconds: how long each pass over all utterances took.
        cpu_seconds: what it computed in all passes.
    """

    contender: Contender
    at_once: int
    texts: dict[Place, str] = field(default_factory=dict)
    pass_seconds: list[float] = field(default_factory=list)
    cpu_seconds: float = 0.0


def race(
    contenders: Sequence[Contender],
    cores: int,
    recordings: Sequence[Recording],
    passes: int,
    on_progress: Callable[[str], None],
) -> list[Entry]:
    """Measures every contender on all utterances.

    Args:
        contenders: who.
        cores: how many each may use.
        recordings: what is recognized.
        passes: how often, each time in another order; the slow are there once.
        on_progress: told what happens.

    Raises:
        RuntimeError: a contender failed.
    """
    places = [(i, j) for i, recording in enumerate(recordings) for j in range(len(recording.utterances))]
    entries = [Entry(contender, at_once) for contender in contenders for at_once in contender.at_once]
    with contextlib.ExitStack() as stack:
        workers: list[Worker] = []
        for contender in contenders:
            on_progress(f"{cores} core{'s' * (cores > 1)}: loading {contender.system}, {contender.setting}")
            workers.append(worker := Worker(contender, cores))
            stack.callback(worker.close)
            worker.transcribe([recordings[0].utterances[0]])
        by_contender = dict(zip([id(contender) for contender in contenders], workers, strict=True))
        for number in range(passes):
            on_progress(f"{cores} core{'s' * (cores > 1)}: pass {number + 1} of {passes}")
            spent: dict[int, float] = defaultdict(float)
            present = [entry for entry in entries if number == 0 or not entry.contender.slow]
            for entry, batch in schedule(present, places, seed=number):
                answer = by_contender[id(entry.contender)].transcribe([recordings[i].utterances[j] for i, j in batch])
                spent[id(entry)] += answer.seconds
                entry.cpu_seconds += answer.cpu_seconds
                entry.texts.update(zip(batch, answer.texts, strict=True))
                time.sleep(_REST_SECONDS)
            for entry in present:
                entry.pass_seconds.append(spent[id(entry)])
    return entries


def schedule(entries: Sequence[Entry], places: Sequence[Place], seed: int) -> Iterator[tuple[Entry, list[Place]]]:
    """Yields who is given what, in turn: each of eight utterances to all who take one, then the eight to the others.

    Who begins changes with every turn: nobody is always the one that follows the same neighbour.
    """
    rng = random.Random(seed)
    shuffled = rng.sample(places, len(places))
    for first in range(0, len(shuffled), EIGHT):
        batch = shuffled[first : first + EIGHT]
        single = [entry for entry in entries if entry.at_once == ONE]
        for place in batch:
            for entry in rng.sample(single, len(single)):
                yield entry, [place]
        together = [entry for entry in entries if entry.at_once != ONE]
        for entry in rng.sample(together, len(together)):
            yield entry, batch


def speeds(entry: Entry, recordings: Sequence[Recording]) -> list[float]:
    """Returns how many seconds of speech it recognized in a second, in each pass."""
    total = sum(len(recordings[i].utterances[j]) for i, j in entry.texts) / RATE_HZ
    return [total / seconds for seconds in entry.pass_seconds]
