"""Word errors of what was heard again, and percentiles of what was measured."""

from __future__ import annotations

import re
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

import jiwer

from benchmarks.words import WORDS
from pipelines.speech.cleaning import clean
from pipelines.speech.verbalizing.written import in_words

if TYPE_CHECKING:
    from collections.abc import Sequence

_POINT_IN_TIME = re.compile(r"\b(\d{1,2})\.(\d\d)(?=\s?[ap]\.?m\b)", re.IGNORECASE)
"""Our recognizer writes "4.30 p.m." where others write "4:30 p.m."."""
_SAME = {"o'clock": "", "okay": "ok", "grey": "gray", "mister": "mr", "missus": "mrs", "doctor": "dr"}


@dataclass(frozen=True, slots=True)
class Spoken:
    """One sentence, spoken and heard again.

    Attributes:
        text: what was to be spoken.
        heard: what our recognizer wrote.
        first_audio_seconds: from sending the text to the first audio at the client.
        cpu_seconds: of the voice's process, for the whole sentence.
        seconds: length of the speech.
    """

    text: str
    heard: str
    first_audio_seconds: float
    cpu_seconds: float
    seconds: float


def words(text: str) -> str:
    """Returns a text in words: figures in what was written and in what was heard are spoken the same way."""
    spoken = in_words(_POINT_IN_TIME.sub(r"\1:\2", clean(text))).lower()
    bare = re.sub(r"[^a-z0-9' ]+", " ", spoken.replace("p.m", "pm").replace("a.m", "am"))
    return " ".join(" ".join(_SAME.get(word, word) for word in bare.split()).split())


def summary(spoken: Sequence[Spoken]) -> dict[str, object]:
    """Sums up what was spoken."""
    reference, heard = [words(one.text) for one in spoken], [words(one.heard) for one in spoken]
    errors = jiwer.process_words(reference, heard, reference_transform=WORDS, hypothesis_transform=WORDS)
    first = sorted(1_000 * one.first_audio_seconds for one in spoken)
    cpu = sorted(1_000 * one.cpu_seconds for one in spoken)
    seconds = sum(one.seconds for one in spoken)
    wrong = [{"spoken": one, "heard": other} for one, other in zip(reference, heard, strict=True) if one != other]
    return {
        "sentences": len(spoken),
        "speech_seconds": round(seconds, 1),
        "word_error_rate": round(errors.wer, 4),
        "first_audio_ms": {"p50": round(statistics.median(first), 1), "p95": round(first[_at(first, 0.95)], 1)},
        "cpu_ms_a_sentence": {"p50": round(statistics.median(cpu), 1), "p95": round(cpu[_at(cpu, 0.95)], 1)},
        "cpu_seconds_a_second_of_speech": round(sum(one.cpu_seconds for one in spoken) / seconds, 4),
        "wrong": wrong,
    }


def _at(values: Sequence[float], share: float) -> int:
    return min(len(values) - 1, int(share * len(values)))
