from __future__ import annotations

from concurrent.futures import Future
from typing import TYPE_CHECKING

import numpy as np
import pytest

from engines.asr.errors import (
    InvalidHintsError,
    UnknownSequenceError,
)
from engines.asr.serving.recognizer import Hint
from engines.asr.serving.requests import AsrRequest, AsrResult
from tests.unit.engines.counting_recognizer import answers, ask, request

if TYPE_CHECKING:
    from engines.asr.serving.engine import AsrEngine
    from tests.unit.engines.counting_recognizer import CountingRecognizer
    from tests.virtual_time import Clock


HINTS = (Hint("latte"),)


def hinted(sequence_id: int, count: int, alternatives: int = 1, **flags: bool) -> AsrRequest:
    audio = np.zeros(count, np.float32)
    return AsrRequest(sequence_id, audio, hints=HINTS, alternatives=alternatives, start=True, **flags)


def test_what_may_still_change_waits_for_hints_that_are_not_ready_and_nobody_else_does(
    engine: AsrEngine, recognizer: CountingRecognizer
) -> None:
    made: Future[object] = Future()
    recognizer.bias = lambda _: made
    hinted = AsrRequest(1, np.zeros(8000, np.float32), start=True, hints=(Hint("latte"),))
    waiting, other = answers(engine, [hinted, request(2, 9000, start=True)])
    assert (waiting.transcript, other.transcript) == ("", "9000 samples")
    made.set_result(object())
    assert ask(engine, request(1, 0)).transcript == "8000 samples"


def test_only_sequences_with_hints_or_alternatives_are_searched(
    engine: AsrEngine, recognizer: CountingRecognizer
) -> None:
    plain, with_hints, with_alternatives = answers(
        engine,
        [
            request(1, 100, start=True, end=True),
            hinted(2, 200, end=True),
            AsrRequest(3, np.zeros(300, np.float32), start=True, end=True, alternatives=2),
        ],
    )
    assert recognizer.batches == [[100]]
    assert recognizer.searches == [([200, 300], True)]
    assert recognizer.biased == [HINTS]
    assert isinstance(plain, AsrResult)
    assert isinstance(with_hints, AsrResult)
    assert isinstance(with_alternatives, AsrResult)
    assert plain.alternatives == ()
    assert [found.text for found in with_hints.alternatives] == ["200 samples"]
    assert [found.text for found in with_alternatives.alternatives] == ["300 samples", "301 samples"]
    assert with_alternatives.alternatives[0].confidence > with_alternatives.alternatives[1].confidence > 0
    assert sum(found.confidence for found in with_alternatives.alternatives) < 1


def test_the_end_looks_thoroughly_at_what_was_only_looked_over(
    engine: AsrEngine, recognizer: CountingRecognizer
) -> None:
    partial = ask(engine, hinted(1, 6400))
    assert (partial.transcript, partial.alternatives) == ("6400 samples", ())
    final = ask(engine, request(1, 0, end=True))
    assert recognizer.searches == [([6400], False), ([6400], True)]
    assert [found.text for found in final.alternatives] == ["6400 samples"]
    assert final.compute_ms > 0


def test_what_was_guessed_in_a_pause_is_final_when_nothing_follows(
    engine: AsrEngine, recognizer: CountingRecognizer
) -> None:
    guessed = ask(engine, hinted(1, 100, alternatives=2, decode=True))
    final = ask(engine, request(1, 0, end=True))
    assert len(recognizer.searches) == 1
    assert final.compute_ms == 0
    assert (final.transcript, final.alternatives) == (guessed.transcript, guessed.alternatives)


@pytest.mark.parametrize("wanted", [0, -1, 11])
def test_a_number_of_alternatives_out_of_bounds_is_refused(engine: AsrEngine, wanted: int) -> None:
    [answer] = answers(engine, [hinted(1, 10, alternatives=wanted)])
    assert isinstance(answer, InvalidHintsError)
    assert "ALTERNATIVES" in str(answer)


@pytest.mark.parametrize(
    "refused",
    [{"alternatives": 11}, {"refusal": InvalidHintsError("PHRASE_HINTS holds 1,001 phrases.")}],
    ids=["alternatives", "hints"],
)
def test_a_refused_start_ends_what_was_open_under_its_id(engine: AsrEngine, refused: dict[str, object]) -> None:
    ask(engine, request(1, 7000, start=True))
    [answer] = answers(engine, [AsrRequest(1, np.zeros(100, np.float32), start=True, **refused)])
    assert isinstance(answer, InvalidHintsError)
    assert engine.open_sequences == 0
    [answer] = answers(engine, [request(1, 100, end=True)])
    assert isinstance(answer, UnknownSequenceError)


def test_who_waits_for_hints_keeps_nobody_waiting_and_all_wait_once(
    engine: AsrEngine, recognizer: CountingRecognizer, clock: Clock
) -> None:
    ready: Future[object] = Future()
    ready.set_result(object())
    biases = iter([Future(), ready, Future()])
    recognizer.bias = lambda _: next(biases)
    for index, _ in engine.process(
        [hinted(1, 100, end=True), hinted(2, 200, end=True), hinted(3, 300, alternatives=7, end=True)]
    ):
        recognizer.log.append(f"answer {index}")
    assert recognizer.log == ["search", "answer 1", "search", "answer 0", "answer 2"]
    assert recognizer.searches == [([200], True), ([100, 300], True)]
    assert recognizer.patience[1] == pytest.approx(0.3)


@pytest.mark.parametrize(("passed", "left"), [(0.1, 0.2), (5.0, 0.0)])
def test_hints_are_waited_for_from_the_start_on(
    engine: AsrEngine, recognizer: CountingRecognizer, clock: Clock, passed: float, left: float
) -> None:
    recognizer.bias = lambda _: Future()
    ask(engine, hinted(1, 100))
    clock.seconds += passed
    ask(engine, request(1, 0, end=True))
    assert recognizer.patience == [pytest.approx(left)]
