"""What a load says: latencies, and whether what was spoken is answered as well as what is typed."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from statistics import fmean
from typing import TYPE_CHECKING, TypeAlias

import jiwer

from benchmarks import markdown
from benchmarks.sla.report import percentiles
from modelkit.evaluation.normalizers import make_normalizer
from modelkit.scoring import answer_f1, exact_match

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from benchmarks.sla.load import LoadResult
    from benchmarks.speechsquad.asking import Asked
    from benchmarks.speechsquad.questions import Ending
    from modelkit.squad import Question

Report: TypeAlias = dict[str, object]


def make_report(result: LoadResult[list[Asked]], ending: Ending, typed: Mapping[str, str]) -> Report:
    """Sums a load up.

    Args:
        result: what all streams saw.
        ending: how the questions ended.
        typed: the answers to the same questions when they are typed, by the questions' identifiers.

    Returns:
        ``ending``, ``streams``, ``seconds``, ``questions``, ``replies``, ``lost`` (questions without a reply),
        ``errors`` by code, ``latency_ms`` with ``answer``, ``first_text`` and ``reply`` as :class:`Asked` has them,
        ``exact_match`` and ``f1`` beside ``typed_exact_match`` and ``typed_f1`` (of the same questions, 0 to 1; what
        is not answered scores 0), ``wer``, ``split`` (questions with more than one reply), ``speculated`` (share of
        replies), ``client_cpu`` (the busiest client process, in cores) and ``client_lag_ms``.
    """
    asked = list(chain.from_iterable(result.records))
    answered = [one for one in asked if one.replies]
    questions = [one.question for one in asked]
    spoken = {one.question.id: one.text for one in asked}
    return {
        "ending": ending.value,
        "streams": len(result.records),
        "seconds": round(result.seconds, 1),
        "questions": len(asked),
        "replies": len(answered),
        "lost": len(asked) - len(answered),
        "errors": dict(Counter(one.error for one in asked if one.error is not None)),
        "latency_ms": {
            "answer": _latency(one.answer for one in asked),
            "first_text": _latency(one.first_text for one in asked),
            "reply": _latency(one.reply for one in asked),
        },
        "exact_match": _mean(exact_match, questions, spoken),
        "f1": _mean(answer_f1, questions, spoken),
        "typed_exact_match": _mean(exact_match, questions, typed),
        "typed_f1": _mean(answer_f1, questions, typed),
        "wer": _wer(asked),
        "split": sum(one.replies > 1 for one in asked),
        "speculated": round(fmean(one.speculated for one in answered), 4) if answered else None,
        "client_cpu": round(result.client_cpu, 3),
        "client_lag_ms": round(1000 * max((one.late_sending for one in asked), default=0.0), 1),
    }


def within_budget(report: Report, budget_ms: float) -> bool:
    """Whether the load was carried: every question answered, and 95 of 100 replies inside the budget."""
    latency = report["latency_ms"]
    assert isinstance(latency, dict)
    return not report["errors"] and not report["lost"] and latency["reply"].get("p95", float("inf")) <= budget_ms


def table(reports: Sequence[Report]) -> str:
    """Writes SpeechSquad's table in Markdown, a row a load; latencies in milliseconds, scores in percent."""
    names = ("mean", "p50", "p90", "p95", "p99")
    heads = ("ending", "streams", "questions", *names, "reply p95")
    judged = ("EM", "F1", "typed EM", "typed F1", "WER", "not answered")
    rows = []
    for report in reports:
        latency = report["latency_ms"]
        assert isinstance(latency, dict)
        scores = ("exact_match", "f1", "typed_exact_match", "typed_f1", "wer")
        rows.append(
            [str(report[name]) for name in ("ending", "streams", "questions")]
            + [_whole(latency["answer"].get(name)) for name in names]
            + [_whole(latency["reply"].get("p95"))]
            + [_percent(report[name]) for name in scores]
            + [str(report["lost"])]
        )
    return markdown.table((*heads, *judged), rows)


def _latency(seconds: Iterable[float | None]) -> dict[str, float | int]:
    known = [value for value in seconds if value is not None]
    mean = {"mean": round(1000 * fmean(known), 1)} if known else {}
    return {**percentiles(known), **mean}


def _mean(
    score: Callable[[str, Sequence[str]], float], questions: Sequence[Question], answers: Mapping[str, str]
) -> float | None:
    """Averages a score of SQuAD's over questions; None where there are none."""
    scores = [score(answers[one.id], one.references) for one in questions]
    return round(fmean(scores), 4) if scores else None


def _wer(asked: Sequence[Asked]) -> float | None:
    """Word error rate of the questions that were held to their end; numbers may be words or figures."""
    normalize = make_normalizer("whisper-english")
    heard = [one for one in asked if one.error is None]
    if not heard:
        return None
    pairs = [(normalize(one.question.text), normalize(one.transcript)) for one in heard]
    return round(float(jiwer.wer([said for said, _ in pairs], [got for _, got in pairs])), 4)


def _whole(value: object) -> str:
    return f"{value:.0f}" if isinstance(value, float) else "-"


def _percent(value: object) -> str:
    return f"{100 * value:.1f}" if isinstance(value, float) else "-"
