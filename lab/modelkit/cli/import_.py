"""`vivavoce import`: engines of networks that were trained elsewhere."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, cast

import click

from modelkit.cli.import_asr import import_asr_command
from modelkit.cli.import_voice import voice
from modelkit.cli.import_whisper import whisper
from modelkit.cli.quiet import libraries_quiet
from vivavoce.cli.extras import extra
from vivavoce.cli.options import json_option

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from modelkit.importing.engine import Task
    from modelkit.importing.tags import Scheme

_PATH = click.Path(path_type=Path)
_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)


def _pairs(context: click.Context, parameter: click.Parameter, values: Sequence[str]) -> dict[str, str]:
    """Reads options of the form OURS=THEIRS."""
    pairs = dict(value.partition("=")[::2] for value in values)
    if not all(ours and theirs for ours, theirs in pairs.items()):
        raise click.BadParameter("write OURS=THEIRS, as in input_ids=tokens.", context, parameter)
    return pairs


class _Import(click.Group):
    """Group whose command ``bert`` is meant where none is named."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the name of the command before arguments that begin with none."""
        if not args or args[0] not in {*self.commands, *self.get_help_option_names(ctx)}:
            args.insert(0, "bert")
        return super().parse_args(ctx, args)


@click.group("import", cls=_Import)
def import_() -> None:
    """Make engines of networks that were trained elsewhere; `vivavoce serve --engine` loads them."""


import_.add_command(import_asr_command)


@import_.command("bert")
@click.argument("sources", nargs=-1, required=True, type=_PATH)
@click.option("--out", required=True, metavar="DIR", type=_PATH, help="The engine directory to write.")
@click.option("--task", type=click.Choice(["qa", "nlu"]), help="Answers or intents.  [default: told by the network]")
@click.option(
    "--tags",
    "scheme",
    type=click.Choice(["bio", "iob1", "plain"]),
    help="What the slot labels mean.  [default: bio with B- labels, else plain]",
)
@click.option("--int8", metavar="FILE", type=_FILE, help="Quantize to 8 bits, measured on these texts.")
@click.option("--calibrate", metavar="FILE", type=_FILE, help="Fit the score of answers on this SQuAD file.")
@click.option("--tokenizer", metavar="PATH", type=click.Path(path_type=Path, exists=True), help="Of an ONNX network.")
@click.option("--intent-labels", metavar="FILE", type=_FILE, help="Of an ONNX network: one intent a line.")
@click.option("--slot-labels", metavar="FILE", type=_FILE, help="Of an ONNX network: one slot label a line.")
@click.option(
    "--input",
    "inputs",
    metavar="OURS=THEIRS",
    multiple=True,
    callback=_pairs,
    help="What an ONNX network calls input_ids, attention_mask or token_type_ids. May be repeated.",
)
@click.option(
    "--output",
    "outputs",
    metavar="OURS=THEIRS",
    multiple=True,
    callback=_pairs,
    help="What it calls start_logits and end_logits, or intent_logits and tag_logits. May be repeated.",
)
@json_option
def bert(
    *,
    sources: tuple[Path, ...],
    out: Path,
    task: Task | None,
    scheme: Scheme | None,
    int8: Path | None,
    calibrate: Path | None,
    tokenizer: Path | None,
    intent_labels: Path | None,
    slot_labels: Path | None,
    inputs: Mapping[str, str],
    outputs: Mapping[str, str],
    as_json: bool,
) -> None:
    """Make an engine of a network for intents or answers. The word bert may be left out.

    SOURCES is a Hugging Face directory with a head for answers, two with a sequence and a token classifier, an ONNX
    file with its tokenizer beside it, or a .nemo archive.
    """
    if len(sources) > 2:
        raise click.UsageError("Give one source, or the two directories of an intent engine.")
    with extra("train", "Importing this"):
        from modelkit.errors import ModelkitError  # noqa: PLC0415 - loading a command stays quick
        from modelkit.importing.checkpoint import read_checkpoint  # noqa: PLC0415
        from modelkit.importing.engine import write_engine  # noqa: PLC0415
        from modelkit.importing.onnx_file import OnnxOptions  # noqa: PLC0415
        from modelkit.importing.refinement import Refinement  # noqa: PLC0415
        from modelkit.triton_models import check_target  # noqa: PLC0415

    try:
        with extra("train", "Importing this"):
            options = OnnxOptions(task, tokenizer, inputs, outputs, intent_labels, slot_labels, scheme)
            with libraries_quiet(), TemporaryDirectory() as scratch:
                check_target(out)
                imported = read_checkpoint(sources, Path(scratch), options)
                card = write_engine(imported, out, Refinement(int8, calibrate))
    except ModelkitError as error:
        raise click.ClickException(str(error)) from error
    _report(card, out, as_json=as_json)


import_.add_command(whisper)
import_.add_command(voice)


def _report(card: Mapping[str, object], out: Path, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({"engine": str(out), **card}))
        return
    difference = cast("float | None", card.get("greatest_difference_from_original"))
    checked = "" if difference is None else f" Its logits differ from the original's by {difference:.0e} at most."
    click.echo(f"{out} is an engine for {card['task']}.{checked}")
    click.echo(f"Calibration: {card['calibration']}.")
    click.echo(f"Serve it with `vivavoce serve --engine {out}`.")
