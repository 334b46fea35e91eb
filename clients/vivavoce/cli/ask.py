"""`vivavoce ask`: typed turns."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import click

import vivavoce
from vivavoce.cli.connection import Connection, server_option
from vivavoce.cli.options import (
    agent_options,
    budget_option,
    context_options,
    json_option,
    knowledge_option,
    read_documents,
    seconds,
    understanding_options,
    variant_option,
)
from vivavoce.cli.views import View, choose_view

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


@click.command()
@click.argument("texts", metavar="TEXT...", nargs=-1, required=True)
@server_option
@context_options
@budget_option
@variant_option
@knowledge_option
@understanding_options
@agent_options
@json_option
def ask(
    texts: Sequence[str],
    *,
    server: Connection,
    contexts: Sequence[str],
    context_files: Sequence[Path],
    budget_ms: int | None,
    variants: Mapping[str, str],
    knowledge: Sequence[str],
    intents: int,
    time_zone: str,
    agent: str,
    session: str,
    as_json: bool,
) -> None:
    """Ask questions or give commands in writing: one reply a TEXT, in order."""
    documents = read_documents(contexts, context_files)

    async def work(view: View) -> None:
        async with server.connect() as client:
            for text in texts:
                reply = await client.ask(
                    text,
                    documents=documents,
                    reply_budget_seconds=seconds(budget_ms),
                    max_intents=intents,
                    time_zone=time_zone,
                    variants=variants,
                    knowledge=knowledge,
                    agent=agent,
                    session=vivavoce.Session(session) if session else None,
                )
                view.begin("" if as_json else text)
                view.show(reply)
                for followed in () if as_json else reply.followed:
                    view.show(followed)
                view.end()

    with choose_view(as_json=as_json, budget_seconds=seconds(budget_ms)) as view:
        asyncio.run(work(view))
