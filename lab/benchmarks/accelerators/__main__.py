"""Speed and quality of accelerators: ``python -m benchmarks.accelerators [--nlu FILE] [--qa FILE]``.

Contenders are timed in turn, round by round, on fixed threads, and the shortest time of each counts: what else the
machine does only lengthens them.
"""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from benchmarks.accelerators.contenders import subjects
from benchmarks.accelerators.quality import judge
from benchmarks.accelerators.table import markdown
from benchmarks.provenance import RESULTS, keep

if TYPE_CHECKING:
    from benchmarks.accelerators.contenders import Subject
    from benchmarks.accelerators.table import Row


@click.command()
@click.option("--nlu", type=click.Path(path_type=Path, exists=True), help="Labelled utterances, to judge intents by.")
@click.option("--qa", type=click.Path(path_type=Path, exists=True), help="Questions in SQuAD's form.")
@click.option("--only", multiple=True, help="A Triton model, such as qa_bert; several times. Without it, all four.")
@click.option("--rounds", type=click.IntRange(1), default=9, show_default=True, help="Times that each is measured.")
@click.option("--count", type=click.IntRange(1), default=200, show_default=True, help="Texts to judge by.")
@click.option("--threads", type=click.IntRange(1), default=1, show_default=True, help="Threads of a run.")
@click.option("--out", type=click.Path(path_type=Path), default=RESULTS / "accelerators.json", show_default=True)
def main(
    nlu: Path | None, qa: Path | None, only: tuple[str, ...], rounds: int, count: int, threads: int, out: Path
) -> None:
    """Measure each network with everything that computes it here; print a table, keep the figures."""
    rows: list[Row] = []
    for subject in subjects():
        if not only or subject.name in only:
            timed = _timed(subject, rounds, threads)
            for contender in subject.contenders():
                quality = judge(subject.name, contender, {"nlu": nlu, "qa": qa}, count)
                rows.append({"model": subject.name, "by": contender.name, "ms": timed[contender.name], **quality})
                print(rows[-1], file=sys.stderr, flush=True)
    arguments = [argument if argument.startswith("-") else Path(argument).name for argument in sys.argv[1:]]
    keep(out, shlex.join(["python", "-m", "benchmarks.accelerators", *arguments]), {"threads": threads, "rows": rows})
    print(markdown(rows))


def _timed(subject: Subject, rounds: int, threads: int) -> dict[str, dict[str, float]]:
    """Returns the shortest milliseconds of each contender, by rows and length."""
    sessions = {contender.name: contender.load(subject.path, threads) for contender in subject.contenders()}
    names = [node.name for node in next(iter(sessions.values())).get_inputs()]
    found: dict[str, dict[str, float]] = {name: {} for name in sessions}
    for length in subject.lengths:
        for rows in subject.rows:
            feeds = subject.feeds(names, rows, length)
            for session in sessions.values():
                session.run(None, feeds)
            times: dict[str, list[float]] = {name: [] for name in sessions}
            for _ in range(rounds):
                for name, session in sessions.items():
                    began = time.perf_counter()
                    session.run(None, feeds)
                    times[name].append(1_000 * (time.perf_counter() - began))
            for name, each in times.items():
                found[name][f"{rows} x {length}"] = round(min(each), 2)
    return found


if __name__ == "__main__":
    main()
