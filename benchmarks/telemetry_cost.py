"""What telemetry costs: CPU time of a service with metrics, JSON log and traces, beside one without.

``python -m benchmarks.telemetry_cost`` starts one Triton and two services in front of it. Both hold the same
conversations at the same time, at the pace of speech, so what else the machine does concerns both alike.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import tempfile
import urllib.request
from concurrent import futures
from pathlib import Path
from typing import TYPE_CHECKING

import click
import grpc
import psutil

import vivavoce
from benchmarks.provenance import RESULTS, keep
from benchmarks.talking import speech
from service.processes.child_process import SERVE, listening

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SCRAPE_SECONDS = 5.0


@click.command()
@click.option("--conversations", type=click.IntRange(1), default=3, show_default=True, help="On each service.")
@click.option("--seconds", type=click.IntRange(5), default=90, show_default=True, help="How long they last.")
@click.option("--out", type=click.Path(path_type=Path), default=RESULTS / "telemetry-cost.json", show_default=True)
def main(conversations: int, seconds: int, out: Path) -> None:
    """Compare the CPU time of two services; keep what was found."""
    with tempfile.TemporaryDirectory() as directory, _collecting() as endpoint, contextlib.ExitStack() as cleanup:
        triton, logs = Path(directory, "triton.txt"), [Path(directory, name) for name in ("off.txt", "on.txt")]
        _, address = cleanup.enter_context(listening(["-m", "service.triton"], triton))
        arguments = [*SERVE, "--triton", address, "--max-conversations", "64", "--no-admin"]
        telemetry = ["--metrics-port", "0", "--log-format", "json", "--otlp-endpoint", endpoint]
        services = [
            cleanup.enter_context(listening([*arguments, *more], log))
            for more, log in zip(([], telemetry), logs, strict=True)
        ]
        found = re.search(r"told at (http\S+?)\"", logs[1].read_text(encoding="utf-8"))
        assert found is not None
        processes = [psutil.Process(process.pid) for process, _ in services]
        addresses = [address for _, address in services]
        asyncio.run(_hold(addresses, found[1], conversations, 5))  # what is done but once
        before = [_cpu_seconds(process) for process in processes]
        turns = asyncio.run(_hold(addresses, found[1], conversations, seconds))
        spent = [_cpu_seconds(process) - was for process, was in zip(processes, before, strict=True)]
    figures = summary(spent[0], spent[1], conversations * seconds) | {"turns": turns}
    command = f"python -m benchmarks.telemetry_cost --conversations {conversations} --seconds {seconds}"
    print(keep(out, command, figures))


def summary(off_seconds: float, on_seconds: float, conversation_seconds: float) -> dict[str, object]:
    """Returns the shares of a core that a conversation took, in per cent.

    Args:
        off_seconds: CPU time without telemetry.
        on_seconds: CPU time with all of it.
        conversation_seconds: duration of all conversations of one service together.
    """
    off, on = (100 * spent / conversation_seconds for spent in (off_seconds, on_seconds))
    return {
        "off_core_percent": round(off, 2),
        "on_core_percent": round(on, 2),
        "more_core_percent": round(on - off, 2),
        "more_relative_percent": round(100 * (on / off - 1), 1),
    }


def _cpu_seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system


async def _hold(addresses: Sequence[str], metrics_url: str, conversations: int, seconds: float) -> list[int]:
    """Holds conversations with every service for so long; returns how many replies each gave."""
    scraping = asyncio.create_task(_scrape(metrics_url))
    try:
        async with asyncio.TaskGroup() as group:
            held = [
                [group.create_task(_converse(address, number, seconds)) for number in range(conversations)]
                for address in addresses
            ]
    finally:
        scraping.cancel()
        await asyncio.wait((scraping,))
    return [sum(task.result() for task in tasks) for tasks in held]


async def _scrape(url: str) -> None:
    while True:
        await asyncio.to_thread(lambda: urllib.request.urlopen(url, timeout=5).read())
        await asyncio.sleep(SCRAPE_SECONDS)


async def _converse(address: str, number: int, seconds: float) -> int:
    documents = ["The river museum opens at nine. Tram four stops in front of it."]
    async with vivavoce.connect(address) as client:
        events = client.converse(speech(number, seconds), documents=documents, interim_results=True)
        return sum([isinstance(event, vivavoce.Reply) and not event.completes async for event in events])


@contextlib.contextmanager
def _collecting() -> Iterator[str]:
    """Runs a collector of traces that throws them away; yields its URL."""
    export: grpc.RpcMethodHandler[bytes, bytes] = grpc.unary_unary_rpc_method_handler(lambda *_: b"")
    name = "opentelemetry.proto.collector.trace.v1.TraceService"
    server = grpc.server(futures.ThreadPoolExecutor(1))
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(name, {"Export": export}),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.stop(None).wait()


if __name__ == "__main__":
    main()
