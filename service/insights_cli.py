"""`vivavoce insights`: where dialogs go wrong, from logs without texts."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vivavoce.cli.extras import extra

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from service.telemetry.insights import AgentInsights

MAX_SHOWN_PLACES = 20
_READABLE = click.Path(path_type=Path, exists=True, dir_okay=False, allow_dash=True)


@click.command()
@click.argument("logs", metavar="FILE...", nargs=-1, required=True, type=_READABLE)
@click.option("--agent", metavar="NAME", default="", help="Tell of this agent alone.  [default: of all]")
@click.option(
    "--plot", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False), help="Write a picture: PNG, SVG."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object an agent.")
def insights(logs: Sequence[Path], agent: str, plot: Path | None, *, as_json: bool) -> None:
    """Tell where the dialogs of agents go wrong, from logs.

    FILEs are what `vivavoce serve --log-format json` has written; `-` is standard input. They hold no texts: intents
    and slots are told by the names that the agents give them.
    """
    with extra("serve", "Reading logs"):
        from service.telemetry.insights import read_insights  # noqa: PLC0415 - needs the extra
    found = {name: it for name, it in read_insights(_lines(logs)).items() if agent in {"", name}}
    if not found:
        raise click.ClickException(
            "These logs tell of no dialog: give those of `vivavoce serve --log-format json`, and check --agent."
        )
    for name, of_agent in sorted(found.items()):
        if as_json:
            click.echo(json.dumps(_as_json(name, of_agent)))
        else:
            _show(name, of_agent)
    if plot is not None:
        with extra("insights", "A picture"):
            from service.telemetry.insights_plot import write_plot  # noqa: PLC0415 - needs the extra
        try:
            write_plot(found, plot)
        except (OSError, ValueError) as error:
            raise click.ClickException(
                f"{plot} cannot be written ({error}): name a file that ends in .png or .svg."
            ) from error


def _lines(logs: Sequence[Path]) -> Iterator[bytes]:
    for path in logs:
        with click.open_file(str(path), "rb") as file:
            yield from file


def _as_json(name: str, of_agent: AgentInsights) -> Mapping[str, object]:
    told = {key: getattr(of_agent, key) for key in ("conversations", "turns", "missed", "fulfilments", "ends")}
    places = [{"intent": intent, "slot": slot, **asdict(it)} for (intent, slot), it in of_agent.places.items()]
    return {"agent": name, **told, "places": places}


def _show(name: str, of_agent: AgentInsights) -> None:
    from rich.console import Console  # noqa: PLC0415 - slow to load
    from rich.markup import escape  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    ends = of_agent.ends
    click.echo(
        f"{_plain(name)}: {of_agent.conversations} conversations, {of_agent.turns} turns, {of_agent.missed} missed;"
        f" {ends['end']} ended, {ends['hand_over']} handed over, {ends['left']} left in the middle,"
        f" {ends['quiet']} later"
    )
    if of_agent.fulfilments:
        click.echo("  " + ", ".join(f"{_plain(task)} {count}" for task, count in of_agent.fulfilments.most_common(10)))
    if not of_agent.places:
        return
    table = Table("intent", "slot", *(("asked", "again", "missed", "left", "handed over")))
    for column in table.columns[2:]:
        column.justify = "right"
    worst = sorted(of_agent.places.items(), key=lambda it: -(it[1].again + it[1].left + it[1].handed_over))
    for (intent, slot), it in worst[:MAX_SHOWN_PLACES]:
        counts = (it.asked, it.again, it.missed, it.left, it.handed_over)
        table.add_row(escape(_plain(intent)), escape(_plain(slot)), *map(str, counts))
    Console(width=100).print(table)


def _plain(text: str) -> str:
    """Return a text without what a terminal would obey: logs may be forged."""
    return "".join(character if character.isprintable() else " " for character in text)
