from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from engines.asr.errors import (
    AsrError,
    InvalidAudioError,
    UnknownSequenceError,
    UtteranceTooLongError,
)
from engines.asr.moonshine.features import SAMPLES_PER_FRAME, encoder_frames
from engines.asr.moonshine.model import MoonshineRecognizer
from engines.asr.serving.engine import AsrEngine
from engines.asr.serving.requests import AsrRequest, AsrResult, AsrSettings
from engines.asr.serving.utterance import SAMPLE_RATE
from engines.build.moonshine_graph import MAX_POSITIONS
from tests.unit.engines.counting_recognizer import answers, ask, request

if TYPE_CHECKING:
    from tests.unit.engines.counting_recognizer import CountingRecognizer
    from tests.virtual_time import Clock


def test_nothing_is_decoded_before_the_interval(engine: AsrEngine, recognizer: CountingRecognizer) -> None:
    assert ask(engine, request(1, 6399, start=True)) == AsrResult("", False, 0, 0.0, language="en")
    assert recognizer.batches == []
    answer = ask(engine, request(1, 1))
    assert answer.transcript == "6400 samples"
    assert answer.decoded_samples == 6400
    assert answer.compute_ms > 0


def test_the_interval_counts_from_the_last_decoding(engine: AsrEngine, recognizer: CountingRecognizer) -> None:
    ask(engine, request(1, 16000, start=True))
    answer = ask(engine, request(1, 6000))
    assert (answer.transcript, answer.decoded_samples, answer.compute_ms) == ("16000 samples", 16000, 0.0)
    assert ask(engine, request(1, 400)).transcript == "22400 samples"
    assert recognizer.batches == [[16000], [22400]]


def test_the_second_text_comes_sooner(engine: AsrEngine, recognizer: CountingRecognizer) -> None:
    ask(engine, request(1, 9600, start=True))
    ask(engine, request(1, 3200))
    ask(engine, request(1, 3200))
    ask(engine, request(1, 3200))
    assert recognizer.batches == [[9600], [12800], [19200]]


def test_decode_asks_for_everything_now(engine: AsrEngine) -> None:
    answer = ask(engine, request(1, 100, start=True, decode=True))
    assert answer.transcript == "100 samples"
    assert not answer.is_final


def test_end_decodes_and_frees(engine: AsrEngine) -> None:
    ask(engine, request(1, 100, start=True))
    answer = ask(engine, request(1, 50, end=True))
    assert (answer.transcript, answer.is_final, answer.decoded_samples) == ("150 samples", True, 150)
    assert engine.open_sequences == 0


def test_start_and_end_in_one_request(engine: AsrEngine) -> None:
    answer = ask(engine, request(1, 100, start=True, end=True))
    assert (answer.transcript, answer.is_final) == ("100 samples", True)
    assert engine.open_sequences == 0


@pytest.mark.parametrize("flags", [{"end": True}, {"decode": True}])
def test_what_was_decoded_is_not_decoded_again(
    engine: AsrEngine, recognizer: CountingRecognizer, flags: dict[str, bool]
) -> None:
    ask(engine, request(1, 100, start=True, decode=True))
    answer = ask(engine, request(1, 0, **flags))
    assert (answer.transcript, answer.decoded_samples, answer.compute_ms) == ("100 samples", 100, 0.0)
    assert len(recognizer.batches) == 1


def test_a_sequence_without_audio_is_empty(engine: AsrEngine, recognizer: CountingRecognizer) -> None:
    assert ask(engine, request(1, 0, start=True, end=True)) == AsrResult("", True, 0, 0.0, language="en")
    assert recognizer.batches == []


def test_what_is_asked_for_is_decoded_before_what_may_still_change(
    engine: AsrEngine, recognizer: CountingRecognizer
) -> None:
    found = answers(
        engine,
        [
            request(1, 7000, start=True),
            request(2, 10, start=True),
            request(3, 20, start=True, end=True),
            request(4, 30, start=True, decode=True),
        ],
    )
    assert recognizer.batches == [[20, 30], [7000]]
    assert [answer.transcript for answer in found if isinstance(answer, AsrResult)] == [
        "7000 samples", "", "20 samples", "30 samples",
    ]  # fmt: skip
    times = [answer.compute_ms for answer in found if isinstance(answer, AsrResult)]
    assert times[2] == times[3] > 0
    assert times[0] > 0
    assert times[1] == 0


