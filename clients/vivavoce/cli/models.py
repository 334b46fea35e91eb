"""`vivavoce models`: the versions of a server's engines."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

import vivavoce
from vivavoce.cli.options import check_address, json_option

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_NUMBERS = {1, 4, 5}  # Columns that are aligned on the right.
_MAX_VERSIONS = 2**31 - 1
_C = TypeVar("_C", bound="Callable[..., Any]")


def admin_option(command: _C) -> _C:
    """Add `--server` and `--socket`, of which the command gets `server`."""
    server = click.option(
        "--server",
        metavar="HOST:PORT",
        default=vivavoce.DEFAULT_TARGET,
        show_default=True,
        callback=check_address,
        help="Address of the server, on this machine, or its socket for this as unix:/PATH.",
    )
    socket = click.option(
        "--socket",
        metavar="PATH",
        type=click.Path(path_type=Path),
        callback=_take_socket,
        expose_value=False,
        help="The server's socket for this, where it was started with --admin-socket.",
    )
    return server(socket(command))


def _take_socket(context: click.Context, _parameter: click.Parameter, value: Path | None) -> None:
    """Put the socket in the place of the server's address."""
    if value is not None:
        context.params["server"] = f"unix:{value.absolute()}"


@click.group()
def models() -> None:
    """Replace models while the server runs.

    Works on the server's own machine, for the user who runs it.
    """


@models.command("list")
@admin_option
@json_option
def list_(*, server: str, as_json: bool) -> None:
    """List the versions of all models, and what each is doing."""

    async def work() -> list[vivavoce.ModelVersion]:
        async with vivavoce.ModelAdmin(server) as admin:
            return await admin.list()

    _show(asyncio.run(work()), as_json=as_json)


@models.command()
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@admin_option
@json_option
def load(directory: Path, *, server: str, as_json: bool) -> None:
    """Load the engine in DIR, try it out, and let it take over.

    DIR is read by the server: it is a path on its machine. Turns under way end on the version that they began with. A
    version that does not load, or does not pass its trial, leaves everything as it was.
    """
    path = directory.absolute()

    async def work() -> vivavoce.ModelVersion:
        async with vivavoce.ModelAdmin(server) as admin:
            return await admin.load(path)

    _tell(asyncio.run(work()), "serves now", as_json=as_json)


@models.command()
@click.argument("name")
@click.argument("version", type=click.IntRange(min=1, max=_MAX_VERSIONS))
@admin_option
def unload(name: str, version: int, *, server: str) -> None:
    """Unload VERSION of NAME once no turn uses it, or forget one that failed.

    The active one stays.
    """

    async def work() -> None:
        async with vivavoce.ModelAdmin(server) as admin:
            await admin.unload(name, version)

    asyncio.run(work())


@models.command()
@click.argument("name")
@admin_option
@json_option
def rollback(name: str, *, server: str, as_json: bool) -> None:
    """Let the version of NAME before the active one take over again."""

    async def work() -> vivavoce.ModelVersion:
        async with vivavoce.ModelAdmin(server) as admin:
            return await admin.roll_back(name)

    _tell(asyncio.run(work()), "serves again", as_json=as_json)


def _tell(version: vivavoce.ModelVersion, what: str, *, as_json: bool) -> None:
    if as_json:
        _show([version], as_json=True)
    else:
        click.echo(f"version {version.version} of {version.name} {what}")


def _show(versions: Iterable[vivavoce.ModelVersion], *, as_json: bool) -> None:
    if as_json:
        for version in versions:
            click.echo(json.dumps(_fields(version)))
        return
    rows = [("model", "version", "state", "since", "turns", "in use", "from"), *map(_row, versions)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (
            cell.rjust(width) if index in _NUMBERS else cell.ljust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        click.echo("  ".join(cells).rstrip())


def _row(version: vivavoce.ModelVersion) -> tuple[str, ...]:
    return (
        version.name,
        str(version.version),
        version.state.value.lower(),
        version.since.astimezone().strftime("%Y-%m-%d %H:%M:%S"),
        str(version.turns),
        str(version.in_use),
        f"{version.source}: {version.reason}" if version.reason else version.source,
    )


def _fields(version: vivavoce.ModelVersion) -> dict[str, object]:
    return {
        "name": version.name,
        "version": version.version,
        "state": version.state.value,
        "since": version.since.isoformat(timespec="milliseconds"),
        "turns": version.turns,
        "in_use": version.in_use,
        "source": version.source,
        "reason": version.reason,
    }
