"""Loads a network, first in this process to choose its precision, then through Triton's gRPC."""

from __future__ import annotations

import asyncio
import gc
import tempfile
import time
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
import tritonclient.grpc.aio as triton

from benchmarks.gpu.callers import Load, Seen, call
from benchmarks.gpu.correctness import compare, mixed_requests, reference
from benchmarks.gpu.plan import LOGIT_LIMITS
from benchmarks.gpu.profiling import profile_kernels
from benchmarks.gpu.repository import Served, model_name, write_repository
from benchmarks.gpu.server import StartError, count_batches, serving
from engines.bert.gpu.network import random_state
from engines.bert.gpu.session import GpuBertSession, GpuOptions

if TYPE_CHECKING:
    import numpy.typing as npt

    from benchmarks.gpu.plan import Case, Plan
    from benchmarks.gpu.sheet import Sheet
    from engines.bert.gpu.network import State
    from engines.bert.gpu.precision import Precision
    from engines.bert.gpu.session import Request

    Logits = dict[str, npt.NDArray[np.float32]]

_CHECKED_ROWS = 8
_ENGINE_SECONDS = 1.5


class _Checked(NamedTuple):
    """Requests, and their logits in float32."""

    requests: list[Request]
    expected: list[Logits]


def load_network(plan: Plan, case: Case, sheet: Sheet) -> None:
    """Measures a network: in process in every precision, served in the fastest one that is right."""
    state = random_state(case.shape)
    requests = _checked_requests(case)
    checked = _Checked(requests, reference(case.shape, state).run(requests))
    best = _choose_precision(plan, case, state, checked, sheet)
    if plan.device != "cpu":
        _profile(plan, case, state, best, sheet)
    with tempfile.TemporaryDirectory(prefix="vivavoce-gpu-") as directory:
        for instances in case.instances:
            for kind in _kinds(plan.device):
                served = Served(best, instances, kind, plan.device)
                folder = write_repository(Path(directory), case, state, served)
                try:
                    asyncio.run(_load_served(plan, case, folder, served, checked, sheet))
                    break
                except StartError as error:
                    sheet.add(what="served", instances=instances, kind=kind, error=str(error))


def _kinds(device: str) -> tuple[str, ...]:
    """Lists the kinds of instance to try: a Triton that cannot use the GPU itself still runs models that do."""
    return ("KIND_CPU",) if device == "cpu" else ("KIND_GPU", "KIND_CPU")


def _choose_precision(plan: Plan, case: Case, state: State, checked: _Checked, sheet: Sheet) -> Precision:
    """Returns the fastest precision whose logits are as near to float32 as they should be.

    Raises:
        RuntimeError: there is none.
    """
    rates: dict[Precision, float] = {}
    for precision in case.precisions:
        what = {"what": "in process", "precision": precision, "batch": case.batch}
        try:
            found, rate, seconds = _try_precision(plan, case, state, checked, precision)
        except RuntimeError as error:
            sheet.add(**what, error=str(error)[:200])
            continue
        finally:
            _free_memory()
        right = float(str(found["relative"])) <= LOGIT_LIMITS[precision]
        sheet.add(**what, rows_per_second=round(rate, 1), milliseconds=round(1000 * seconds, 3),
                  tflops=round(rate * case.shape.flops(case.length) / 1e12, 3), right=right, **found)  # fmt: skip
        if right:
            rates[precision] = rate
    if not rates:
        raise RuntimeError(f"{case.title}: no precision agrees with float32, so there is nothing to serve")
    return max(rates, key=rates.__getitem__)


def _try_precision(
    plan: Plan, case: Case, state: State, checked: _Checked, precision: Precision
) -> tuple[dict[str, object], float, float]:
    """Returns how near the logits are, and what :func:`_engine_rate` does."""
    options = GpuOptions(precision, case.batch * case.length, case.batch, case.length, plan.device)
    session = GpuBertSession(case.shape, state, options)
    found = compare(session.run(checked.requests), checked.expected)
    return found, *_engine_rate(session, case)


def _profile(plan: Plan, case: Case, state: State, precision: Precision, sheet: Sheet) -> None:
    """Tells what a full batch spends its time in; a benchmark that cannot tell goes on."""
    try:
        options = GpuOptions(precision, case.batch * case.length, case.batch, case.length, plan.device)
        session = GpuBertSession(case.shape, state, options)
        profile_kernels(f"{case.batch} rows in {precision}", lambda: session.run(_full_batch(case)), sheet)
    except Exception as error:  # noqa: BLE001 - as above
        sheet.add(what="profile", of=case.name, error=str(error)[:200])
    finally:
        _free_memory()