def test_a_busy_engine_works_out_what_may_still_change_while_no_other_worker_computes(
    recognizer: CountingRecognizer, clock: Clock
) -> None:
    engine = AsrEngine(recognizer, AsrSettings(partial_interval_seconds=0.4, workers=2), clock)
    ask(engine, request(1, 100, start=True))
    ask(engine, request(2, 100, start=True))
    busy = engine.process([request(1, 100, decode=True)])
    next(busy)
    assert ask(engine, request(2, 6400)).transcript == "6500 samples", "there is time for both"
    clock.seconds += 20
    other = engine.process([request(3, 100, start=True)])
    next(other)
    clock.seconds += 20
    other.close()
    assert engine.partials.stretch > 1
    assert ask(engine, request(2, 64_000)).decoded_samples == 6500
    busy.close()
    assert ask(engine, request(2, 0)).transcript == "70500 samples"


def test_the_last_hypothesis_is_the_draft_of_the_next(engine: AsrEngine, recognizer: CountingRecognizer) -> None:
    ask(engine, request(1, 7000, start=True))
    ask(engine, request(1, 7000))
    ask(engine, request(1, 100, start=True, decode=True))
    assert recognizer.drafts == [[[]], [[7000]], [[]]]


def test_start_replaces_a_sequence(engine: AsrEngine) -> None:
    ask(engine, request(1, 7000, start=True))
    assert ask(engine, request(1, 100, start=True, end=True)).transcript == "100 samples"


def test_requests_of_one_sequence_in_one_batch_keep_their_order(engine: AsrEngine) -> None:
    first, second, third = answers(
        engine,
        [request(1, 100, start=True, end=True), request(1, 200, start=True, decode=True), request(1, 50, end=True)],
    )
    assert isinstance(first, AsrResult)
    assert isinstance(second, AsrResult)
    assert isinstance(third, AsrResult)
    assert [answer.transcript for answer in (first, second, third)] == ["100 samples", "200 samples", "250 samples"]


def test_a_refused_request_leaves_the_others_alone(engine: AsrEngine) -> None:
    ask(engine, request(2, 31_000, start=True))
    nan = AsrRequest(1, np.array([np.nan], np.float32), start=True)
    found = answers(engine, [nan, request(2, 31_000), request(3, 10), request(4, 10, start=True, decode=True)])
    assert [type(answer) for answer in found] == [
        InvalidAudioError, UtteranceTooLongError, UnknownSequenceError, AsrResult,
    ]  # fmt: skip


def test_a_sequence_goes_on_after_a_refused_request(engine: AsrEngine) -> None:
    answers(engine, [AsrRequest(1, np.array([np.inf], np.float32), start=True)])
    assert ask(engine, request(1, 100, end=True)).transcript == "100 samples"


def test_a_refused_end_still_frees(engine: AsrEngine) -> None:
    [answer] = answers(engine, [AsrRequest(1, np.array([np.nan], np.float32), start=True, end=True)])
    assert isinstance(answer, AsrError)
    assert engine.open_sequences == 0


def test_the_margin_over_the_longest_utterance_is_a_second(engine: AsrEngine) -> None:
    assert ask(engine, request(1, 48_000, start=True)).decoded_samples == 48_000
    [answer] = answers(engine, [request(1, 1)])
    assert isinstance(answer, UtteranceTooLongError)


def test_idle_sequences_are_freed_by_any_request(engine: AsrEngine, clock: Clock) -> None:
    ask(engine, request(1, 10, start=True))
    clock.seconds = 61
    ask(engine, request(2, 10, start=True))
    assert engine.open_sequences == 1
    [answer] = answers(engine, [request(1, 10)])
    assert isinstance(answer, UnknownSequenceError)


def test_a_model_that_fails_keeps_no_ended_sequence(engine: AsrEngine, recognizer: CountingRecognizer) -> None:
    recognizer.failing = True
    with pytest.raises(RuntimeError, match="broke"):
        answers(engine, [request(1, 10, start=True, end=True)])
    assert engine.open_sequences == 0


def test_an_utterance_is_at_most_what_the_graphs_have_positions_for(recognizer: CountingRecognizer) -> None:
    longest = round((MoonshineRecognizer.max_seconds + 1) * SAMPLE_RATE)
    assert encoder_frames(longest // SAMPLES_PER_FRAME) <= MAX_POSITIONS
    with pytest.raises(ValueError, match="max_utterance_seconds must be at most 48, not 60"):
        AsrEngine(recognizer, AsrSettings(max_utterance_seconds=60))


@pytest.mark.parametrize("name", ["partial_interval_seconds", "max_utterance_seconds", "idle_timeout_seconds"])
@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf")])
def test_settings_are_positive(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=name):
        AsrSettings(**{name: value})
