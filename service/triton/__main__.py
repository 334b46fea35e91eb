"""Triton alone: ``python -m service.triton [MODEL_REPOSITORY]``.

Prints ``listening on unix:PATH`` (gRPC) and ``metrics on URL`` once every model is ready, and ends with SIGINT, SIGTERM
or SIGHUP. Several services of the same user can share it with ``vivavoce serve --triton unix:PATH``.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from pathlib import Path

from pipelines.models.shipped import SHIPPED
from pipelines.models.triton import TritonClient
from service.telemetry.log_formats import ServiceFormatter
from service.telemetry.log_output import STDERR, logging_to
from service.triton.installation import TritonNotInstalledError
from service.triton.process import TritonProcess
from service.triton.repository import overlaid
from service.triton.served_models import DEFAULT_MODEL_REPOSITORY

_PROBE_PAUSE_SECONDS = 0.1


async def _run(model_repository: Path) -> int:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
    overlaid(model_repository, ())  # Triton would start without models too, and never be ready.
    triton = await TritonProcess.start(model_repository, metrics=True)
    try:
        ended = asyncio.create_task(triton.wait())
        stopped = asyncio.create_task(stop.wait())
        ready = asyncio.create_task(_until_ready(triton.address))
        await asyncio.wait((ended, stopped, ready), return_when=asyncio.FIRST_COMPLETED)
        if ready.done():
            sys.stdout.write(f"listening on {triton.address}\nmetrics on {triton.metrics_url}\n")
            sys.stdout.flush()
            await asyncio.wait((ended, stopped), return_when=asyncio.FIRST_COMPLETED)
        for task in (ended, stopped, ready):
            task.cancel()
    finally:
        await triton.stop()
    if stop.is_set():
        return 0
    sys.stderr.write(f"Triton ended by itself: {triton.reason}\n")
    return 1


async def _until_ready(address: str) -> None:
    client = TritonClient(address)
    try:
        while await client.missing(SHIPPED.required):  # noqa: ASYNC110 - Triton can only be asked
            await asyncio.sleep(_PROBE_PAUSE_SECONDS)
    finally:
        await client.close()


def _main() -> int:
    with logging_to(STDERR, logging.WARNING, ServiceFormatter("%(levelname)s %(name)s  %(message)s")):
        try:
            return asyncio.run(_run(Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_MODEL_REPOSITORY))
        except (OSError, TritonNotInstalledError) as error:
            sys.stderr.write(f"{error}\n")
            return 1


if __name__ == "__main__":
    sys.exit(_main())
