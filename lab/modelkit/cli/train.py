"""`vivavoce train`: engines of one's own data."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from modelkit.cli.quiet import libraries_quiet
from vivavoce.cli.extras import extra
from vivavoce.cli.options import json_option

if TYPE_CHECKING:
    from modelkit.training.options import TrainOptions

_C = TypeVar("_C", bound=Callable[..., Any])
_PATH = click.Path(path_type=Path)


@click.group()
def train() -> None:
    """Train an engine on your own data; `vivavoce serve --engine` loads it."""


def _training_options(command: _C) -> _C:
    """Adds what all kinds of engines are trained with."""
    options = (
        click.argument("data", nargs=-1, required=True, type=_PATH),
        click.option("--out", required=True, metavar="DIR", type=_PATH, help="The engine directory to write."),
        click.option(
            "--base",
            "bases",
            metavar="DIR",
            multiple=True,
            type=_PATH,
            help="Start from this BERT (as Hugging Face stores it; for nlu and qa also an MPNet) or earlier engine. Of "
            "several engines the mean of their weights is taken.  [default: MiniLM]",
        ),
        click.option("--test", metavar="FILE", type=_PATH, help="Make sure that none of this is trained on."),
        click.option(
            "--validation",
            metavar="SHARE",
            type=click.FloatRange(0.001, 0.5),
            help="Share of the data to hold out.  [default: 0.07 of utterances, 0.02 of questions, 0.06 of texts]",
        ),
        click.option("--epochs", metavar="N", type=click.FloatRange(0, min_open=True), help="Passes over the data."),
        click.option("--seed", metavar="N", type=int, default=7, show_default=True, help="Of everything random."),
        click.option(
            "--device",
            type=click.Choice(["auto", "cpu", "cuda"]),
            default="auto",
            show_default=True,
            help="Where to compute.",
        ),
        click.option(
            "--minutes", metavar="N", type=click.FloatRange(0, min_open=True), help="Be done with training by then."
        ),
        click.option(
            "--set",
            "settings",
            metavar="NAME=VALUE",
            multiple=True,
            help="Change the recipe, as in layer_decay=0.9: see lab/docs/training.md. May be repeated.",
        ),
        click.option(
            "--export-only",
            is_flag=True,
            help="Train nothing: write the engine of DIR/training/network.pt, or of what --base names.",
        ),
        json_option,
    )
    for option in reversed(options):
        command = option(command)
    return command


_teachers_option = click.option(
    "--teachers",
    metavar="DIR",
    multiple=True,
    type=_PATH,
    help="Learn the mean opinion of this earlier engine and others. May be repeated.",
)


@train.command()
@_training_options
@_teachers_option
@click.option(
    "--intent", "intents", metavar="NAME", multiple=True, help="Intent of each folder's sentences.  [default: its name]"
)
@click.option(
    "--outliers",
    metavar="FILE",
    multiple=True,
    help="Texts that no intent covers: SQuAD JSON, a text file, or FILE.jsonl:INTENT,INTENT. May be repeated.",
)
@click.option(
    "--unlabelled",
    metavar="FILE",
    multiple=True,
    help="Texts that only the --teachers label, named as for --outliers. May be repeated.",
)
@click.option("--drop-duplicates", is_flag=True, help="Leave what the --test file has out of training.")
def nlu(
    intents: tuple[str, ...],
    outliers: tuple[str, ...],
    unlabelled: tuple[str, ...],
    drop_duplicates: bool,
    test: Path | None,
    **common: object,
) -> None:
    """Train intents and slots.

    DATA are utterances (JSON lines), Rasa's YAML, folders with sentences.txt and slot_values.json, or agents. A run
    that was interrupted goes on when its command is repeated.
    """
    _check_installed()
    from modelkit.training import nlu as training  # noqa: PLC0415 - loading a command stays quick
    from modelkit.training.nlu_data import NluFiles  # noqa: PLC0415 - loading a command stays quick

    files = NluFiles(intents, outliers, unlabelled, test, drop_duplicates)
    options = training.NluOptions(_common(common, 0.07), files)
    _run(lambda display: training.train(options, display), options.common, as_json=bool(common["as_json"]))


@train.command()
@_training_options
@_teachers_option
@click.option(
    "--prune-tokens",
    is_flag=True,
    help="Make the network drop tokens where no answer seems to be, layer by layer: on a CPU full windows take half "
    "the time.",
)
def qa(prune_tokens: bool, test: Path | None, **common: object) -> None:
    """Train answers.

    DATA are files in the format of SQuAD 1.1 or 2.0. A run that was interrupted goes on when its command is repeated.
    """
    _check_installed()
    from modelkit.training import qa as training  # noqa: PLC0415 - loading a command stays quick

    options = training.QaOptions(_common(common, 0.02), test, prune_tokens)
    _run(lambda display: training.train(options, display), options.common, as_json=bool(common["as_json"]))


@train.command()
@_training_options
def punctuation(test: Path | None, **common: object) -> None:
    """Train punctuation and capitals.

    DATA are well-written texts: text files with a paragraph a line, or files in SQuAD's format. A run that was
    interrupted goes on when its command is repeated.
    """
    _check_installed()
    from modelkit.training import punctuation as training  # noqa: PLC0415 - loading a command stays quick

    options = training.PunctuationOptions(_common(common, 0.06), test)
    _run(lambda display: training.train(options, display), options.common, as_json=bool(common["as_json"]))


def _check_installed() -> None:
    """Raises click.ClickException where the packages of the extra `train` are missing."""
    with extra("train", "Training"):
        importlib.import_module("modelkit.training.nlu")
        importlib.import_module("modelkit.training.qa")
        importlib.import_module("modelkit.training.punctuation")


def _common(given: Mapping[str, object], validation: float) -> TrainOptions:
    from modelkit.training.options import TrainOptions  # noqa: PLC0415 - loading a command stays quick

    fields: dict[str, Any] = {name: value for name, value in given.items() if name != "as_json"}
    return TrainOptions(**{**fields, "validation": fields["validation"] or validation})


def _run(work: Callable[[Any], dict[str, object]], options: TrainOptions, *, as_json: bool) -> None:
    from modelkit.errors import ModelkitError  # noqa: PLC0415 - loading a command stays quick
    from modelkit.training.progress import new_display  # noqa: PLC0415

    try:
        with libraries_quiet(), new_display() as display:
            scores = work(display)
    except ModelkitError as error:
        raise click.ClickException(str(error)) from error
    if as_json:
        click.echo(json.dumps({"engine": str(options.out), "scores": scores}))
        return
    for name, value in scores.items():
        click.echo(f"{name.replace('_', ' ')}: {_line(value)}")
    click.echo(f"The engine is in {options.out}: `vivavoce serve --engine {options.out}` loads it.")


def _line(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {score}" for name, score in value.items()) or "none"
    return str(value)
