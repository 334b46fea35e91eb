"""Commands by name: the client's own, and entry points of other distributions.

A command is imported when it is called for, or when all are listed: `vivavoce ask` loads no other command.
"""

from __future__ import annotations

import importlib.util
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING

import click

from vivavoce.cli.extras import PackageMissingError, bringer, how_to_install

if TYPE_CHECKING:
    from collections.abc import Sequence

GROUP = "vivavoce.commands"
"""Group of entry points, each of which is a click command by its name on the command line."""

_OWN = {
    "ask": "vivavoce.cli.ask:ask",
    "converse": "vivavoce.cli.converse:converse",
    "mcp": "vivavoce.cli.mcp:mcp",
    "mic": "vivavoce.cli.mic:mic",
    "models": "vivavoce.cli.models:models",
    "say": "vivavoce.cli.say:say",
    "wyoming": "vivavoce.cli.wyoming:wyoming",
}
_EXTRAS_OF_OTHERS = {
    "agent": "serve",
    "bench": "bench",
    "eval": "eval",
    "import": "train",
    "insights": "serve",
    "intents": "eval",
    "knowledge": "serve",
    "optimize": "train",
    "recording": "serve",
    "serve": "serve",
    "sip": "sip",
    "speaker": "serve",
    "split": "train",
    "token": "serve",
    "train": "train",
    "tune": "bench",
}
"""The commands of the server and of the laboratory, each with the extra that it needs."""


class Commands(click.Group):
    """A group whose commands are imported when they are needed."""

    def list_commands(self, _context: click.Context) -> list[str]:
        """Return the names of the commands that are installed."""
        contributed = (entry.name for entry in entry_points(group=GROUP) if _is_installed(entry))
        return sorted({*_OWN, *contributed})

    def get_command(self, _context: click.Context, name: str) -> click.Command | None:
        """Import a command; return None when no distribution has one of this name.

        Raises:
            click.ClickException: It is one of the server's or the laboratory's, and that is not installed.
        """
        if name in _OWN:
            return _command(EntryPoint(name, _OWN[name], GROUP))
        found: Sequence[EntryPoint] = [*entry_points(group=GROUP, name=name)]
        if not found and (extra := _EXTRAS_OF_OTHERS.get(name)):
            raise click.ClickException(f"`vivavoce {name}` comes with {bringer(extra)}; {how_to_install(extra)}.")
        return _command(found[0]) if found else None


def _command(entry: EntryPoint) -> click.Command:
    if not _is_installed(entry):
        raise PackageMissingError(f"`vivavoce {entry.name}`", _package(entry))
    command = entry.load()
    assert isinstance(command, click.Command)
    return command


def _is_installed(entry: EntryPoint) -> bool:
    """Return whether the entry's package is there: container images leave some out."""
    return importlib.util.find_spec(_package(entry)) is not None


def _package(entry: EntryPoint) -> str:
    return entry.module.partition(".")[0]
