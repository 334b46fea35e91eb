"""The demonstration: starts the service, speaks recordings to it at the pace of speech, and shows what comes back.

Run it with `make demo`, or `python -m demo.run`. It exits with 0 when every recording was answered, no stage failed
and nothing of the service is left behind. With `--page` (`make demo PAGE=yes`) the service stays until Ctrl-C, for the
page in a browser.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
import tempfile
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.table import Table

import vivavoce
from demo.coffee_bar import TURNS, serve_bar
from demo.manifest import FOLDER, Utterance, utterances
from demo.server import SERVE, ServerError, running_server
from demo.spoken import NAME, SpokenConversation
from engines.build.moonshine import AssetsError, find_assets
from vivavoce.cli.converse import show_conversation
from vivavoce.cli.views import DEFAULT_BUDGET_SECONDS, View, choose_view, milliseconds

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator

    from numpy.typing import NDArray

SHOWN = ("alarm", "lights", "weather", "music", "moon_rocks", "bee_dance", "museum_boat", "museum_family")
NOVEL_SECONDS = 15.0
PROGRESS_SECONDS = 5.0
_FROM_TO = "from … to …"


@dataclass(slots=True)
class Tally:
    """What the closing table counts."""

    replies: list[vivavoce.Reply] = field(default_factory=list)
    """Every reply."""
    failed: list[str] = field(default_factory=list)
    """The recordings that got no reply, or one in which a stage had failed."""
    kept: list[Path] = field(default_factory=list)
    """The files that were written."""
    orders: int = 0
    """Orders that the coffee bar's counter has taken."""


async def demonstrate(console: Console, log: Path, *, page: bool = False) -> Tally:
    """Runs the whole demonstration.

    Args:
        console: Takes what belongs to no conversation.
        log: File for what the server logs.
        page: Whether the service stays for the page in a browser, until the task is cancelled.

    Raises:
        AssetsError: The recognition model's recordings are not installed.
        ServerError: The server did not start or stop as it should.
        vivavoce.VivavoceError: A conversation failed.
    """
    tally = Tally()
    await _order(console, tally)
    with log.open("wb") as log_file:
        command = (*SERVE, "--http-port", "0") if page else SERVE
        async with running_server(log_file, lambda what: _progress(console, what), command) as address:
            with choose_view(as_json=False, budget_seconds=None) as view:
                async with vivavoce.connect(address) as client:
                    await _converse_all(client, view, tally)
            if page:
                console.print(f"The page is at {_url(log)}/ until you press Ctrl-C.", markup=False, soft_wrap=True)
                await _until_interrupted()
    return tally


async def _order(console: Console, tally: Tally) -> None:
    """Holds a typed conversation with the agent of the coffee bar, which orders at a counter."""
    console.print("== typed: the agent of the coffee bar", markup=False)
    said, counter = await serve_bar(TURNS)
    agent = said.splitlines()
    for caller, answer in zip(("", *TURNS), agent, strict=False):
        console.print(f"{f'> {caller}' if caller else ''}\n  {answer}".lstrip("\n"), markup=False)
    tally.orders = len(counter.orders)
    if tally.orders != 1:
        tally.failed.append("order at the coffee bar")


def _url(log: Path) -> str:
    """Returns where the server says that its HTTP port is."""
    found = re.search(r"HTTP and WebSockets: (\S+)", log.read_text(encoding="utf-8"))
    if found is None:
        raise ServerError(f"The server does not say where its page is; its log is {log}.")
    return found[1]


async def _until_interrupted() -> None:
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        # Ctrl-C: the service is stopped in order.
        task = asyncio.current_task()
        assert task is not None
        task.uncancel()


