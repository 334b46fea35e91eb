"""`vivavoce import asr`: engines of streaming recognizers that were trained elsewhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from modelkit.cli.quiet import libraries_quiet
from vivavoce.cli.extras import extra
from vivavoce.cli.options import json_option

if TYPE_CHECKING:
    from engines.asr.fastconformer.recognizer import Decoder
    from modelkit.importing.asr.export import Precision


@click.command("asr")
@click.argument("source", metavar="MODEL", type=click.Path(path_type=Path))
@click.option(
    "--out", required=True, metavar="DIR", type=click.Path(path_type=Path), help="The engine directory to write."
)
@click.option(
    "--look-ahead",
    metavar="MS",
    type=int,
    help="Duration of a chunk in milliseconds: 80, 160, 560, 1120, or what else MODEL was trained for."
    "  [default: the longest up to 560]",
)
@click.option(
    "--precision",
    type=click.Choice(["int8", "float32"]),
    default="int8",
    show_default=True,
    help="Precision of the encoder's weights.",
)
@click.option(
    "--decoder",
    type=click.Choice(["rnnt", "ctc"]),
    help="What texts come from, where MODEL has both.  [default: rnnt where there is one]",
)
@click.option(
    "--language",
    metavar="CODE",
    help="Language that MODEL recognizes, or that one with prompts is asked for.  [default: en, or auto]",
)
@click.option("--gpu", is_flag=True, help="Write the encoder for a GPU too; `device` of the model chooses it.")
@json_option
def import_asr_command(
    *,
    source: Path,
    out: Path,
    look_ahead: int | None,
    precision: str,
    decoder: str | None,
    language: str | None,
    gpu: bool,
    as_json: bool,
) -> None:
    """Make an engine of a cache-aware streaming recognizer.

    MODEL is a .nemo archive (FastConformer with RNNT, CTC or both) or a Hugging Face folder of nemotron_asr_streaming
    or nemotron3_5_asr. Neither NeMo nor anything that MODEL brings is run.
    """
    with extra("train", "Importing this"):
        from modelkit.errors import ModelkitError  # noqa: PLC0415 - loading a command stays quick
        from modelkit.importing.asr.engine import AsrOptions, import_asr  # noqa: PLC0415

    options = AsrOptions(look_ahead, cast("Precision", precision), cast("Decoder | None", decoder), language, gpu)
    try:
        with extra("train", "Importing this"), libraries_quiet():
            card = import_asr(source, out, options, lambda step: click.echo(f"{step} …", err=True))
    except ModelkitError as error:
        raise click.ClickException(str(error)) from error
    if as_json:
        click.echo(json.dumps({"engine": str(out), **card}))
        return
    parity = cast("dict[str, Any]", card["parity"])
    tokens = "the same tokens" if parity["equal_tokens"] else "other tokens"
    click.echo(
        f"{out} is an engine for recognition, with chunks of {card['look_ahead_ms']} ms. On a recording its encoder "
        f"differs from the origin's by {parity['greatest_difference']:.0e} of {parity['greatest_value']:.1f} at most, "
        f"and finds {tokens}."
    )
    click.echo(f"Licence of the weights: {card['licence']}.")
    click.echo(f"Serve it with `vivavoce serve --engine {out}`, or beside the shipped one with `--variant NAME={out}`.")
