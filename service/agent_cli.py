"""`vivavoce agent`: makes, checks and tries the folder of an agent."""

from __future__ import annotations

import asyncio
import datetime as dt
import json
import re
import shutil
import sys
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from vivavoce.cli.extras import extra

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pipelines.data.dialog.actions import Fulfil
    from pipelines.dialog.session import DialogSession

_TRADES = ("bookings", "orders", "questions")
_FOLDER = click.Path(path_type=Path, file_okay=False)


@click.group()
def agent() -> None:
    """Make, check and try agents: folders of plain files that hold dialogs."""


@agent.command()
@click.argument("folder", metavar="DIR", type=_FOLDER)
@click.option("--name", metavar="NAME", help="Name by which conversations choose the agent.  [default: that of DIR]")
@click.option("--trade", type=click.Choice(_TRADES), help="What it does to begin with.  [default: bookings]")
def new(folder: Path, name: str | None, trade: str | None) -> None:
    """Make an agent in DIR to begin with.

    It books tables, takes orders, or answers questions. On a terminal it asks for the name and the trade that no option
    tells.
    """
    if folder.is_dir() and any(folder.iterdir()):
        raise click.ClickException(f"{folder} is not empty: name a new folder, or an empty one.")
    own = _name_of(folder)
    if sys.stdin.isatty():
        name = name or click.prompt("Name of the agent", default=own)
        trade = trade or click.prompt("What does it do", type=click.Choice(_TRADES), default=_TRADES[0])
    name = name or own
    if _name_of(Path(name)) != name:
        raise click.BadParameter(
            f"{name!r} is no name: write letters, digits and _, a letter first.", param_hint="--name"
        )
    with as_file(files("pipelines.dialog.agent") / "trades" / (trade or _TRADES[0])) as template:
        shutil.copytree(template, folder, dirs_exist_ok=True)
    file = folder / "agent.yaml"
    content = file.read_text("utf-8")
    file.write_text(content.replace("name: my_agent", f"name: {name}", 1), "utf-8")
    click.echo(f"{folder} holds the agent {name}. Try it with: vivavoce agent test {folder}")


def _name_of(folder: Path) -> str:
    """Return the name of an agent in a folder of that name."""
    words = re.sub(r"[^A-Za-z0-9]+", "_", folder.resolve().name).strip("_")
    return (words if words[:1].isalpha() else f"agent_{words}".rstrip("_"))[:64]


@agent.command()
@click.argument("folder", metavar="DIR", type=_FOLDER)
def check(folder: Path) -> None:
    """Tell everything that is wrong with the agent in DIR, with file, line and cure.

    Of an agent that is in order, it tells what will go wrong with real callers; that is no error.
    """
    with extra("serve", "Checking agents"):
        from pipelines.dialog.agent.advice import advise  # noqa: PLC0415 - needs the extra
        from pipelines.dialog.agent.folder import check as problems_of  # noqa: PLC0415
    problems = problems_of(folder)
    for problem in problems:
        click.echo(problem)
    if problems:
        count = f"{len(problems)} problems" if len(problems) > 1 else "one problem"
        raise click.ClickException(f"The agent in {folder} has {count}.")
    advice = advise(folder)
    for one in advice:
        click.echo(f"warning: {one}")
    count = f", with {len(advice)} warnings" if len(advice) > 1 else ", with one warning" if advice else ""
    click.echo(f"The agent in {folder} is in order{count}.")


@agent.command()
@click.argument("folder", metavar="DIR", type=_FOLDER)
@click.option("--slots", "shows_slots", is_flag=True, help="Show the intent and its slots after each turn.")
def chat(folder: Path, shows_slots: bool) -> None:
    """Talk to the agent in DIR: one line of the input is one turn.

    Turns are understood by the sentences of the agent: no model and no server is needed. Fulfilments over HTTP are
    carried out; others are shown.
    """
    with extra("serve", "Talking to agents"):
        from pipelines.dialog.agent.folder import read_agent  # noqa: PLC0415 - needs the extra
        from pipelines.dialog.agent.problems import AgentError  # noqa: PLC0415
        from pipelines.dialog.by_example import ExampleUnderstanding  # noqa: PLC0415
        from pipelines.dialog.leading import led_turn  # noqa: PLC0415
        from pipelines.dialog.session import DialogSession  # noqa: PLC0415
        from service.fulfilment.fulfillers import fulfillers_of  # noqa: PLC0415
        from service.fulfilment.http_calls import HttpCalls  # noqa: PLC0415
        from service.fulfilment.leading_model import ModelLeader  # noqa: PLC0415
    try:
        held = read_agent(folder)
    except AgentError as error:
        raise click.ClickException(f"The agent in {folder} cannot be used: {error}") from error
    understand, session = ExampleUnderstanding(held), DialogSession(held)
    with asyncio.Runner() as runner:
        calls = HttpCalls()
        try:
            session.fulfillers = fulfillers_of(held, folder, calls)
            session.leader = ModelLeader(calls)
        except AgentError as error:
            session.fulfillers = {}
            click.echo(f"{error}\nFulfilments are shown, and not carried out. No language model leads.", err=True)
        session.begin()
        _tell(session.greeting)
        for line in sys.stdin:
            if not line.strip():
                continue
            now = dt.datetime.now().astimezone()
            turn = session.preview(line.strip(), understand(line, now))
            turn = session.commit(runner.run(led_turn(session, turn, now)))
            for task in turn.fulfilled:
                slots = ", ".join(f"{name} = {value}" for name, value in task.slots.items())
                click.echo(f"[{task.name}: {slots}]")
            _tell(turn.text)
            if shows_slots:
                _show(session)
            ends = [turn.ends, *(runner.run(_carry_out(session, task)) for task in turn.begun)]
            if any(ends):
                break
        runner.run(calls.close())


