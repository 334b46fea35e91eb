"""`vivavoce wyoming`: the server that Home Assistant talks to."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING

import click

from vivavoce.cli.connection import Connection, server_option
from vivavoce.cli.extras import extra
from vivavoce.cli.options import (
    budget_option,
    context_options,
    knowledge_option,
    read_documents,
    seconds,
    variant_option,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from vivavoce.wyoming import Settings


@click.command()
@click.option(
    "--uri",
    metavar="URI",
    default="tcp://0.0.0.0:10300",
    show_default=True,
    help="Where to listen: tcp://HOST:PORT or unix:///PATH; port 0 lets the system choose.",
)
@server_option
@context_options
@budget_option
@variant_option
@click.option(
    "--language",
    "languages",
    metavar="CODE",
    multiple=True,
    default=("en",),
    show_default=True,
    help="Language that the recognizer and a voice of the server serve, such as de. May be repeated.",
)
@knowledge_option
@click.option("--agent", metavar="NAME", default="", help="Have texts answered by this agent.  [default: none]")
def wyoming(
    *,
    uri: str,
    server: Connection,
    contexts: Sequence[str],
    context_files: Sequence[Path],
    budget_ms: int | None,
    variants: Mapping[str, str],
    languages: Sequence[str],
    knowledge: Sequence[str],
    agent: str,
) -> None:
    """Serve Home Assistant over the Wyoming protocol, until interrupted.

    Prints the address when ready. Speech, intents and answers come from the service that --server names. Wyoming has no
    passwords: let only your own network reach the port.
    """
    with extra("wyoming", "The Wyoming server"):
        from vivavoce.wyoming import Settings, parse_uri  # noqa: PLC0415 - needs an optional package
    try:
        where = parse_uri(uri)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--uri") from error
    documents = read_documents(contexts, context_files)
    settings = Settings(documents, seconds(budget_ms), agent, knowledge, variants, languages)
    try:
        asyncio.run(_serve(where, server, settings))
    except OSError as error:
        message = f"Nobody can listen on {uri} ({error.strerror or error}); choose another address."
        raise click.ClickException(message) from error


async def _serve(where: tuple[str, int] | Path, server: Connection, settings: Settings) -> None:
    from vivavoce.wyoming import WyomingServer  # noqa: PLC0415 - needs an optional package

    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    async with server.connect() as client, WyomingServer(client, settings).listening(where) as address:
        click.echo(f"listening on {address}")
        await stopped.wait()
