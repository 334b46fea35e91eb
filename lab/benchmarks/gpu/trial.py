"""Starts Triton once with a tiny network: a machine where that fails is measured without a server."""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import tritonclient.grpc.aio as triton

from benchmarks.gpu.correctness import compare, mixed_requests, reference
from benchmarks.gpu.plan import DRY
from benchmarks.gpu.repository import Served, model_name, write_repository
from benchmarks.gpu.server import StartError, serving
from benchmarks.gpu.throughput import ask
from engines.bert.gpu.network import random_state
from engines.bert.gpu.precision import Precision

if TYPE_CHECKING:
    from benchmarks.gpu.plan import Plan
    from benchmarks.gpu.sheet import Sheet

_START_SECONDS = 25.0


def try_server(plan: Plan, sheet: Sheet) -> None:
    """Serves a tiny network on the plan's device, and compares its answers with float32.

    A Triton that is left with what it needs alone, as the service leaves it, is tried too: what it lacks is noted.

    Raises:
        StartError: Triton did not come up.
    """
    asyncio.run(_serve(plan.device, sheet, confined=False))
    try:
        asyncio.run(_serve(plan.device, sheet, confined=True))
    except StartError as error:
        sheet.add(what="not started", confined=True, error=str(error)[-500:])


async def _serve(device: str, sheet: Sheet, *, confined: bool) -> None:
    case = DRY.cases[0]
    state = random_state(case.shape)
    requests = mixed_requests(case.shape, (1, 7, 32), np.random.default_rng(0))
    expected = reference(case.shape, state).run(requests)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="vivavoce-trial-") as folder:
        write_repository(Path(folder), case, state, Served(Precision.FLOAT16, 1, "KIND_CPU", device))
        seconds = _START_SECONDS if device != "cpu" else None
        async with serving(Path(folder), model_name(case), seconds, confined=confined) as address:
            sheet.add(what="started", confined=confined, seconds=round(time.monotonic() - began, 1))
            async with triton.InferenceServerClient(address) as client:
                answers = [await ask(client, model_name(case), request) for request in requests]
            sheet.add(what="checked through gRPC", confined=confined, **compare(answers, expected))
