"""Judges transcripts that may still change: how much of them stays, and how soon the first right word comes."""

from __future__ import annotations

import re
import statistics
import time
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from modelkit.evaluation.concurrency import bounded_map
from modelkit.evaluation.outcome import DECIMALS, Case, Evaluation, share
from modelkit.evaluation.recordings import Clip, read_clip

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from modelkit.evaluation.concurrency import OnProgress
    from modelkit.evaluation.engines import FollowingEngines
    from modelkit.evaluation.outcome import Json

MAX_PHRASE_WORDS = 8
REPEATS = 3
"""A phrase that stands so many times in a row counts as repeated."""

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")


@dataclass(frozen=True, slots=True)
class Followed:
    """One turn as it was heard at the pace of speech.

    Attributes:
        partials: seconds after the onset of speech at which a transcript that may still change came, and its text.
        final: the final text.
    """

    partials: tuple[tuple[float, str], ...]
    final: str


async def evaluate_partials(
    engines: FollowingEngines,
    recordings: Sequence[Path],
    *,
    prefix_seconds: float | None,
    concurrency: int,
    on_progress: OnProgress,
) -> Evaluation:
    """Lets the engines hear every recording at the pace of speech, and cut off at every ``prefix_seconds``.

    Args:
        engines: what is judged.
        recordings: what is heard.
        prefix_seconds: a text is also made of the beginnings of each recording, one this much longer than the other;
            None: of the whole alone.
        concurrency: how many recordings are heard at a time.
        on_progress: called whenever one is done.
    """

    async def hear(path: Path) -> tuple[list[Followed], list[str]]:
        clip = read_clip(path)
        turns = await engines.follow(clip)
        return turns, [
            text for beginning in _beginnings(clip, prefix_seconds) for text in await engines.texts(beginning)
        ]

    began = time.monotonic()
    heard = await bounded_map(hear, recordings, concurrency, on_progress)
    seconds = time.monotonic() - began
    turns = [turn for found, _ in heard for turn in found]
    cut = [text for _, texts in heard for text in texts]
    cases = [_case(path, found, texts) for path, (found, texts) in zip(recordings, heard, strict=True)]
    return Evaluation("partials", len(recordings), score_partials(turns, cut), seconds, cases)


def score_partials(turns: Sequence[Followed], cut: Sequence[str] = ()) -> dict[str, Json]:
    """Scores turns.

    Returns:
        Of the words in partial transcripts the shares that the next one, and the final text, have in the same place.
        ``first_right_word_ms``, median and mean: time from the onset of speech to the first transcript with a word of
        the final text in its place; ``never_right`` counts the turns without one. ``repeated_partials`` and
        ``repeated_finals`` count texts in which a word or phrase stands three times in a row.
    """
    by_next = [_kept(before, after) for turn in turns for before, after in pairwise(_texts(turn))]
    by_final = [_kept(text, turn.final) for turn in turns for _, text in turn.partials]
    first = [_first_right(turn) for turn in turns if words(turn.final)]
    known = [1000 * seconds for seconds in first if seconds is not None]
    partials = [text for turn in turns for _, text in turn.partials]
    return {
        "partials": len(partials),
        "kept_by_next": share(sum(kept for kept, _ in by_next), sum(count for _, count in by_next)),
        "kept_by_final": share(sum(kept for kept, _ in by_final), sum(count for _, count in by_final)),
        "first_right_word_ms_median": round(statistics.median(known)) if known else None,
        "first_right_word_ms_mean": round(statistics.fmean(known)) if known else None,
        "never_right": len(first) - len(known),
        "finals": len(turns) + len(cut),
        "repeated_partials": sum(map(repeats, partials)),
        "repeated_finals": sum(map(repeats, [*(turn.final for turn in turns), *cut])),
    }


def words(text: str) -> list[str]:
    """Returns what texts are compared by: words without case and punctuation."""
    return _WORD.findall(text.casefold())


def repeats(text: str) -> bool:
    """Whether a word or phrase stands three times in a row."""
    spoken = words(text)
    return any(
        spoken[at : at + size] * REPEATS == spoken[at : at + size * REPEATS]
        for size in range(1, MAX_PHRASE_WORDS + 1)
        for at in range(len(spoken) - size * REPEATS + 1)
    )


def _texts(turn: Followed) -> list[str]:
    return [*(text for _, text in turn.partials), turn.final]


def _kept(before: str, after: str) -> tuple[int, int]:
    """Counts the words of ``before`` that ``after`` has in the same place, and all of them."""
    told, later = words(before), words(after)
    return sum(one == other for one, other in zip(told, later, strict=False)), len(told)


def _first_right(turn: Followed) -> float | None:
    return next((at for at, text in turn.partials if _kept(text, turn.final)[0]), None)


def _beginnings(clip: Clip, prefix_seconds: float | None) -> list[Clip]:
    if prefix_seconds is None:
        return []
    step = max(1, round(prefix_seconds * clip.sample_rate_hz))
    return [replace(clip, samples=clip.samples[:stop]) for stop in range(step, len(clip.samples), step)]


def _case(path: Path, turns: Sequence[Followed], cut: Sequence[str]) -> Case:
    kept = score_partials(turns)["kept_by_final"]
    bad = [text for text in [*(text for turn in turns for text in _texts(turn)), *cut] if repeats(text)]
    got: Json = {"repeated": bad, "partials": [[text for _, text in turn.partials] for turn in turns]}
    score = 0.0 if bad else round(float(kept), DECIMALS) if isinstance(kept, float) else 1.0
    return Case(path.name, [turn.final for turn in turns], got, score)
