"""A recognizer that counts, and what asks an engine around it."""

from __future__ import annotations

from concurrent.futures import Future
from typing import TYPE_CHECKING

import numpy as np

from engines.asr.search.alternatives import rank_texts
from engines.asr.serving.recognizer import Alternative, TimedWord
from engines.asr.serving.requests import AsrRequest, AsrResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engines.asr.errors import AsrError
    from engines.asr.serving.engine import AsrEngine
    from engines.asr.serving.recognizer import Hint
    from engines.asr.serving.utterance import ScoredText, Utterance


class CountingRecognizer:
    """Transcribes an utterance as the number of its samples, and remembers its batches and the drafts in them."""

    max_seconds = 48.0
    is_streaming = False

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.drafts: list[list[list[int]]] = []
        self.searches: list[tuple[list[int], bool]] = []
        self.patience: list[float] = []
        self.log: list[str] = []
        self.biased: list[tuple[Hint, ...]] = []
        self.made: Future[object] = Future()
        self.timed: list[list[int]] = []
        self.failing = False

    def bias(self, hints: tuple[Hint, ...]) -> Future[object]:
        self.biased.append(hints)
        if not self.made.done():
            self.made.set_result(object())
        return self.made

    def search(
        self, utterances: Sequence[Utterance], *, thorough: bool, hints_seconds: float
    ) -> list[list[Alternative]]:
        self.log.append("search")
        self.patience.append(hints_seconds)
        self.searches.append(([len(utterance.audio) for utterance in utterances], thorough))
        return [
            [Alternative((len(utterance.audio) + i,), -1.0 - i, -float(i)) for i in range(utterance.wanted + 1)]
            for utterance in utterances
        ]

    def covered_samples(self, samples: int) -> int:
        return samples

    def transcribe(self, utterances: Sequence[Utterance], *, thorough: bool) -> list[list[int]]:
        if self.failing:
            raise RuntimeError("the model broke")
        self.log.append("transcribe")
        self.batches.append([len(utterance.audio) for utterance in utterances])
        self.drafts.append([list(utterance.tokens) for utterance in utterances])
        return [[len(utterance.audio)] for utterance in utterances]

    def time_words(self, utterances: Sequence[Utterance]) -> list[tuple[TimedWord, ...]]:
        self.log.append("time_words")
        self.timed.append([len(utterance) for utterance in utterances])
        return [(TimedWord(str(len(utterance)), 0, len(utterance)),) for utterance in utterances]

    def rank(self, alternatives: Sequence[Alternative], wanted: int) -> tuple[ScoredText, ...]:
        return rank_texts([(self.text(found.tokens), found) for found in alternatives], wanted)

    def text(self, tokens: Sequence[int]) -> str:
        return f"{tokens[0]} samples"


def request(sequence_id: int, count: int, **flags: bool) -> AsrRequest:
    return AsrRequest(sequence_id, np.zeros(count, np.float32), **flags)


def answers(engine: AsrEngine, requests: Sequence[AsrRequest]) -> list[AsrResult | AsrError]:
    """All answers, in the order of the requests."""
    found = dict(engine.process(requests))
    assert len(found) == len(requests)
    return [found[index] for index in range(len(requests))]


def ask(engine: AsrEngine, *requests: AsrRequest) -> AsrResult:
    answer = answers(engine, requests)[-1]
    assert isinstance(answer, AsrResult)
    return answer
