from __future__ import annotations

from concurrent.futures import Future
from typing import TYPE_CHECKING

import numpy as np
import pytest

from engines.asr.engine import AsrEngine
from engines.asr.errors import (
    AsrError,
    InvalidAudioError,
    InvalidHintsError,
    UnknownSequenceError,
    UtteranceTooLongError,
)
from engines.asr.features import SAMPLES_PER_FRAME, encoder_frames
from engines.asr.hints import Hint
from engines.asr.requests import LONGEST_UTTERANCE_SECONDS, AsrRequest, AsrResult, AsrSettings
from engines.asr.search_ports import Alternative
from engines.asr.utterance import SAMPLE_RATE
from engines.asr.word_times import TimedWord
from modelkit.moonshine_graph import MAX_POSITIONS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engines.asr.utterance import Utterance
    from tests.virtual_time import Clock


class CountingRecognizer:
    """Transcribes an utterance as the number of its samples, and remembers its batches and the drafts in them."""

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

    def transcribe(self, utterances: Sequence[Utterance]) -> list[list[int]]:
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

    def text(self, tokens: Sequence[int]) -> str:
        return f"{tokens[0]} samples"


@pytest.fixture
def recognizer() -> CountingRecognizer:
    return CountingRecognizer()


@pytest.fixture
def engine(recognizer: CountingRecognizer, clock: Clock) -> AsrEngine:
    settings = AsrSettings(partial_interval_seconds=0.4, max_utterance_seconds=2, idle_timeout_seconds=60)
    return AsrEngine(recognizer, settings, clock)


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


def test_nothing_is_decoded_before_the_interval(engine: AsrEngine, recognizer: CountingRecognizer) -> None:
    assert ask(engine, request(1, 6399, start=True)) == AsrResult("", False, 0, 0.0)
    assert recognizer.batches == []
    answer = ask(engine, request(1, 1))
    assert answer.transcript == "6400 samples"
    assert answer.decoded_samples == 6400
    assert answer.compute_ms > 0


def test_the_interval_counts_from_the_last_decoding(engine: AsrEngine, recognizer: CountingRecognizer) -> None:
    ask(engine, request(1, 8000, start=True))
    answer = ask(engine, request(1, 6000))
    assert (answer.transcript, answer.decoded_samples, answer.compute_ms) == ("8000 samples", 8000, 0.0)
    assert ask(engine, request(1, 400)).transcript == "14400 samples"
    assert recognizer.batches == [[8000], [14400]]


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
    assert ask(engine, request(1, 0, start=True, end=True)) == AsrResult("", True, 0, 0.0)
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


HINTS = (Hint("latte"),)


def hinted(sequence_id: int, count: int, alternatives: int = 1, **flags: bool) -> AsrRequest:
    audio = np.zeros(count, np.float32)
    return AsrRequest(sequence_id, audio, hints=HINTS, alternatives=alternatives, start=True, **flags)


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


def test_an_utterance_is_at_most_what_the_graphs_have_positions_for() -> None:
    settings = AsrSettings(max_utterance_seconds=LONGEST_UTTERANCE_SECONDS)
    longest = round((settings.max_utterance_seconds + 1) * SAMPLE_RATE)
    assert encoder_frames(longest // SAMPLES_PER_FRAME) <= MAX_POSITIONS
    with pytest.raises(ValueError, match="max_utterance_seconds must be at most 48, not 60"):
        AsrSettings(max_utterance_seconds=60)


@pytest.mark.parametrize("name", ["partial_interval_seconds", "max_utterance_seconds", "idle_timeout_seconds"])
@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf")])
def test_settings_are_positive(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=name):
        AsrSettings(**{name: value})


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
