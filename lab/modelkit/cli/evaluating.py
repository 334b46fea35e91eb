"""What the kinds of `vivavoce eval` share: options, progress, and how results are told."""

from __future__ import annotations

import asyncio
import functools
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from vivavoce.cli.connection import Connection, server_option
from vivavoce.cli.extras import extra
from vivavoce.cli.options import FileToWrite

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from modelkit.evaluation.concurrency import OnProgress
    from modelkit.evaluation.outcome import Evaluation


@dataclass(frozen=True, slots=True)
class Judging:
    """Which engines are judged, and how results are told."""

    server: Connection
    """Address of a running service."""
    engines: tuple[Path, ...]
    """Engine directories to start a service with instead."""
    as_json: bool
    """Print one JSON object rather than tables."""
    errors: Path | None
    """File for the worst cases."""
    limit: int | None
    """Judge no more items than this."""
    concurrency: int
    """Requests at a time."""
    local: bool = False
    """Run the engines in this process."""
    forced: bool = False
    """Never abstain (with `local`)."""


_DIRECTORY = click.Path(path_type=Path, exists=True, file_okay=False)
_OPTIONS = (
    server_option,
    click.option(
        "--engine",
        "engines",
        metavar="DIR",
        multiple=True,
        type=_DIRECTORY,
        help="Start a service with this trained engine in place of the shipped one, and stop it. May be repeated.",
    ),
    click.option("--json", "as_json", is_flag=True, help="Print one JSON object, and nothing else."),
    click.option(
        "--errors",
        metavar="FILE",
        type=FileToWrite(),
        help="Write what was not right to FILE, the worst first: one JSON object a line.",
    ),
    click.option(
        "--limit", metavar="N", type=click.IntRange(1), help="Judge no more than N items, spread evenly over the data."
    ),
    click.option("--concurrency", metavar="N", type=click.IntRange(1, 64), default=4, show_default=True,
                 help="Requests at a time."),
)  # fmt: skip
_LOCAL_OPTIONS = (
    click.option("--local", is_flag=True, help="Run the engines in this process, without a service."),
    click.option("--forced", is_flag=True, help="With --local: never abstain."),
)


def judging_options(*, can_be_local: bool) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Adds the options to a command, which gets them as one argument `judging`; failures become sentences."""

    def add(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def collected(
            *,
            server: Connection,
            engines: tuple[Path, ...],
            as_json: bool,
            errors: Path | None,
            limit: int | None,
            concurrency: int,
            local: bool = False,
            forced: bool = False,
            **others: object,
        ) -> None:
            _check_where(engines, local=local, forced=forced)
            judging = Judging(server, engines, as_json, errors, limit, concurrency, local, forced)
            with _failing_clearly():
                command(judging=judging, **others)

        for option in reversed(_OPTIONS + _LOCAL_OPTIONS * can_be_local):
            collected = option(collected)
        return collected

    return add


def judge(judging: Judging, job: Callable[..., Awaitable[Evaluation]]) -> None:
    """Judges engines, and tells the results.

    Args:
        judging: which engines, and how to tell.
        job: an evaluation that lacks nothing but the engines, `concurrency` and `on_progress`.
    """
    from modelkit.evaluation.outcome import write_errors  # noqa: PLC0415 - loading a command stays quick
    from modelkit.evaluation.report import show  # noqa: PLC0415
    from modelkit.evaluation.session import Where, reached  # noqa: PLC0415

    where = Where(judging.server.connect, judging.engines, judging.local, judging.forced)

    async def work(on_progress: OnProgress) -> Evaluation:
        async with reached(where) as engines:
            return await job(engines, concurrency=judging.concurrency, on_progress=on_progress)

    told = Console(stderr=True)
    with _progress(told) as on_progress:
        evaluation = asyncio.run(work(on_progress))
    if judging.errors is not None:
        count = write_errors(judging.errors, evaluation.cases)
        told.print(f"{count} of {len(evaluation.cases)} were not all right: see {judging.errors}", soft_wrap=True)
    if judging.as_json:
        click.echo(evaluation.to_json())
    else:
        show(Console(), evaluation)


def _check_where(engines: tuple[Path, ...], *, local: bool, forced: bool) -> None:
    context = click.get_current_context()
    given = context.get_parameter_source("server") is ParameterSource.COMMANDLINE
    if given and (engines or local):
        raise click.UsageError("Judge a running service with --server, or engines with --engine or --local, not both.")
    if forced and not local:
        raise click.UsageError("A service abstains as it is set to: give --forced together with --local.")


@contextmanager
def _failing_clearly() -> Iterator[None]:
    with extra("eval", "Judging"):
        from modelkit.errors import ModelkitError  # noqa: PLC0415 - loading a command stays quick

        try:
            yield
        except ModelkitError as error:
            raise click.ClickException(str(error)) from error


@contextmanager
def _progress(console: Console) -> Iterator[OnProgress]:
    """Shows how much is done, as soon as something is."""
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(TextColumn("judging"), *columns, console=console, transient=console.is_terminal) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
