"""Triton's own counters of a model, and the split of the latency that follows from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import tritonclient.grpc.aio as triton

    from benchmarks.triton.windows import Measured

PARTS = ("client_send", "network", "queue", "compute_input", "compute_infer", "compute_output", "client_receive")
"""Where the time of a request goes, in order."""
_SERVER_PARTS = ("queue", "compute_input", "compute_infer", "compute_output")


async def read_statistics(
    client: triton.InferenceServerClient, model: str, steps: Sequence[str] = ()
) -> dict[str, int]:
    """Reads a model's counters, and those of an ensemble's steps as ``STEP/COUNTER``."""
    totals = await _read(client, model)
    for step in steps:
        totals |= {f"{step}/{name}": value for name, value in (await _read(client, step)).items()}
    return totals


async def _read(client: triton.InferenceServerClient, model: str) -> dict[str, int]:
    """Sums a model's counters over its versions: nanoseconds by part, and numbers of requests and executions."""
    answer = await client.get_inference_statistics(model)
    totals = dict.fromkeys((*_SERVER_PARTS, "success", "requests", "inferences", "executions"), 0)
    for version in answer.model_stats:
        for part in _SERVER_PARTS:
            totals[part] += getattr(version.inference_stats, part).ns
        totals["success"] += version.inference_stats.success.ns
        totals["requests"] += version.inference_stats.success.count
        totals["inferences"] += version.inference_count
        totals["executions"] += version.execution_count
    return totals


def latency_parts(measured: Measured) -> dict[str, float]:
    """Splits the mean latency: milliseconds by part, in the order of :data:`PARTS`.

    An ensemble's own counters hold the whole of its steps as ``compute_infer``, less what waited in its own queue. A
    model that answers after Triton has counted its request, as ``asr`` does, is believed what it says that it computed;
    what a request waited inside it is in ``network``.
    """
    answers = measured.window.answers
    delta = {name: measured.after[name] - measured.before[name] for name in measured.after}
    requests = max(1, delta["requests"])
    server = {part: delta[part] / requests / 1e6 for part in _SERVER_PARTS}
    whole = delta["success"] / requests / 1e6
    if not any(server.values()):
        server["compute_infer"] = whole
    told = 1000 * sum(answer.compute for answer in answers) / len(answers)
    server["compute_infer"] = max(server["compute_infer"], told)
    send, receive = (1000 * sum(getattr(a, side) for a in answers) / len(answers) for side in ("send", "receive"))
    total = 1000 * measured.window.mean_latency
    network = max(0.0, total - send - receive - max(whole, sum(server.values())))
    return {"client_send": send, "network": network, **server, "client_receive": receive}


def step_parts(measured: Measured) -> dict[str, dict[str, float]]:
    """Splits an ensemble's time: milliseconds of each step by part, for one request of the ensemble.

    A step that others use meanwhile seems to take longer.
    """
    delta = {name: measured.after[name] - measured.before[name] for name in measured.after}
    requests = max(1, delta["requests"])
    steps = dict.fromkeys(name.rpartition("/")[0] for name in delta if "/" in name)
    return {step: {part: delta[f"{step}/{part}"] / requests / 1e6 for part in _SERVER_PARTS} for step in steps}


def mean_batch(measured: Measured) -> float:
    """Items that the server computed at a time."""
    executions = measured.after["executions"] - measured.before["executions"]
    return (measured.after["inferences"] - measured.before["inferences"]) / executions if executions else 0.0
