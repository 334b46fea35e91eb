"""What is measured on a GPU, and what is hoped for. Weights are random: their values change no time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from engines.bert.gpu.network import NetworkShape
from engines.bert.gpu.precision import Precision

if TYPE_CHECKING:
    from collections.abc import Mapping

SERVER = "server"
"""The phase that starts Triton: where it fails, the others do without."""

LOGIT_LIMITS = {
    Precision.FLOAT32: 1e-3,
    Precision.FLOAT16: 0.02,
    Precision.BFLOAT16: 0.06,
    Precision.FP8: 0.25,
    Precision.INT8: 0.15,
}
"""Largest relative error of a network's logits beside float32, for random weights and up to 24 layers. What computes
something else is off by about 1; what 8 bits do to answers is told by a trained network
(lab/docs/performance_journal.md)."""


@dataclass(frozen=True, slots=True)
class Goal:
    """What is hoped for.

    Attributes:
        rows_per_second: at least.
        latency_ms: 99th percentile that a caller sees, at most; None where nothing is asked.
        compute_ms: 99th percentile of the time in the model, at most; likewise.
    """

    rows_per_second: float
    latency_ms: float | None = None
    compute_ms: float | None = None


@dataclass(frozen=True, slots=True)
class ChainGoal:
    """What is hoped for of whole conversations.

    Attributes:
        reply_p99_ms: from the end of a turn to the reply, 99th percentile at most.
        turn_p95_ms: from the last sound to the reply, 95th percentile at most.
    """

    reply_p99_ms: float
    turn_p95_ms: float


@dataclass(frozen=True, slots=True)
class Case:
    """A network under load.

    Attributes:
        name: of the phase, and of the network's Triton model.
        title: for people.
        shape: of the network.
        length: tokens of every row.
        rows: of a request.
        callers: numbers of callers to try, each with one request under way.
        batch: rows that Triton may join to one batch.
        precisions: to try in process; the fastest that is right is served. int8 is slower than half precision on an
            H100 (1,407 and 1,989 rows a second of BERT-large), so nobody would serve it there.
        instances: copies of the model to try; none where it is not served.
        goal: if there is one.
        mixed: also send rows of mixed lengths, padded to ``length``, with as many callers as carried most.
    """

    name: str
    title: str
    shape: NetworkShape
    length: int
    rows: int
    callers: tuple[int, ...]
    batch: int
    precisions: tuple[Precision, ...] = (Precision.FLOAT16, Precision.BFLOAT16, Precision.FP8)
    instances: tuple[int, ...] = (1, 2)
    goal: Goal | None = None
    mixed: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """How long and how large everything is.

    Attributes:
        device: of PyTorch.
        seconds: that one load is measured.
        matrix: side of the square matrices of the ceilings.
        cases: networks under load.
        streams: conversations of the whole chain at a time, one load after another; none where it is not measured.
        recognizers: instances of recognition that share the device, each with its own memory; tried in turn.
        chain_seconds: how long the conversations last.
        chain_goal: for their latencies.
        limits: seconds that each phase may take, and longer where those before it left some.
    """

    device: str
    seconds: float
    matrix: int
    cases: tuple[Case, ...]
    streams: tuple[int, ...]
    recognizers: tuple[int, ...]
    chain_seconds: float
    chain_goal: ChainGoal
    limits: Mapping[str, float]

    @property
    def phases(self) -> tuple[str, ...]:
        """Names of the phases, in order."""
        served = any(case.instances for case in self.cases)
        first = (SERVER,) if served else ()
        chain = ("chain",) if self.streams else ()
        return (*first, "ceilings", "correctness", "recognition", *chain, *(case.name for case in self.cases))

    def case(self, name: str) -> Case:
        """Finds a network by the name of its phase."""
        return next(case for case in self.cases if case.name == name)


_THREE_LAYERS = Case(
    "three_layers", "BERT, 3 layers of width 768, sequence 128, batch 64",
    NetworkShape(768, 3, 12, 3072, positions=128), length=128, rows=64, callers=(4, 8, 16), batch=256,
    goal=Goal(60_000, compute_ms=6.0),
)  # fmt: skip
_BASE = Case(
    "base", "BERT-base, sequence 128",
    NetworkShape(768, 12, 12, 3072, positions=128), length=128, rows=8, callers=(4, 16, 64), batch=128,
)  # fmt: skip
_LARGE = Case(
    "large", "BERT-large, sequence 384, dynamic batching",
    NetworkShape(1024, 24, 16, 4096, positions=384), length=384, rows=1, callers=(64, 128, 192), batch=96,
    goal=Goal(2_400, latency_ms=100.0), mixed=True,
)  # fmt: skip
_LIMITS = {
    SERVER: 30, "ceilings": 20, "correctness": 40, "recognition": 75, "chain": 130, "large": 85, "three_layers": 55,
    "base": 45,
}  # fmt: skip
"""480 seconds together."""

FULL = Plan(
    "cuda:0", 3.0, 8192, (_LARGE, _THREE_LAYERS, _BASE), (64, 128, 256), (1, 4), 20.0, ChainGoal(150.0, 500.0), _LIMITS
)
"""For an H200, within eight minutes."""


def _tiny(case: Case) -> Case:
    """The same with a network that a CPU computes in no time."""
    shape = NetworkShape(64, min(case.shape.layers, 3), 4, 128, vocabulary=1000, positions=32)
    return replace(
        case, shape=shape, length=32, rows=min(case.rows, 4), callers=(2,), batch=8, instances=(1,),
        precisions=(Precision.FLOAT16, Precision.FP8),
    )  # fmt: skip


DRY = Plan(
    "cpu", 0.5, 256, (_tiny(_LARGE), _tiny(_THREE_LAYERS)), (1, 2), (1,), 6.0, FULL.chain_goal,
    dict.fromkeys(FULL.limits, 150.0),
)  # fmt: skip
"""Every kind of step once, on a CPU: whether it works, not how fast."""


def choose_plan(*, dry_run: bool, without_server: bool) -> Plan:
    """Returns what is measured.

    Args:
        dry_run: on a CPU.
        without_server: what needs no Triton alone.
    """
    plan = DRY if dry_run else FULL
    if not without_server:
        return plan
    return replace(plan, cases=tuple(replace(case, instances=()) for case in plan.cases), streams=())
