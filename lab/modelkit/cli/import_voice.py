"""`vivavoce import voice`: voices that speak replies and texts."""

from __future__ import annotations

import json
from pathlib import Path

import click

from vivavoce.cli.extras import extra
from vivavoce.cli.options import json_option

_PATH = click.Path(path_type=Path)


@click.command("voice")
@click.argument("file", type=_PATH)
@click.option("--out", required=True, metavar="DIR", type=_PATH, help="The engine directory to write.")
@json_option
def voice(*, file: Path, out: Path, as_json: bool) -> None:
    """Make an engine of a voice of Piper.

    FILE is NAME.onnx, with NAME.onnx.json beside it.
    """
    with extra("serve", "Importing this"):
        from modelkit.errors import ModelkitError  # noqa: PLC0415 - loading a command stays quick
        from modelkit.importing.voice import import_voice  # noqa: PLC0415

        try:
            card = import_voice(file, out)
        except ModelkitError as error:
            raise click.ClickException(str(error)) from error
    if as_json:
        click.echo(json.dumps({"engine": str(out), **card}))
        return
    click.echo(f"{out} is the voice {card['voice']}, which speaks {card['language']}.")
    click.echo(f"Serve it with `vivavoce serve --variant NAME={out}`; NAME is the voice for callers.")