async def _converse_all(client: vivavoce.Client, view: View, tally: Tally) -> None:
    for utterance in _selection():
        name = f"{utterance.kind}: {Path(utterance.file).name}"
        recording = vivavoce.read_audio(utterance.path)
        await _speak(client, view, tally, name, recording, recording.chunks(), utterance.documents())
    # A Tale of Two Cities, read by a human, comes with the recognition model.
    novel = vivavoce.read_audio(find_assets().parent / "two_cities.wav")
    name = f"a human voice: the first {NOVEL_SECONDS:g} s of two_cities.wav"
    await _speak(client, view, tally, name, novel, _beginning(novel), [])
    spoken = SpokenConversation(client, FOLDER)
    tally.replies += await spoken.hold(view)
    tally.kept += (spoken.sound, spoken.picture)
    if not spoken.interrupted:
        tally.failed.append(NAME)


async def _speak(
    client: vivavoce.Client,
    view: View,
    tally: Tally,
    name: str,
    recording: vivavoce.Recording,
    chunks: Iterable[NDArray[np.float32]],
    documents: list[vivavoce.Document],
) -> None:
    conversation = client.converse(
        vivavoce.pace(chunks, recording.sample_rate_hz),
        audio=recording.format,
        interim_results=True,
        documents=documents,
    )
    replies = await show_conversation(conversation, view, name)
    tally.replies += replies
    if not replies or any(reply.status is vivavoce.ReplyStatus.DEGRADED for reply in replies):
        tally.failed.append(name)


def _selection() -> Iterator[Utterance]:
    by_name = {Path(utterance.file).stem: utterance for utterance in utterances()}
    return (by_name[name] for name in SHOWN)


def _beginning(recording: vivavoce.Recording) -> Iterator[NDArray[np.float32]]:
    return islice(recording.chunks(0.1), round(NOVEL_SECONDS / 0.1))


def _show_table(console: Console, tally: Tally) -> None:
    latencies = np.array([reply.latency.total_seconds for reply in tally.replies])
    seen = np.array([s for reply in tally.replies if (s := reply.client_latency_seconds) is not None])
    turns = np.array([s for reply in tally.replies if (s := reply.turn_latency_seconds) is not None])
    table = Table(title="Latency", title_justify="left")
    for heading in (_FROM_TO, "replies", "p50", "max", f"within {milliseconds(DEFAULT_BUDGET_SECONDS)}"):
        table.add_column(heading, justify="left" if heading == _FROM_TO else "right")
    for name, values in (
        ("last sound to reply", turns),
        ("end of the turn to reply, by the server", latencies),
        ("the same, seen from this side", seen),
    ):
        if len(values):
            within = f"{(values <= DEFAULT_BUDGET_SECONDS).sum()} of {len(values)}"
            row = (str(len(values)), milliseconds(float(np.median(values))), milliseconds(float(values.max())), within)
            table.add_row(name, *row)
    console.print(table)


@asynccontextmanager
async def _progress(console: Console, what: str) -> AsyncIterator[None]:
    """Shows that something is being done, and how long it takes."""
    began = time.monotonic()

    async def report() -> None:
        while True:
            await asyncio.sleep(PROGRESS_SECONDS)
            console.print(f"  ... {time.monotonic() - began:.0f} s")

    console.print(f"{what} ...")
    reporting = asyncio.create_task(report())
    try:
        yield
    finally:
        reporting.cancel()
    console.print(f"{what} took {time.monotonic() - began:.1f} s.")


def main() -> int:
    """Runs the demonstration; returns the exit code."""
    parser = argparse.ArgumentParser(description="Shows what Vivavoce does.")
    parser.add_argument("--page", action="store_true", help="keep the service for the page in a browser, until Ctrl-C")
    page = parser.parse_args().page
    console = Console(highlight=False)
    with tempfile.TemporaryDirectory() as folder:
        try:
            tally = asyncio.run(demonstrate(console, Path(folder) / "server.log", page=page))
        except (AssetsError, ServerError, vivavoce.VivavoceError) as error:
            Console(stderr=True, highlight=False).print(str(error), markup=False, soft_wrap=True)
            return 1
        except KeyboardInterrupt:
            return 130
    _show_table(console, tally)
    for path in tally.kept:
        console.print(f"The spoken conversation is kept in {path}.", markup=False, soft_wrap=True)
    for name in tally.failed:
        console.print(f"No whole reply came to the {name}.", markup=False)
    return 1 if tally.failed else 0


if __name__ == "__main__":
    sys.exit(main())
