"""One run: material, scores of all systems, and what they come to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.turns import material, patience
from benchmarks.turns.report import SILENCE, curve, measures
from benchmarks.turns.sweep import silence_points, sweep
from benchmarks.turns.systems import OURS, Ours, SmartTurn, scores
from modelkit.turn.halves import recordings
from modelkit.turn.hearing import Hearing
from modelkit.turn.measures import auc
from pipelines.vad.turn_end import Patience

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import numpy.typing as npt

    from benchmarks.turns.material import Judged
    from benchmarks.turns.systems import System

    Scores = npt.NDArray[np.float64]

SPLICED_SECONDS = (0.5, 1.0)


def measure(data: Path, half: str, seed: int, say: Callable[[str], None]) -> dict[str, Any]:
    """Measures all systems on one half of the recordings in a folder.

    Args:
        data: the folder.
        half: ``tuning`` or ``reporting``.
        seed: of what is drawn.
        say: told what is done.

    Raises:
        DataError: the folder holds no recordings.
    """
    hearing = Hearing()
    real: list[Judged] = []
    made: list[Judged] = []
    for number, recording in enumerate(recordings(data, half), 1):
        real += material.natural(recording, hearing)
        made += material.spliced(recording, hearing, seed)
        if number % 20 == 0:
            say(f"{number} recordings heard")
    holds = [one for one in (*made, *real) if not one.pause.is_end]
    # Ends with the same silence as spliced pauses: how silence sounds must tell nothing.
    ends = [one for one in made if one.pause.is_end]
    real_ends = [one for one in real if one.pause.is_end]
    seconds = np.array([one.seconds for one in holds])
    found: dict[str, Any] = {
        "half": half,
        "seed": seed,
        "ends": len(ends),
        "pauses": len(holds),
        "natural_pauses": sum(not one.pause.is_spliced for one in holds),
        "systems": {SILENCE: _summary(silence_points(seconds))},
    }
    systems: tuple[System, ...] = (SmartTurn(), Ours())
    for system in systems:
        say(f"asking {system.name}")
        at_end, _ = scores(system, ends)
        in_pause, took = scores(system, holds)
        points = sweep(at_end, in_pause, seconds)
        first = {"auc": round(auc(at_end[:, 0], in_pause[:, 0]), 4), "judgement_ms": round(1000 * took, 1)}
        found["systems"][system.name] = first | _summary(points)
        if system.name == OURS:
            say("trying the patiences")
            found["patience"] = _patiences(system, real_ends, real, made)
    say("hearing narrations")
    found["narration"] = _narration(systems, material.narrated(hearing))
    return found


def _summary(points: Sequence[Any]) -> dict[str, Any]:
    return measures(points) | {"curve": curve(points)}


def _patiences(
    system: System, ends: Sequence[Judged], real: Sequence[Judged], made: Sequence[Judged]
) -> dict[str, dict[str, float]]:
    """Tells for each patience how often turns are cut, and after how much silence their real ends are told."""
    natural = [one for one in real if not one.pause.is_end]
    # Of a pause that was put in, all that is longer than what was drawn is there too.
    whole = [material.Judged(one.pause, one.text, one.pause.seconds) for one in made if not one.pause.is_end]
    at_end, in_natural, in_made = (scores(system, pauses)[0] for pauses in (ends, natural, whole))
    lasting = np.array([one.seconds for one in natural])
    found = {}
    for each in Patience:
        waits = 1000 * patience.waits(each, at_end)
        cut = patience.waits(each, in_natural) < lasting if natural else np.zeros(0, bool)
        turns = {one.pause.recording.name for one, is_cut in zip(natural, cut, strict=True) if is_cut}
        shares = {
            f"cut_at_{seconds:g}_s_percent": round(100 * patience.cut_share(each, in_made, seconds), 1)
            for seconds in SPLICED_SECONDS
        }
        found[each.value] = {
            "cut_turns_percent": round(100 * len(turns) / max(1, len(ends)), 1),
            **shares,
            "end_wait_p50_ms": round(float(np.percentile(waits, 50)), 1),
            "end_wait_p95_ms": round(float(np.percentile(waits, 95)), 1),
            "end_wait_mean_ms": round(float(waits.mean()), 1),
        }
    return found


def _narration(systems: Sequence[System], pauses: Sequence[Judged]) -> dict[str, Any]:
    """Tells how often systems take a narrator's pause for an end, at a half."""
    shares = {}
    for system in systems:
        first = scores(system, pauses)[0][:, 0] if pauses else np.zeros(0)
        shares[system.name] = round(100 * float((first >= 0.5).mean()), 1) if len(first) else None
    return {"pauses": len(pauses), "called_ends_percent": shares}
