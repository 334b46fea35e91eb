"""What the study compares, and under which loads."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pipelines.models.triton import ModelSettings

if TYPE_CHECKING:
    from collections.abc import Mapping

INTENT, QA, ASR = "intent_slot_bert", "qa_bert", "asr"
NETWORKS = (INTENT, QA)

_BASE = ModelSettings(instances=1, threads=2, dynamic_batching=True, queue_delay_microseconds=0)
_NO_BATCHING = ModelSettings(instances=1, threads=2, dynamic_batching=False)

BASE = "base"
VARIANTS: Mapping[str, ModelSettings] = {
    BASE: _BASE,
    "no_batching": _NO_BATCHING,
    "delay_100us": replace(_BASE, queue_delay_microseconds=100),
    "delay_1ms": replace(_BASE, queue_delay_microseconds=1000),
    "delay_5ms": replace(_BASE, queue_delay_microseconds=5000),
    "thread": replace(_BASE, threads=1),
    "instances_thread": replace(_BASE, instances=2, threads=1),
    "instances": replace(_BASE, instances=2),
}
"""Settings of a BERT model, by the suffix of the name under which Triton serves it."""

DESCRIPTIONS: Mapping[str, str] = {
    BASE: "one instance, two threads, batches without delay",
    "no_batching": "no dynamic batching",
    "delay_100us": "queue delay of 100 µs",
    "delay_1ms": "queue delay of 1 ms",
    "delay_5ms": "queue delay of 5 ms",
    "thread": "one thread",
    "instances_thread": "two instances of one thread",
    "instances": "two instances of two threads",
}

ASR_VARIANTS: Mapping[str, ModelSettings] = {BASE: ModelSettings(threads=1), "threads": ModelSettings(threads=2)}


@dataclass(frozen=True, slots=True)
class ClosedLoad:
    """So many callers of one network, each of which asks again when it has its answer.

    Attributes:
        callers: how many.
        batch_size: rows that each sends at a time.
    """

    callers: int
    batch_size: int

    def __str__(self) -> str:
        callers = "1 caller" if self.callers == 1 else f"{self.callers} callers"
        return f"{callers}, batch {self.batch_size}"


LOADS = (ClosedLoad(1, 1), ClosedLoad(8, 1), ClosedLoad(1, 8))
"""Alone; what dynamic batching is for; and a batch that the caller makes (static batching)."""


@dataclass(frozen=True, slots=True)
class Mix:
    """Variants of all three models that work at the same time."""

    bert: str
    asr: str = BASE

    def __str__(self) -> str:
        return f"{DESCRIPTIONS[self.bert]}; recognition with {'two threads' if self.asr != BASE else 'one thread'}"


MIXES = (Mix(BASE), Mix("thread"), Mix("instances_thread"), Mix("delay_1ms"), Mix("no_batching"), Mix(BASE, "threads"))
MIX_RATES: Mapping[str, float] = {INTENT: 10.0, QA: 4.0}
"""Requests a second to the BERTs while one caller keeps recognition busy."""


def served_name(model: str, variant: str) -> str:
    """Names a variant of a model in Triton."""
    return f"{model}.{variant}"
