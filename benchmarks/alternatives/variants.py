"""The services that are compared, each as the command line that starts it."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from service.processes.child_process import SERVE, listening

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FLAGS_OFF_SETTINGS = Path(__file__).with_name("flags_off.toml")
UNGUARDED = ("--max-conversations", "512")
"""Lets everybody in: what is measured is what a machine carries, and not whom the service would have refused."""
OURS, FLAGS_OFF, NAIVE = "ours", "flags off", "naive baseline"


@dataclass(frozen=True, slots=True)
class Variant:
    """One way of building the service.

    Attributes:
        name: how tables call it.
        arguments: of Python, to start it.
        keeps_budget: whether it leaves out what a reply cannot have in time. Of one that does not, callers want whole
            replies, however late.
    """

    name: str
    arguments: tuple[str, ...]
    keeps_budget: bool = True


@dataclass(frozen=True, slots=True)
class Served:
    """A variant that runs.

    Attributes:
        name: of the variant.
        address: its ``host:port``.
        pid: of its first process; all others descend from it.
        keeps_budget: as the variant does.
    """

    name: str
    address: str
    pid: int
    keeps_budget: bool = True


def ours(*flags: str) -> Variant:
    """The service as it is shipped, or with other flags."""
    return Variant(OURS, (*SERVE, "--log-level", "WARNING", *flags))


def all_variants(nlu_engine: Path | None = None, qa_engine: Path | None = None) -> list[Variant]:
    """Lists the variants; the engine directories hold float32 weights for the naive baseline."""
    given = {"--nlu-engine": nlu_engine, "--qa-engine": qa_engine}
    engines = [part for flag, path in given.items() if path is not None for part in (flag, str(path))]
    flags_off = ours(*UNGUARDED, "--no-speculation", "--settings", str(FLAGS_OFF_SETTINGS))
    return [
        ours(*UNGUARDED),
        Variant(FLAGS_OFF, flags_off.arguments),
        Variant(NAIVE, ("-m", "benchmarks.alternatives.naive_service", *engines), keeps_budget=False),
    ]


@contextlib.contextmanager
def running(variants: Sequence[Variant], logs: Path) -> Iterator[list[Served]]:
    """Runs all variants while the body runs; those that are not talked to are idle."""
    with contextlib.ExitStack() as cleanup:
        served = []
        for number, variant in enumerate(variants):
            process, address = cleanup.enter_context(listening(variant.arguments, logs / f"{number}.log"))
            served.append(Served(variant.name, address, process.pid, variant.keeps_budget))
        yield served
