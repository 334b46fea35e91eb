"""A streaming recognizer behind the engine: it keeps a cache in the utterance's state and works on new audio alone."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from engines.asr.serving.engine import AsrEngine
from engines.asr.serving.recognizer import Alternative, TimedWord
from engines.asr.serving.requests import AsrSettings
from engines.asr.serving.utterance import ScoredText
from tests.unit.engines.counting_recognizer import ask, request

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engines.asr.serving.utterance import Utterance


@dataclass
class Cache:
    position: int = 0
    tokens: list[int] = field(default_factory=list)


class StreamingRecognizer:
    """Its tokens are the sums of the pieces of audio that it has worked on, each once."""

    def __init__(self) -> None:
        self.worked_on: list[int] = []

    def transcribe(self, utterances: Sequence[Utterance]) -> list[list[int]]:
        for utterance in utterances:
            utterance.state = cache = utterance.state or Cache()
            new = utterance.audio[cache.position :]
            self.worked_on.append(len(new))
            cache.position += len(new)
            cache.tokens.append(round(float(np.sum(new))))
        return [list(utterance.state.tokens) for utterance in utterances]

    def search(self, utterances: Sequence[Utterance], **_: object) -> list[list[Alternative]]:
        return [[Alternative(tuple(tokens), 0.0, 0.0)] for tokens in self.transcribe(utterances)]

    def bias(self, _: object) -> Future[None]:
        done: Future[None] = Future()
        done.set_result(None)
        return done

    def time_words(self, utterances: Sequence[Utterance]) -> list[tuple[TimedWord, ...]]:
        return [() for _ in utterances]

    def text(self, tokens: Sequence[int]) -> str:
        return " ".join(map(str, tokens))

    def rank(self, alternatives: Sequence[Alternative], wanted: int) -> tuple[ScoredText, ...]:
        return tuple(ScoredText(self.text(one.tokens), 0.0, 1.0) for one in alternatives[:wanted])


def said(sequence_id: int, count: int, **flags: bool):
    asked = request(sequence_id, count, **flags)
    asked.audio[:] = 1.0
    return asked


def test_caches_live_as_long_as_their_sequence_and_each_sample_is_worked_on_once():
    recognizer = StreamingRecognizer()
    engine = AsrEngine(recognizer, AsrSettings())
    ask(engine, said(1, 8_000, start=True))
    assert ask(engine, said(1, 8_000, decode=True)).transcript == "8000 8000"
    assert ask(engine, said(2, 100, start=True, decode=True)).transcript == "100"
    assert ask(engine, said(1, 500, end=True)).transcript == "8000 8000 500"
    assert ask(engine, said(1, 700, start=True, end=True)).transcript == "700", "the cache of a sequence that is over"
    assert sum(recognizer.worked_on) == 8_000 + 8_000 + 100 + 500 + 700
