"""Judges recognition: word and character error rate."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import jiwer

from modelkit.evaluation.concurrency import bounded_map
from modelkit.evaluation.outcome import DECIMALS, Case, Evaluation
from modelkit.evaluation.recordings import read_clip

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from modelkit.evaluation.concurrency import OnProgress
    from modelkit.evaluation.engines import SpeechEngines
    from modelkit.evaluation.outcome import Json
    from modelkit.evaluation.recordings import Spoken
    from vivavoce import PhraseHints


async def evaluate_asr(
    engines: SpeechEngines,
    items: Sequence[Spoken],
    normalize: Callable[[str], str],
    *,
    hints: Sequence[PhraseHints],
    one_utterance: bool,
    concurrency: int,
    on_progress: OnProgress,
) -> Evaluation:
    """Lets the engines hear every recording, and compares what they heard with what was said, both normalized."""

    async def hear(item: Spoken) -> str:
        turns = await engines.hear(read_clip(item.path), hints, one_utterance=one_utterance)
        return " ".join(turn.transcript for turn in turns)

    began = time.monotonic()
    heard = await bounded_map(hear, items, concurrency, on_progress)
    seconds = time.monotonic() - began
    references = [normalize(item.text) for item in items]
    hypotheses = [normalize(text) for text in heard]
    cases = [
        Case(item.path.name, item.text, got, round(1 - error_rate(*pair), DECIMALS))
        for item, got, pair in zip(items, heard, zip(references, hypotheses, strict=True), strict=True)
    ]
    return Evaluation("asr", len(items), score_transcripts(references, hypotheses), seconds, cases)


def score_transcripts(references: list[str], hypotheses: list[str]) -> dict[str, Json]:
    """Scores normalized transcripts: errors of the whole set over words, or characters, of the whole set."""
    words = jiwer.process_words(references, hypotheses)
    return {
        "wer": round(float(words.wer), DECIMALS),
        "cer": round(float(jiwer.process_characters(references, hypotheses).cer), DECIMALS),
        "substitutions": words.substitutions,
        "deletions": words.deletions,
        "insertions": words.insertions,
        "words": words.hits + words.substitutions + words.deletions,
    }


def error_rate(reference: str, hypothesis: str) -> float:
    """Word error rate of one transcript."""
    return float(jiwer.process_words(reference, hypothesis).wer)
