"""What a load says: percentiles, errors, and whether the results were as good as ever while it was fast."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from statistics import fmean
from typing import TYPE_CHECKING, TypeAlias

import jiwer
import numpy as np

from benchmarks.words import WORDS
from modelkit.scoring import answer_f1
from vivavoce import ReplyStatus

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from benchmarks.sla.caller import Record
    from benchmarks.sla.load import LoadResult

PERCENTILES = (50, 90, 95, 99, 99.9)
CARRIED = 0.95
"""Share of the replies that must be complete."""
Report: TypeAlias = dict[str, object]


def make_report(result: LoadResult[Record]) -> Report:
    """Sums a load up.

    Returns:
        ``streams``, ``seconds``, ``utterances`` (of a conversation that was not held, as many as were replied to),
        ``replies``, ``lost`` (utterances of held conversations without a reply), ``cut`` (utterances that were taken
        for over before their last sound), ``errors`` by code, ``latency_ms`` with ``turn``, ``voice_to_voice``,
        ``interruption``, ``reply``, ``chunk``, ``first_partial``, ``server``, ``overhead`` and ``refusal``,
        ``statuses`` (at the end of the budget), ``completed_late`` (replies that were whole after it; in ``latency_ms``
        ``completed``, from the last sound), ``speculated`` (share of replies), ``wer``, ``answer_f1`` (None where
        nothing was asked), ``client_cpu`` (the busiest client process, in cores) and ``client_lag_ms`` (the longest
        that sending lagged behind the pace of speech).
    """
    records = result.records
    held = [record for record in records if record.error is None]
    replies = sum(sum(record.statuses.values()) for record in records)
    return {
        "streams": len(records),
        "seconds": round(result.seconds, 1),
        "utterances": sum(
            record.utterances if record.error is None else sum(record.statuses.values()) for record in records
        ),
        "replies": replies,
        "lost": sum(record.lost for record in held),
        "cut": sum(record.cut for record in records),
        "errors": dict(Counter(record.error for record in records if record.error is not None)),
        "latency_ms": {
            "turn": percentiles(chain.from_iterable(record.turn for record in records)),
            "voice_to_voice": percentiles(chain.from_iterable(record.voice_to_voice for record in records)),
            "interruption": percentiles(chain.from_iterable(record.interruption for record in records)),
            "reply": percentiles(chain.from_iterable(record.reply for record in records)),
            "completed": percentiles(chain.from_iterable(record.completed for record in records)),
            "chunk": percentiles(chain.from_iterable(record.chunk for record in records)),
            "first_partial": percentiles(chain.from_iterable(record.first_partial for record in records)),
            "server": percentiles(chain.from_iterable(record.server for record in records)),
            "overhead": percentiles(chain.from_iterable(record.overhead for record in records)),
            "refusal": percentiles(record.refusal for record in records if record.refusal is not None),
        },
        "statuses": dict(sum((Counter(record.statuses) for record in records), Counter())),
        "completed_late": sum(len(record.completed) for record in records),
        "speculated": round(sum(record.speculated for record in records) / replies, 4) if replies else None,
        "wer": _wer(held),
        "answer_f1": _answer_f1(held),
        "client_cpu": round(result.client_cpu, 3),
        "client_lag_ms": round(1000 * max(record.late_sending for record in records), 1),
    }


def percentiles(seconds: Iterable[float]) -> dict[str, float | int]:
    """Gives percentiles in milliseconds, ``p50`` to ``p99.9`` and ``max``, and how many values there were."""
    values = 1000 * np.fromiter(seconds, np.float64)
    if not values.size:
        return {"n": 0}
    named = {f"p{percentile:g}": round(float(np.percentile(values, percentile)), 1) for percentile in PERCENTILES}
    return {"n": values.size, **named, "max": round(float(values.max()), 1)}


def _wer(held: Sequence[Record]) -> float | None:
    """Word error rate over whole conversations, so that it does not matter how speech was cut into turns."""
    spoken = [record for record in held if record.reference]
    if not spoken:
        return None
    references, hypotheses = [r.reference for r in spoken], [r.transcript.strip() for r in spoken]
    return round(jiwer.wer(references, hypotheses, WORDS, WORDS), 4)


def _answer_f1(held: Sequence[Record]) -> float | None:
    pairs = [pair for record in held for pair in record.answers]
    return round(fmean(answer_f1(got, [wanted]) for wanted, got in pairs), 4) if pairs else None


def within_budget(report: Report, budget_ms: float) -> bool:
    """Whether the load was carried: no error, nothing lost, and 95 of 100 replies complete and inside the budget.

    A reply that leaves stages out is always in time, and no sign of capacity.
    """
    latency, statuses, replies = report["latency_ms"], report["statuses"], report["replies"]
    assert isinstance(latency, dict)
    assert isinstance(statuses, dict)
    assert isinstance(replies, int)
    if statuses.get(ReplyStatus.COMPLETE.value, 0) < CARRIED * replies:
        return False
    return not report["errors"] and not report["lost"] and latency["reply"].get("p95", float("inf")) <= budget_ms
