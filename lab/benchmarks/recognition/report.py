"""What a race says: speed beside accuracy, and how ours stands to moonshine-voice's own runtime."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any

import jiwer

from benchmarks.recognition.contenders import EIGHT, MOONSHINE, ONE, OURS, SERVED
from benchmarks.recognition.race import speeds
from benchmarks.words import WORDS
from modelkit.evaluation.normalizers import make_normalizer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.recognition.material import Recording
    from benchmarks.recognition.race import Entry

    Json = dict[str, Any]

GOALS = {ONE: 1.0, EIGHT: 1.3}
"""How many times moonshine-voice's speed ours is to reach, by how many utterances there are at a time."""


def rows(entries: Sequence[Entry], recordings: Sequence[Recording], cores: int) -> list[Json]:
    """Describes each entry: its speed, its range over the passes, its computing time, and what it got wrong."""
    return [_row(entry, recordings, cores) for entry in entries]


def _row(entry: Entry, recordings: Sequence[Recording], cores: int) -> Json:
    measured = speeds(entry, recordings)
    spoken = sum(measured[i] * entry.pass_seconds[i] for i in range(len(measured)))
    heard = [
        " ".join(entry.texts[i, j] for j in range(len(recording.utterances))) for i, recording in enumerate(recordings)
    ]
    return {
        "system": entry.contender.system,
        "setting": entry.contender.setting,
        "cores": cores,
        "at_once": entry.at_once,
        "speed": round(statistics.median(measured), 2),
        "speed_range": [round(min(measured), 2), round(max(measured), 2)],
        "cpu_seconds_per_second": round(entry.cpu_seconds / spoken, 4),
        **accuracy(recordings, heard),
    }


def accuracy(recordings: Sequence[Recording], heard: Sequence[str]) -> Json:
    """Scores what was heard in each recording: word error rates, and the share of known phrases that are in it.

    ``wer`` is by ``benchmarks.words``; ``wer_whisper`` writes numbers in figures and contractions in full on both sides
    (the English normalizer of Whisper's authors), so that nobody pays for how they write.
    """
    normalize = make_normalizer("whisper-english")
    known = [(recording.text, text) for recording, text in zip(recordings, heard, strict=True) if recording.text]
    scores: Json = {}
    if known:
        references, hypotheses = (list(side) for side in zip(*known, strict=True))
        scores["wer"] = round(float(jiwer.wer(references, hypotheses, WORDS, WORDS)), 4)
        pairs = [normalize(text) for text in references], [normalize(text) for text in hypotheses]
        scores["wer_whisper"] = round(float(jiwer.wer(*pairs)), 4)
    found = [
        f" {normalize(value)} " in f" {normalize(text)} "
        for recording, text in zip(recordings, heard, strict=True)
        for value in recording.values
    ]
    if found:
        scores["values_heard"] = round(sum(found) / len(found), 4)
    return scores


def digit_errors(recordings: Sequence[Recording], heard: Sequence[str]) -> float:
    """Returns the share of digits that are wrong, missing or too many; how they are written makes no difference."""
    normalize = make_normalizer("whisper-english")
    sides = [[one.text or "" for one in recordings], heard]
    said, found = (["".join(filter(str.isdecimal, normalize(text))) for text in side] for side in sides)
    return round(float(jiwer.cer(said, found)), 4)


def against_moonshine(entries: Sequence[Entry], recordings: Sequence[Recording], cores: int) -> list[Json]:
    """Compares ours at its best with moonshine-voice's runtime at its best, pass by pass.

    Passes are compared one by one, since both met the same noise in each.
    """
    compared: list[Json] = []
    for at_once, goal in GOALS.items():
        theirs = _best(entries, MOONSHINE, at_once, recordings)
        for system in (OURS, SERVED):
            ours = _best(entries, system, at_once, recordings)
            if theirs is None or ours is None:
                continue
            pairs = zip(speeds(ours, recordings), speeds(theirs, recordings), strict=True)
            ratios = [own / other for own, other in pairs]
            compared.append(
                {
                    "cores": cores,
                    "at_once": at_once,
                    "ours": f"{ours.contender.system}, {ours.contender.setting}",
                    "theirs": theirs.contender.setting,
                    "times_as_fast": round(statistics.median(ratios), 2),
                    "range": [round(min(ratios), 2), round(max(ratios), 2)],
                    "goal": goal,
                    "reached": statistics.median(ratios) >= goal,
                }
            )
    return compared


def _best(entries: Sequence[Entry], system: str, at_once: int, recordings: Sequence[Recording]) -> Entry | None:
    own = [entry for entry in entries if entry.contender.system == system and entry.at_once == at_once]
    return max(own, key=lambda entry: statistics.median(speeds(entry, recordings)), default=None)


def table(found: Sequence[Json]) -> str:
    """Writes rows as text for people."""
    lines = [f"{'cores':>5} {'at once':>7}  {'speed':>7} {'range':>15} {'CPU s/s':>8} {'WER':>6} {'values':>7}  system"]
    for row in found:
        low, high = row["speed_range"]
        values = f"{row['values_heard']:7.1%}" if "values_heard" in row else f"{'-':>7}"
        lines.append(
            f"{row['cores']:5} {row['at_once']:7}  {row['speed']:7.1f} {f'{low:.1f} to {high:.1f}':>15} "
            f"{row['cpu_seconds_per_second']:8.3f} {row['wer']:6.1%} {values}  {row['system']}, {row['setting']}"
        )
    return "\n".join(lines)
