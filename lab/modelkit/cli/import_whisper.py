"""`vivavoce import whisper`: recognizers of many languages."""

from __future__ import annotations

import json
from pathlib import Path

import click

from vivavoce.cli.extras import extra
from vivavoce.cli.options import json_option

_PATH = click.Path(path_type=Path)


@click.command("whisper")
@click.argument("folder", required=False, type=_PATH)
@click.option("--out", required=True, metavar="DIR", type=_PATH, help="The engine directory to write.")
@click.option(
    "--language",
    metavar="CODE",
    default="auto",
    show_default=True,
    help="Where callers name none: a code such as de, or auto to find it out.",
)
@click.option(
    "--precision",
    type=click.Choice(["float32", "int8"]),
    default="float32",
    show_default=True,
    help="Of the computation; int8 takes half the memory and makes more errors.",
)
@json_option
def whisper(*, folder: Path | None, out: Path, language: str, precision: str, as_json: bool) -> None:
    """Make a recognizer of Whisper, for 99 languages and translations into English.

    FOLDER is a model in the format of CTranslate2, with tokenizer.json. Without it Whisper base is downloaded, 145 MB.
    """
    with extra("serve", "Importing this"):
        from modelkit.errors import ModelkitError  # noqa: PLC0415 - loading a command stays quick
        from modelkit.importing.whisper import import_whisper  # noqa: PLC0415

        try:
            card = import_whisper(folder, out, language=language, precision=precision)
        except ModelkitError as error:
            raise click.ClickException(str(error)) from error
    if as_json:
        click.echo(json.dumps({"engine": str(out), **card}))
        return
    click.echo(f"{out} is a recognizer of {card['languages']} languages; it takes {card['language']} by default.")
    click.echo(f"Serve it with `vivavoce serve --engine {out}`, or beside the usual one with --variant whisper={out}.")
