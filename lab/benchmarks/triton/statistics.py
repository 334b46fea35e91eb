"""Triton's own counters of a model, and the split of the latency that follows from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tritonclient.grpc import service_pb2

    from benchmarks.triton.connection import Connection
    from benchmarks.triton.windows import Measured

PARTS = ("client_send", "network", "queue", "compute_input", "compute_infer", "compute_output", "client_receive")
"""Where the time of a request goes, in order."""
_SERVER_PARTS = ("queue", "compute_input", "compute_infer", "compute_output")


Counters = dict[str, dict[str, int]]
"""Counters of a model, and of the steps of an ensemble, by the model's name; the model itself is the first."""


async def read_statistics(connection: Connection, models: Sequence[str]) -> Counters:
    """Sums the counters of models over their versions: nanoseconds by part, numbers of requests and executions."""
    return {model: _totals(await connection.statistics(model)) for model in models}


def _totals(answer: service_pb2.ModelStatisticsResponse) -> dict[str, int]:
    totals = dict.fromkeys((*_SERVER_PARTS, "success", "requests", "inferences", "executions"), 0)
    for version in answer.model_stats:
        for part in _SERVER_PARTS:
            totals[part] += getattr(version.inference_stats, part).ns
        totals["success"] += version.inference_stats.success.ns
        totals["requests"] += version.inference_stats.success.count
        totals["inferences"] += version.inference_count
        totals["executions"] += version.execution_count
    return totals


async def steps_of(connection: Connection, model: str) -> list[str]:
    """Lists the models that an ensemble runs, each once, in order; none for another model."""
    found: dict[str, None] = {}
    for step in (await connection.config(model)).ensemble_scheduling.step:
        found |= dict.fromkeys((step.model_name, *await steps_of(connection, step.model_name)))
    return list(found)


def latency_parts(measured: Measured) -> dict[str, float]:
    """Splits the mean latency: milliseconds by part, in the order of :data:`PARTS`.

    An ensemble's own counters hold the whole of its steps as ``compute_infer``, less what waited in its own queue. A
    model that answers after Triton has counted its request, as ``asr`` does, is believed what it says that it computed;
    what a request waited inside it is in ``network``.
    """
    answers = measured.window.answers
    delta = next(iter(_deltas(measured).values()))
    server = _server_parts(delta)
    whole = delta["success"] / max(1, delta["requests"]) / 1e6
    if not any(server.values()):
        server["compute_infer"] = whole
    told = 1000 * sum(answer.compute for answer in answers) / len(answers)
    server["compute_infer"] = max(server["compute_infer"], told)
    send, receive = (1000 * sum(getattr(a, side) for a in answers) / len(answers) for side in ("send", "receive"))
    total = 1000 * measured.window.mean_latency
    network = max(0.0, total - send - receive - max(whole, sum(server.values())))
    return {"client_send": send, "network": network, **server, "client_receive": receive}


def step_parts(measured: Measured) -> dict[str, dict[str, float]]:
    """Splits the time of each step of an ensemble: milliseconds of a request by part, by the step's name."""
    return {model: _server_parts(delta) for model, delta in list(_deltas(measured).items())[1:]}


def mean_batch(measured: Measured) -> float:
    """Items that the server computed at a time."""
    delta = next(iter(_deltas(measured).values()))
    return delta["inferences"] / delta["executions"] if delta["executions"] else 0.0


def _deltas(measured: Measured) -> Counters:
    return {
        model: {name: count - measured.before[model][name] for name, count in counters.items()}
        for model, counters in measured.after.items()
    }


def _server_parts(delta: Mapping[str, int]) -> dict[str, float]:
    return {part: delta[part] / max(1, delta["requests"]) / 1e6 for part in _SERVER_PARTS}