async def _carry_out(session: DialogSession, task: Fulfil) -> str:
    """Run a fulfilment and print what the agent says; return the dialog's end."""
    ends = ""
    async for event in session.fulfillers[task.name].carry_out(task, session.id):
        turn = session.happen(event)
        _tell(turn.text)
        ends = turn.ends or ends
        for begun in turn.begun:
            ends = await _carry_out(session, begun) or ends
    return ends


def _show(session: DialogSession) -> None:
    """Write the intent under way with its slots, and what is asked for."""
    form = session.state.form
    if form is None:
        _tell("  (no intent)")
        return
    slots = session.agent.slots_of(form.intent)
    told = [f"{name} = {'…' if slots[name].sensitive else filled.value}" for name, filled in form.slots.items()]
    asked = f"; asks for {form.asked}" if form.asked else "; asks whether that is right" if form.confirming else ""
    _tell(f"  ({form.intent}: {', '.join(told) or 'no slots'}{asked})")


def _tell(text: str) -> None:
    """Write what the agent says, without what a terminal would obey."""
    if text:
        click.echo("".join(character if character.isprintable() else " " for character in text))


@agent.command()
@click.argument("folder", metavar="DIR", type=_FOLDER)
@click.option("--only", metavar="TEXT", default="", help="Run only the scripts with this text in their names.")
@click.option("--verbose", "-v", is_flag=True, help="Show what is said in every script, not only in those that fail.")
def test(folder: Path, only: str, verbose: bool) -> None:
    """Hold the scripted conversations in DIR/tests, and compare what comes of them.

    Turns are typed, and understood by the sentences of the agent: no model is needed.
    """
    with extra("serve", "Trying agents"):
        from pipelines.dialog.agent.folder import read_agent, read_agent_scripts  # noqa: PLC0415 - needs the extra
        from pipelines.dialog.agent.problems import AgentError  # noqa: PLC0415
        from pipelines.dialog.by_example import ExampleUnderstanding  # noqa: PLC0415
        from pipelines.dialog.rehearsal import rehearse  # noqa: PLC0415
    try:
        held, scripts = read_agent(folder), read_agent_scripts(folder)
    except AgentError as error:
        for problem in error.problems:
            click.echo(problem)
        raise click.ClickException(f"The agent in {folder} cannot be used.") from error
    chosen = [script for script in scripts if only in script.name]
    if not chosen:
        raise click.ClickException(f"{folder / 'tests'} has no such script: write one, or change --only.")
    understand = ExampleUnderstanding(held)
    failed = 0
    for script in chosen:
        outcome = rehearse(held, script, understand)
        failed += not outcome.passed
        click.echo(f"{'passed' if outcome.passed else 'FAILED'}  {script.name}")
        if verbose or not outcome.passed:
            click.echo("".join(f"    {line}\n" for line in (*outcome.lines, *outcome.failures)), nl=False)
    if failed:
        raise click.ClickException(f"{failed} of {len(chosen)} scripts failed.")
    click.echo(f"{len(chosen)} of {len(chosen)} scripts passed.")


@agent.command()
@click.argument("folder", metavar="DIR", type=_FOLDER)
@click.argument("conversation", metavar="FILE", type=click.File("rb"))
@click.option("--name", metavar="TEXT", default="a conversation that was held", help="Name of the script.")
@click.option(
    "--out", metavar="YAML", type=click.Path(path_type=Path, dir_okay=False), help="[default: standard output]"
)
@click.option("--consent", is_flag=True, help="The caller has agreed that the words of the conversation are kept.")
def record(folder: Path, conversation: BinaryIO, name: str, out: Path | None, *, consent: bool) -> None:
    """Write the script of a conversation that the agent in DIR has held.

    FILE is what `vivavoce mic`, `converse` or `ask` has printed with `--agent` and `--json`; `-` is standard input.
    Values of sensitive slots are replaced, also in what the caller said. Read the script before you share it.
    """
    if not consent:
        raise click.ClickException("A script keeps what the caller said: ask the caller, and then give --consent.")
    with extra("serve", "Recording scripts"):
        from pipelines.dialog.agent.folder import read_agent  # noqa: PLC0415 - needs the extra
        from pipelines.dialog.agent.problems import AgentError  # noqa: PLC0415
        from pipelines.dialog.agent.script_recording import record as recorded  # noqa: PLC0415
        from pipelines.dialog.agent.scripts import Script  # noqa: PLC0415
        from pipelines.dialog.by_example import ExampleUnderstanding  # noqa: PLC0415
        from pipelines.dialog.rehearsal import rehearse  # noqa: PLC0415
    import yaml  # noqa: PLC0415 - of the extra
    from pydantic import ValidationError  # noqa: PLC0415

    try:
        held = read_agent(folder)
        script = recorded(held, name, _events_of(conversation))
        checked = Script.model_validate(script)
    except AgentError as error:
        raise click.ClickException(f"The agent in {folder} cannot be used: {error}") from error
    except ValidationError as error:
        message = "There is no conversation with an agent of at most 200 turns: give what `--agent --json` has printed."
        raise click.ClickException(message) from error
    text = yaml.safe_dump([script], sort_keys=False, allow_unicode=True, width=100)
    if out is None:
        click.echo(text, nl=False)
    elif out.exists():
        raise click.ClickException(f"{out} is there: name a new file.")
    else:
        out.write_text(text, "utf-8")
    for failure in rehearse(held, checked, ExampleUnderstanding(held)).failures:
        click.echo(f"By the sentences of the agent alone the script fails, {failure}.", err=True)


def _events_of(conversation: BinaryIO) -> Iterator[Mapping[str, Any]]:
    for line in conversation:
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(event, dict):
            yield event
