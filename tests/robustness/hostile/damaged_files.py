"""Damaged files for all that reads what others made: ``python -m tests.robustness.hostile.damaged_files``.

Audio, events of Wyoming's protocol, configuration, settings, tokens, keys, models' configs, smoke evaluations and SSML
are damaged at random. Each reader must read or refuse with an error of its own, in time, and hold no memory.
"""

from __future__ import annotations

import collections
import json
import multiprocessing
import random
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import click
import psutil

from tests.robustness.hostile.mutations import mutated
from tests.robustness.hostile.readers import readers

if TYPE_CHECKING:
    from tests.robustness.hostile.readers import Reader

_PROCESSES = 2
_WARM_UP = 200
"""Inputs of each reader after which the memory is looked at first."""
_SLOW_SECONDS = 2.0
_MOST_TOLD = 20


@click.command()
@click.option("--inputs", type=click.IntRange(1), default=100_000, show_default=True, help="Of all readers together.")
@click.option("--seed", type=int, default=1, show_default=True)
def main(*, inputs: int, seed: int) -> None:
    """Feed damaged files to every reader, and tell what came of it; exit 1 where one failed."""
    shares = [(inputs // _PROCESSES, f"{seed}-{number}") for number in range(_PROCESSES)]
    with ProcessPoolExecutor(_PROCESSES, mp_context=multiprocessing.get_context("spawn")) as pool:
        found = list(pool.map(read_share, *zip(*shares, strict=True)))
    outcomes: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for share in found:
        for name, counted in share.outcomes.items():
            outcomes[name].update(counted)
    failures = [failure for share in found for failure in share.failures]
    result = {
        "inputs": sum(counted.total() for counted in outcomes.values()),
        "outcomes": {name: dict(counted.most_common()) for name, counted in outcomes.items()},
        "failures": failures[:_MOST_TOLD],
        "memory_mib": [{"before": share.before_mib, "after": share.after_mib} for share in found],
        "slowest_seconds": round(max(share.slowest_seconds for share in found), 3),
    }
    click.echo(json.dumps(result, indent=2))
    if failures:
        raise SystemExit(1)


class Share:
    """What came of one process's inputs.

    Attributes:
        outcomes: how often each reader read, or refused with which error.
        failures: what is no outcome: an unexpected error, or a long time; with the seed that brings it back.
        before_mib: memory of the process after the first inputs.
        after_mib: and after the last.
        slowest_seconds: of one input.
    """

    def __init__(self) -> None:
        self.outcomes: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
        self.failures: list[str] = []
        self.before_mib = self.after_mib = 0
        self.slowest_seconds = 0.0


def read_share(inputs: int, seed: str) -> Share:
    """Feeds damaged files to the readers in turn."""
    share = Share()
    process = psutil.Process()
    with tempfile.TemporaryDirectory() as folder:
        known = readers(Path(folder))
        names = list(known)
        for number in range(inputs):
            if number == min(_WARM_UP * len(names), inputs // 2):
                share.before_mib = _memory_mib(process)
            name = names[number % len(names)]
            _read_one(known[name], name, f"{seed}-{number}", share)
    share.after_mib = _memory_mib(process)
    return share


def _read_one(reader: Reader, name: str, seed: str, share: Share) -> None:
    rng = random.Random(seed)
    data = mutated(rng.choice(reader.examples), reader.examples, rng)
    began = time.perf_counter()
    try:
        reader.read(data)
    except reader.tells as error:
        outcome = type(error).__name__
    except Exception as error:  # noqa: BLE001 - this is what is looked for
        outcome = f"failed: {type(error).__name__}"
        share.failures.append(f"{name}, seed {seed}: {type(error).__name__}: {str(error)[:200]}")
    else:
        outcome = "read"
    lasted = time.perf_counter() - began
    if lasted > _SLOW_SECONDS:
        share.failures.append(f"{name}, seed {seed}: took {lasted:.1f} s")
    share.slowest_seconds = max(share.slowest_seconds, lasted)
    share.outcomes[name][outcome] += 1


def _memory_mib(process: psutil.Process) -> int:
    return round(process.memory_info().rss / (1 << 20))


if __name__ == "__main__":
    main()
