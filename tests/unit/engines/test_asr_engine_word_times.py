from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from engines.asr.serving.recognizer import TimedWord
from engines.asr.serving.requests import AsrResult
from tests.unit.engines.counting_recognizer import answers, ask, request

if TYPE_CHECKING:
    from engines.asr.serving.engine import AsrEngine
    from tests.unit.engines.counting_recognizer import CountingRecognizer


def test_words_are_timed_once_the_text_is_final_and_only_where_that_is_wanted(
    engine: AsrEngine, recognizer: CountingRecognizer
) -> None:
    answers(engine, [request(1, 16_000, start=True, word_times=True), request(2, 16_000, start=True)])
    assert recognizer.timed == []
    timed, plain = answers(engine, [request(1, 0, end=True), request(2, 0, end=True)])
    assert isinstance(timed, AsrResult)
    assert isinstance(plain, AsrResult)
    assert recognizer.timed == [[16_000]]
    assert timed.words == (TimedWord("16000", 0, 16_000),)
    assert timed.compute_ms > 0
    assert (plain.words, plain.compute_ms) == ((), 0)


@pytest.mark.parametrize("new", [0, 50])
def test_words_are_timed_after_the_texts_that_others_wait_for(
    engine: AsrEngine, recognizer: CountingRecognizer, new: int
) -> None:
    ask(engine, request(1, 16_000, start=True, decode=True, word_times=True))
    recognizer.log.clear()
    for index, _ in engine.process([request(1, new, end=True), request(2, 100, start=True, decode=True)]):
        recognizer.log.append(f"answer {index}")
    assert recognizer.log == ["transcribe", "answer 1", "time_words", "answer 0"]


def test_words_are_timed_before_texts_that_may_still_change(engine: AsrEngine, recognizer: CountingRecognizer) -> None:
    ask(engine, request(1, 100, start=True, decode=True, word_times=True))
    recognizer.log.clear()
    answers(engine, [request(2, 16_000, start=True), request(1, 0, end=True)])
    assert recognizer.log == ["time_words", "transcribe"]
