"""Measures a candidate for real: a service with its settings, and live conversations with it."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from benchmarks.sla.load import run_load
from benchmarks.sla.report import make_report
from benchmarks.sla.scripts import Mix, write_scripts
from benchmarks.tuning.outcome import Outcome, failed, outcome_of
from benchmarks.tuning.search import MAX_STREAMS
from modelkit.errors import ModelkitError
from modelkit.evaluation.service_process import SERVE, running_service
from service.triton.engine_code import CONFIG
from service.triton.repository import overlaid
from service.triton.served_models import DEFAULT_MODEL_REPOSITORY
from service.triton.settings import to_toml

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.sla.material import Item
    from benchmarks.tuning.space import Candidate
    from benchmarks.tuning.stages import StagedEngines

_MIN_ITEMS = 6
_EVERYBODY = ("--max-conversations", str(MAX_STREAMS))
"""What a machine carries is looked for, and not how careful the service is at its door."""


class LiveMeasurement:
    """Starts a service for every measurement, and lets the same callers talk to it.

    Args:
        items: what is said.
        budget_ms: what replies must keep.
        seed: of who says what when: the same for every candidate.
        engines: makes the engine directories that take the places of the shipped engines.
        memory_mb: what the service with its models may take; None: as much as it likes.
    """

    def __init__(
        self,
        items: Sequence[Item],
        budget_ms: float,
        seed: int,
        engines: StagedEngines,
        memory_mb: float | None = None,
    ) -> None:
        self._seen, self._unseen = split_items(items)
        self._budget_ms = budget_ms
        self._memory_mb = memory_mb
        self._seed = seed
        self._engines = engines

    def __call__(self, candidate: Candidate, streams: int, seconds: float, *, unseen: bool = False) -> Outcome:
        """See ``benchmarks.tuning.search.Measure``."""
        began = time.monotonic()
        items, seed = (self._unseen, self._seed + 1) if unseen else (self._seen, self._seed)
        scripts = write_scripts(items, streams, seconds, Mix(), seed)
        try:
            with _service(candidate, self._engines.of(candidate)) as (address, process):
                result = run_load(address, scripts, self._budget_ms / 1_000)
                memory = memory_of(process)
        except ModelkitError as error:
            return failed(str(error), time.monotonic() - began)
        took = time.monotonic() - began
        return outcome_of(make_report(result), self._budget_ms, took, memory, self._memory_mb)


def split_items(items: Sequence[Item]) -> tuple[Sequence[Item], Sequence[Item]]:
    """Keeps every third recording for the check at the end; of too few, the check has the same ones."""
    if len(items) < _MIN_ITEMS:
        return items, items
    return [item for number, item in enumerate(items) if number % 3 != 1], items[1::3]


def memory_of(process: psutil.Process) -> float:
    """Returns the memory of a process and all that it has started, in MiB, what they share counted once."""
    total = 0
    for one in (process, *process.children(recursive=True)):
        with contextlib.suppress(psutil.NoSuchProcess):
            total += one.memory_full_info().pss
    return total / (1 << 20)


def configs(engines: Sequence[Path]) -> dict[str, str]:
    """Reads the ``config.pbtxt`` of every model that is served.

    Args:
        engines: engine directories that take the places of the shipped engines.

    Raises:
        FileNotFoundError: one is no engine directory, or the shipped models are not there.
    """
    folders = overlaid(DEFAULT_MODEL_REPOSITORY, engines)
    return {name: (folder / CONFIG).read_text(encoding="utf-8") for name, folder in folders.items()}


@contextlib.contextmanager
def _service(candidate: Candidate, engines: Sequence[Path]) -> Iterator[tuple[str, psutil.Process]]:
    """Runs a service with a candidate's settings while the body runs; yields its address and process.

    Raises:
        EngineError: it does not come up.
    """
    with tempfile.TemporaryDirectory(prefix="vivavoce-tune-") as directory, asyncio.Runner() as runner:
        path = Path(directory, "settings.toml")
        path.write_text(to_toml(candidate.models()), encoding="utf-8")
        others = set(psutil.Process().children())
        service = running_service(engines, (*SERVE, *_EVERYBODY, "--settings", str(path)))
        address = runner.run(service.__aenter__())
        (process,) = set(psutil.Process().children()) - others
        try:
            yield address, process
        finally:
            runner.run(service.__aexit__(None, None, None))
