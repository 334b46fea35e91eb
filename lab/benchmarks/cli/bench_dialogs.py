"""`vivavoce bench dialogs`: holds the dialogs of agents with the real models."""

from __future__ import annotations

import asyncio
import json
import tempfile
from pathlib import Path

import click

from vivavoce.cli.extras import extra
from vivavoce.cli.options import FileToWrite

_FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)


@click.command()
@click.argument("agent", metavar="DIR", type=_FOLDER)
@click.option("--engine", "engines", metavar="DIR", multiple=True, type=_FOLDER, help="Serve this engine, repeatable.")
@click.option("--spoken", is_flag=True, help="Speak what callers say, in place of typing it.")
@click.option("--only", metavar="TEXT", default="", help="Play only the scripts with this text in their names.")
@click.option(
    "--conversations",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Hold the conversations of this file, which callers lead, in place of scripts.",
)
@click.option("--callers", type=_FOLDER, help="Let people's recorded orders from this folder call the coffee bar.")
@click.option("--latency", is_flag=True, help="With --callers: tell what the agent adds to turn latency instead.")
@click.option("--count", type=click.IntRange(1), default=150, show_default=True, help="Callers, or scripts at most.")
@click.option("--at-once", type=click.IntRange(1, 16), default=4, show_default=True, help="Conversations at a time.")
@click.option("--json", "json_file", type=FileToWrite(), help="Write what was found, with command and machine.")
@click.option("--verbose", "-v", is_flag=True, help="Show what is said, not only where something failed.")
def dialogs(
    *,
    agent: Path,
    engines: tuple[Path, ...],
    spoken: bool,
    only: str,
    conversations: Path | None,
    callers: Path | None,
    latency: bool,
    count: int,
    at_once: int,
    json_file: Path | None,
    verbose: bool,
) -> None:
    """Hold the scripted conversations of the agent in DIR with the real models, or let simulated callers order.

    A service is started for them, and stopped.
    """
    with extra("bench", "Holding dialogs"):
        from benchmarks.dialogs.running import call_all, compare_all, lead_all, play_all  # noqa: PLC0415 - needs the extra
        from benchmarks.provenance import keep  # noqa: PLC0415
        from service.processes.child_process import SERVE, listening  # noqa: PLC0415
    flags = [part for engine in engines for part in ("--engine", str(engine))]
    with tempfile.TemporaryDirectory() as folder:
        serve = [*SERVE, "--agent", str(agent), *flags]
        with listening(serve, Path(folder, "log.txt")) as (_, address):
            if conversations is not None:
                led = lead_all(address, agent, conversations, only, at_once, spoken=spoken, verbose=verbose)
                found = asyncio.run(led)
            elif callers is not None and latency:
                found = asyncio.run(compare_all(address, agent, callers, count))
            elif callers is not None:
                found = asyncio.run(call_all(address, agent, callers, count, at_once, verbose=verbose))
            else:
                found = asyncio.run(play_all(address, agent, only, count, at_once, spoken=spoken, verbose=verbose))
    if conversations is not None:
        rest = f"--conversations {conversations.name}{' --spoken' * spoken}"
    else:
        rest = f"--callers COMMANDS{' --latency' * latency} --count {count}" if callers else "--spoken" * spoken
    told = json.dumps(found, indent=2)
    if json_file is not None:
        told = keep(json_file, f"vivavoce bench dialogs {agent} --engine ENGINE {rest} --at-once {at_once}", found)
    click.echo(told)
