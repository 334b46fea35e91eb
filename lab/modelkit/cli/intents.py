"""`vivavoce intents`: the intents and slots that an engine knows."""

from __future__ import annotations

import json
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from vivavoce.cli.extras import extra


@click.command()
@click.option(
    "--engine",
    metavar="DIR",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="List those of this engine in place of the shipped one.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, and nothing else.")
def intents(*, engine: Path | None, as_json: bool) -> None:
    """List the intents and slots that replies can have.

    Beside each intent stand the slots that often come with it. An utterance that fits no intent gets `none`.
    """
    with extra("serve", "Listing intents"):
        from modelkit.catalogue import read_catalogue  # noqa: PLC0415 - needs the extra
        from modelkit.errors import ModelkitError  # noqa: PLC0415
    try:
        catalogue = read_catalogue(engine)
    except ModelkitError as error:
        raise click.ClickException(str(error)) from error
    if as_json:
        click.echo(json.dumps(catalogue.as_dict()))
        return
    console = Console(highlight=False)
    table = Table(
        "intent", "slots that often come with it", title=f"{len(catalogue.intents)} intents", title_justify="left"
    )
    for intent in catalogue.intents:
        table.add_row(intent.name, ", ".join(intent.slots or ()))
    console.print(table)
    table = Table("slot", "values", title=f"{len(catalogue.slots)} slots", title_justify="left")
    for slot in catalogue.slots:
        table.add_row(slot.name, "any words" if slot.values is None else ", ".join(slot.values))
    console.print(table)
