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


CHUNK = 1_000


@dataclass
class Cache:
    position: int = 0
    tokens: list[int] = field(default_factory=list)


class StreamingRecognizer:
    """Its tokens are the sums of the chunks that it has worked on, each once, and at the end of what is left."""

    max_seconds = 60.0
    is_streaming = True

    def __init__(self) -> None:
        self.worked_on: list[int] = []

    def covered_samples(self, samples: int) -> int:
        return samples // CHUNK * CHUNK

    def transcribe(self, utterances: Sequence[Utterance], *, thorough: bool) -> list[list[int]]:
        texts = []
        for utterance in utterances:
            utterance.state = cache = utterance.state or Cache()
            new = utterance.audio[cache.position : self.covered_samples(len(utterance))]
            self.worked_on.append(len(new))
            cache.position += len(new)
            cache.tokens += [round(float(np.sum(chunk))) for chunk in new.reshape(-1, CHUNK)]
            rest = utterance.audio[cache.position :]
            texts.append([*cache.tokens, *([round(float(np.sum(rest)))] if thorough and len(rest) else [])])
        return texts

    def search(self, utterances: Sequence[Utterance], *, thorough: bool, **_: object) -> list[list[Alternative]]:
        return [[Alternative(tuple(tokens), 0.0, 0.0)] for tokens in self.transcribe(utterances, thorough=thorough)]

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


def test_caches_live_as_long_as_their_sequence_and_each_chunk_is_worked_on_once():
    recognizer = StreamingRecognizer()
    engine = AsrEngine(recognizer, AsrSettings())
    assert ask(engine, said(1, 2_000, start=True)).transcript == "1000 1000", "whole chunks do not wait for an interval"
    assert ask(engine, said(2, 100, start=True, decode=True)).transcript == "100"
    assert ask(engine, said(1, 500, end=True)).transcript == "1000 1000 500"
    assert ask(engine, said(1, 700, start=True, end=True)).transcript == "700", "the cache of a sequence that is over"
    assert recognizer.worked_on == [2_000, 0, 0, 0]


def test_a_text_of_whole_chunks_never_takes_the_place_of_one_to_the_last_sample():
    engine = AsrEngine(StreamingRecognizer(), AsrSettings())
    texts = [
        ask(engine, said(1, count, start=index == 0, decode=index == 1))
        for index, count in enumerate((900, 950, 100, 40, 20))
    ]
    assert [text.transcript for text in texts] == ["", "1000 850", "1000 850", "1000 850", "1000 1000"]
    assert [text.decoded_samples for text in texts] == [0, 1_850, 1_850, 1_850, 2_000]


def test_the_end_without_new_audio_still_takes_the_rest_in():
    engine = AsrEngine(StreamingRecognizer(), AsrSettings())
    assert ask(engine, said(1, 1_300, start=True)).transcript == "1000"
    assert ask(engine, said(1, 0, end=True)).transcript == "1000 300"
