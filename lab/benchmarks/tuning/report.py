"""What a search has found, for people, programs and ``vivavoce serve``."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rich.table import Table

from benchmarks.tuning.outcome import Measured, held, pareto_front
from benchmarks.tuning.picture import plot
from benchmarks.tuning.space import DEFAULT
from service.triton.settings import to_toml

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from benchmarks.tuning.search import Found


def write_settings(found: Found, path: Path, machine: str, budget_ms: float, engines: Sequence[Path] = ()) -> None:
    """Writes the best candidate as a settings file, all of it or nothing.

    Args:
        found: what was found.
        path: of the file.
        machine: that it was found on.
        budget_ms: what replies must keep.
        engines: engine directories that the best candidate is served with.
    """
    heading = f"Written by `vivavoce tune` for {machine}, replies within {budget_ms:g} ms.\n{_verdict(found)}"
    if found.best.stages():
        served = " ".join(f"--engine {engine}" for engine in engines)
        heading += f"\nOf {found.best}: serve with {served}"
    sibling = path.with_name(f".{path.name}.{os.getpid()}")
    sibling.write_text(to_toml(found.best.models(), heading), encoding="utf-8")
    sibling.replace(path)


def write_report(found: Found, path: Path, machine: str, budget_ms: float, memory_mb: float | None) -> Path:
    """Writes what was found as Markdown with a picture, beside the settings file; returns the page."""
    page, picture = path.with_suffix(".report.md"), path.with_suffix(".report.png")
    plot(found, budget_ms, memory_mb, picture)
    bound = "" if memory_mb is None else f", and within {memory_mb:g} MB"
    settings = to_toml(found.best.models()).strip() or "# as shipped"
    parts = [
        "# Tuning of this machine",
        f"{machine}; replies within {budget_ms:g} ms{bound}.\n{_verdict(found)}",
        f"```toml\n{settings}\n```",
        f"![Latency against conversations, and memory against latency]({picture.name})",
        "## The best loads\n\n" + _markdown(pareto_front(found.points)),
    ]
    if found.check is not None:
        pairs = zip((found.best, DEFAULT), found.check, strict=True)
        checks = [Measured(candidate, found.carried_streams, outcome) for candidate, outcome in pairs]
        parts.append("## With conversations that nothing was chosen by\n\n" + _markdown(checks))
    parts.append("## Everything that was measured\n\n" + _markdown(found.points))
    page.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return page


def _markdown(points: Sequence[Measured]) -> str:
    heads = ("settings", "conversations", "p50, ms", "p95, ms", "missed", "WER", "answer F1", "memory, MB", "bounds")
    lines = [heads, ("---", *["--:"] * (len(heads) - 2), "---")]
    for point in points:
        outcome = point.outcome
        kept = outcome.complaint or ("kept" if outcome.holds else "latency" if outcome.fits else "memory")
        memory = f"{outcome.memory_mb:.0f}"
        lines.append((str(point.candidate), str(point.streams), *figures(point), memory, kept.replace("|", "/")))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _verdict(found: Found) -> str:
    fitting = [point for point in found.points if point.outcome.fits]
    if found.points and not fitting:
        least = min((point.outcome.memory_mb for point in found.points if not point.outcome.complaint), default=0)
        verdict = f"Nothing that was tried fits into the memory: the least took {least:.0f} MB, so nothing is set."
    elif not found.confirmed and found.best == DEFAULT:
        verdict = f"Undecided, so nothing is set: run `vivavoce tune` again {_limits(found)}, and it goes on."
    elif not found.confirmed:
        verdict = "Not compared with the default in turns: run `vivavoce tune` again, and it goes on."
    elif found.best == DEFAULT:
        verdict = "Nothing that was tried beats what is shipped, so nothing is set."
    else:
        loads = " and ".join(map(str, found.loads))
        verdict = f"Better than what is shipped with {loads} conversations at a time."
    return verdict


def verdict_line(found: Found) -> str:
    """Names the winner, or tells how much time a decision takes."""
    if found.confirmed:
        return f"winner: {found.best}"
    each = f"one round takes about {found.enough.round_minutes:.1f} minutes here; " if found.enough else ""
    return f"undecided: {each}run the same command {_limits(found)}; what was measured counts, and it goes on"


def _limits(found: Found) -> str:
    if found.enough is None:
        return "with more --minutes"
    one, every = found.enough.minutes, found.enough.all_minutes
    longer = f", or with --minutes {every} to try all {found.enough.moves} changes" if every > one else ""
    return f"with --minutes {one} for one comparison{longer}"


def as_dict(point: Measured) -> dict[str, object]:
    """Gives a measurement as JSON has it."""
    outcome = point.outcome
    return {
        "settings": point.candidate.told(),
        "streams": point.streams,
        "carried": outcome.carried,
        "missed": outcome.missed,
        "reply_ms": {"p50": outcome.p50_ms, "p95": outcome.p95_ms},
        "wer": outcome.wer,
        "answer_f1": outcome.answer_f1,
        "memory_mb": outcome.memory_mb,
        "fits": outcome.fits,
        "seconds": outcome.took_seconds,
        **({"complaint": outcome.complaint} if outcome.complaint else {}),
    }


def summary(found: Found, path: Path) -> dict[str, object]:
    """Gives the result of a search as JSON has it."""
    return {
        "winner": found.best.told(),
        "confirmed": found.confirmed,
        **({"enough_minutes": found.enough.minutes} if found.enough and not found.confirmed else {}),
        "compared_at_streams": found.loads,
        "held": {"winner": held(found.points, found.best), "default": held(found.points, DEFAULT)},
        **({"check": _checked(found)} if found.check else {}),
        "front": [as_dict(point) for point in pareto_front(found.points)],
        "settings": str(path),
    }


def _checked(found: Found) -> dict[str, object]:
    assert found.check is not None
    pairs = zip(("winner", "default"), (found.best, DEFAULT), found.check, strict=True)
    return {name: as_dict(Measured(candidate, found.carried_streams, outcome)) for name, candidate, outcome in pairs}


def front_table(found: Found) -> Table:
    """Shows the loads that were carried and that no other one beats."""
    table = Table(title="Pareto front: conversations held against reply latency", title_justify="left")
    for name in ("conversations", "p50, ms", "p95, ms", "missed", "WER", "answer F1"):
        table.add_column(name, justify="right")
    table.add_column("settings")
    for point in pareto_front(found.points):
        table.add_row(str(point.streams), *figures(point), str(point.candidate))
    return table


def line(point: Measured) -> str:
    """Writes a measurement on a line."""
    subject = f"{point.streams} conversations, {point.candidate}"
    if point.outcome.complaint:
        return f"{subject}: {point.outcome.complaint}"
    p50, p95, missed, wer, _ = figures(point)
    verdict = "carried" if point.outcome.carried else "not carried"
    over = "" if point.outcome.fits else ", too much memory"
    return f"{subject}: {verdict}, reply p50 {p50} ms, p95 {p95} ms, {missed} missed, WER {wer}{over}"


def figures(point: Measured) -> tuple[str, ...]:
    """Writes what was measured: p50 and p95 in milliseconds, missed replies, word error rate, answer F1."""
    outcome = point.outcome
    shares = (outcome.missed, outcome.wer, outcome.answer_f1)
    return (
        f"{outcome.p50_ms:.0f}",
        f"{outcome.p95_ms:.0f}",
        *("-" if share is None else f"{share:.1%}" for share in shares),
    )
