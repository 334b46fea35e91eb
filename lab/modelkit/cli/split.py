"""`vivavoce split`: a network as a pipeline of stages."""

from __future__ import annotations

import json
from pathlib import Path

import click

from vivavoce.cli.extras import extra


@click.command()
@click.argument("engine", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--stages", type=click.IntRange(2), required=True, help="Parts to cut the network into.")
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Engine directory to write."
)
@click.option(
    "--instance-group",
    metavar="PLACES",
    default="cpu",
    show_default=True,
    help="Where each stage is computed, cpu or gpu:NUMBER, such as gpu:0,gpu:1; one for all, or one for each.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, and nothing else.")
def split(*, engine: Path, stages: int, out: Path, instance_group: str, as_json: bool) -> None:
    """Cut the network of ENGINE, for intents, answers or recognition, at its layers into a pipeline of Triton models.

    Each stage is a process of its own with its part of the weights, and computes with one thread. Stages work on
    different requests at a time. `vivavoce serve --engine` loads the result as any other engine.
    """
    with extra("serve", "Splitting"), extra("train", "Splitting"):
        from modelkit.errors import ModelkitError  # noqa: PLC0415 - loading a command stays quick
        from modelkit.splitting.engine import split_engine  # noqa: PLC0415
    try:
        chosen = split_engine(engine, stages, out, instance_group)
    except ModelkitError as error:
        raise click.ClickException(str(error)) from error
    if as_json:
        fields = [
            {"layers": [stage.first, stage.last], "weight_bytes": stage.weight_bytes, "share": stage.share}
            for stage in chosen
        ]
        click.echo(json.dumps({"engine": str(out), "stages": fields}))
        return
    for number, stage in enumerate(chosen, 1):
        layers = f"layers {stage.first} to {stage.last}" if stage.last > stage.first else f"layer {stage.first}"
        click.echo(f"stage {number}: {layers}, {stage.weight_bytes / 1e6:.1f} MB of weights")
    click.echo(f"{out} computes the same, bit for bit. Serve it with `vivavoce serve --engine {out}`.")