def _free_memory() -> None:
    """Gives back what a session held: it knows its runs and they know it, so that only a collection ends them."""
    gc.collect()
    torch.cuda.empty_cache()


def _checked_requests(case: Case) -> list[Request]:
    lengths = np.linspace(1, case.length, _CHECKED_ROWS).astype(int).tolist()
    return mixed_requests(case.shape, lengths, np.random.default_rng(2))


def _full_batch(case: Case) -> list[Request]:
    mask = np.ones((case.batch, case.length), np.bool_)
    ids = np.random.default_rng(3).integers(0, case.shape.vocabulary, mask.shape, np.int32)
    return [{"input_ids": ids, "attention_mask": mask}]


def _engine_rate(session: GpuBertSession, case: Case) -> tuple[float, float]:
    """Returns rows a second of full batches, two of them under way, and the seconds of one batch alone."""
    batch = _full_batch(case)
    alone = []
    for _ in range(5):
        began = time.perf_counter()
        session.run(batch)
        alone.append(time.perf_counter() - began)
    began, done, under_way = time.perf_counter(), 0, deque([session.start(batch)])
    while (passed := time.perf_counter() - began) < _ENGINE_SECONDS or not done:
        under_way.append(session.start(batch))
        under_way.popleft().wait()
        done += 1
    under_way.popleft().wait()
    return done * case.batch / passed, float(np.median(alone))


async def _load_served(plan: Plan, case: Case, folder: Path, served: Served, checked: _Checked, sheet: Sheet) -> None:
    model = model_name(case)
    began = time.monotonic()
    async with serving(folder, model) as address:
        what = {"what": "served", "precision": served.precision, "instances": served.instances, "kind": served.kind}
        sheet.add(**what | {"what": "started"}, seconds=round(time.monotonic() - began, 1))
        sheet.add(**what | {"what": "checked through gRPC"}, **await _check_served(case, checked, address))

        async def measure(callers: int, shortest: int) -> int:
            load = Load(address, model, callers, case.rows, case.length, case.shape.vocabulary, shortest, plan.seconds)
            before = await count_batches(address, model)
            seen = await asyncio.to_thread(call, load)
            after = await count_batches(address, model)
            sheet.add(**what, callers=callers, rows=case.rows, padded=shortest < case.length,
                      batch=round(after.mean_since(before), 1), **summary(case, load, seen))  # fmt: skip
            return len(seen.latencies)

        answers = {callers: await measure(callers, case.length) for callers in case.callers}
        if case.mixed:
            await measure(max(answers, key=answers.__getitem__), case.length // 8)


async def _check_served(case: Case, checked: _Checked, address: str) -> dict[str, object]:
    """Sends rows of many lengths at once, and compares the answers with float32."""
    async with triton.InferenceServerClient(address) as client:
        answers = await asyncio.gather(*(ask(client, model_name(case), request) for request in checked.requests))
    return compare(answers, checked.expected)


async def ask(client: triton.InferenceServerClient, model: str, request: Request) -> Logits:
    """Sends one request to a served network, and returns its logits."""
    inputs = []
    for name, kind in (("input_ids", "INT32"), ("attention_mask", "BOOL")):
        tensor = triton.InferInput(name.upper(), list(request[name].shape), kind)
        tensor.set_data_from_numpy(request[name])
        inputs.append(tensor)
    result = await client.infer(model, inputs)
    return {name: result.as_numpy(name.upper()) for name in ("start_logits", "end_logits")}


def summary(case: Case, load: Load, seen: Seen) -> dict[str, object]:
    """Sums a load up: rows a second, latencies and compute as callers saw them, and whether the goal was met."""
    if not seen.latencies:
        return {"error": f"no answer within {load.seconds:g} s"}
    rate = len(seen.latencies) * load.rows / load.seconds
    latency = _percentiles([1000 * seconds for seconds in seen.latencies])
    compute = _percentiles(seen.compute_ms)
    found: dict[str, object] = {
        "rows_per_second": round(rate, 1),
        "latency_ms": latency,
        "compute_ms": compute,
        "tokens": round(seen.tokens, 1),
        "tflops": round(rate * case.shape.flops(int(seen.tokens)) / 1e12, 3),
        "client_cpu": round(seen.busiest, 2),
    }
    if case.goal is not None and load.shortest == load.length:
        found["goal_met"] = (
            rate >= case.goal.rows_per_second
            and _within(latency["p99"], case.goal.latency_ms)
            and _within(compute["p99"], case.goal.compute_ms)
        )
    return found


def _percentiles(values: list[float]) -> dict[str, float]:
    return {f"p{p}": round(float(np.percentile(values, p)), 2) for p in (50, 95, 99)}


def _within(value: float, most: float | None) -> bool:
    return most is None or value <= most
