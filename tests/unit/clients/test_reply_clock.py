"""From which moment a reply is waited for."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from pipelines.vad.endpointing import EndpointingConfig
from pipelines.vad.voice_activity import WINDOW_SECONDS
from vivavoce import EndReason, Latency, Notice, NoticeCode, Reply, ReplyStatus, SpeechEnded
from vivavoce._reply_clock import ReplyClock


def _reply(turn: int, request_id: str = "") -> Reply:
    latency = Latency(0.0, ())
    return Reply(turn, "", None, (), None, ReplyStatus.COMPLETE, (), latency, speculated=False, request_id=request_id)


def _clock_after(chunk_count: int, stop_window_seconds: float = 0.6) -> ReplyClock:
    """A clock that saw chunks of 100 ms, each at the moment in which it was complete."""
    clock = ReplyClock(stop_window_seconds)
    for number in range(1, chunk_count + 1):
        clock.audio_sent(0.1, moment=number * 0.1)
    return clock


def test_silence_counts_from_the_chunk_that_completes_the_stop_window() -> None:
    clock = _clock_after(20)
    clock.speech_ended(SpeechEnded(1, 1.024, EndReason.SILENCE))  # 1.024 + 0.608 lies in the 17th chunk.

    assert clock.latency_seconds(_reply(1), moment=1.75) == pytest.approx(0.05)


def test_silence_that_the_server_tells_counts_in_place_of_the_stop_window() -> None:
    clock = _clock_after(20)
    clock.speech_ended(SpeechEnded(1, 1.024, EndReason.SILENCE, silence_seconds=0.224))  # 1.248 lies in the 13th chunk.

    assert clock.latency_seconds(_reply(1), moment=1.35) == pytest.approx(0.05)


def test_a_turn_counts_from_the_last_sound() -> None:
    clock = _clock_after(20)
    clock.speech_ended(SpeechEnded(1, 1.024, EndReason.SILENCE, silence_seconds=0.224))  # It lies in the 11th chunk.

    assert clock.turn_seconds(_reply(1), moment=1.35) == pytest.approx(0.25)
    assert clock.turn_seconds(_reply(2), moment=1.35) is None


def test_what_completes_a_reply_counts_from_the_same_moments() -> None:
    clock = _clock_after(20)
    clock.speech_ended(SpeechEnded(1, 1.024, EndReason.SILENCE, silence_seconds=0.224))
    clock.requested("typed", moment=1.0)
    for turn, request_id, sent in ((1, "", 1.3), (2, "typed", 1.0)):
        partial = replace(_reply(turn, request_id), status=ReplyStatus.PARTIAL)
        assert clock.latency_seconds(partial, moment=1.6) == pytest.approx(1.6 - sent)
        whole = replace(_reply(turn, request_id), completes=True)
        assert clock.latency_seconds(whole, moment=2.6) == pytest.approx(2.6 - sent)
        assert clock.turn_seconds(whole, moment=2.6) == pytest.approx(2.6 - (1.1 if turn == 1 else 1.0))
        assert clock.latency_seconds(whole, moment=2.6) is None, "nothing is kept of what is whole"


def test_an_end_on_the_border_of_a_chunk_belongs_to_that_chunk() -> None:
    clock = _clock_after(20, stop_window_seconds=0.8)
    clock.speech_ended(SpeechEnded(1, 0.8, EndReason.SILENCE))

    assert clock.latency_seconds(_reply(1), moment=1.75) == pytest.approx(0.15)


@pytest.mark.parametrize("stop_window_seconds", [0.128, 0.3, 0.5, 0.608, 0.7, 1.0, 1.5])
def test_the_stop_window_is_as_long_as_the_servers(stop_window_seconds: float) -> None:
    windows = EndpointingConfig(stop_window_seconds=stop_window_seconds).stop_windows
    for end in range(10, 60):
        clock = _clock_after(100, stop_window_seconds)
        clock.speech_ended(SpeechEnded(1, end * WINDOW_SECONDS, EndReason.SILENCE))

        completed = math.ceil((end + windows) * WINDOW_SECONDS / 0.1 - 1e-6) * 0.1
        assert clock.latency_seconds(_reply(1), moment=10.0) == pytest.approx(10.0 - completed)


def test_silence_is_unknown_when_the_server_was_faster_than_its_window() -> None:
    clock = _clock_after(12)
    clock.speech_ended(SpeechEnded(1, 1.0, EndReason.SILENCE))

    assert clock.latency_seconds(_reply(1), moment=1.25) is None


def test_silence_is_unknown_where_bytes_do_not_tell_durations() -> None:
    clock = ReplyClock(0.6)
    clock.speech_ended(SpeechEnded(1, 1.0, EndReason.SILENCE))

    assert clock.latency_seconds(_reply(1), moment=2.0) is None


def test_half_close_counts_from_the_half_close() -> None:
    clock = _clock_after(5)
    clock.half_closed(0.5)
    clock.speech_ended(SpeechEnded(1, 0.4, EndReason.HALF_CLOSE))

    assert clock.latency_seconds(_reply(1), moment=0.7) == pytest.approx(0.2)


def test_a_request_to_end_counts_from_its_own_sending() -> None:
    clock = ReplyClock(0.6)
    for moment, name in ((1.0, "a"), (2.0, "b"), (3.0, "c")):
        clock.requested(name, moment)
    clock.speech_ended(SpeechEnded(1, 0.9, EndReason.REQUESTED, "a"))
    clock.notice(Notice(NoticeCode.NO_SPEECH, "Nobody spoke.", None, "b"))
    clock.speech_ended(SpeechEnded(2, 2.9, EndReason.REQUESTED, "c"))

    assert clock.latency_seconds(_reply(1, "a"), moment=1.5) == pytest.approx(0.5)
    assert clock.latency_seconds(_reply(2, "c"), moment=3.25) == pytest.approx(0.25)
    assert clock._requests == {}


def test_a_server_that_names_no_requests_leaves_their_latency_unknown() -> None:
    clock = _clock_after(5)
    clock.requested("end", 1.0)
    clock.speech_ended(SpeechEnded(1, 0.4, EndReason.REQUESTED))

    assert clock.latency_seconds(_reply(1), moment=1.2) is None


def test_requests_that_are_never_answered_take_bounded_memory() -> None:
    clock = ReplyClock(0.6)
    for number in range(5_000):
        clock.requested(f"typed-{number}", number)

    assert len(clock._requests) == 4_096
    assert clock.latency_seconds(_reply(1, "typed-4999"), moment=5_000.0) == pytest.approx(1.0)
    assert clock.latency_seconds(_reply(2, "typed-0"), moment=5_000.0) is None


def test_typed_turns_count_from_their_own_sending_among_spoken_ones() -> None:
    clock = _clock_after(5)
    clock.requested("typed", 0.2)
    clock.half_closed(0.5)
    clock.speech_ended(SpeechEnded(2, 0.4, EndReason.HALF_CLOSE))

    assert clock.latency_seconds(_reply(1, "typed"), moment=0.3) == pytest.approx(0.1)
    assert clock.latency_seconds(_reply(2), moment=0.6) == pytest.approx(0.1)
    assert clock.latency_seconds(_reply(3), moment=0.7) is None


def test_typed_turns_may_be_answered_in_another_order() -> None:
    clock = _clock_after(5)
    for moment, name in ((0.0, "a"), (0.2, "b"), (0.3, "c")):
        clock.requested(name, moment)
    assert clock.latency_seconds(_reply(4, "c"), moment=0.7) == pytest.approx(0.4)
    assert clock.latency_seconds(_reply(2, "b"), moment=0.28) == pytest.approx(0.08)
    assert clock.latency_seconds(_reply(1, "a"), moment=0.29) == pytest.approx(0.29)


def test_a_day_of_audio_takes_no_more_memory_than_minutes() -> None:
    clock = _clock_after(50_000)

    assert len(clock._audio_moments) < 5_000
    clock.speech_ended(SpeechEnded(1, 4_999.0, EndReason.SILENCE))
    assert clock.latency_seconds(_reply(1), moment=5_000.0) == pytest.approx(0.3, abs=1e-6)
