"""From which moment a reply is waited for."""

from __future__ import annotations

import math

import pytest

from pipelines.vad.endpointing import EndpointingConfig
from pipelines.vad.voice_activity import WINDOW_SECONDS
from vivavoce import EndReason, Latency, Notice, NoticeCode, Reply, ReplyStatus, SpeechBegan, SpeechEnded
from vivavoce._reply_clock import ReplyClock


def _reply(turn: int) -> Reply:
    return Reply(turn, "", None, (), None, ReplyStatus.COMPLETE, (), Latency(0.0, ()), speculated=False)


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


def test_requests_to_end_are_answered_in_order() -> None:
    clock = ReplyClock(0.6)
    for moment in (1.0, 2.0, 3.0):
        clock.end_requested(moment)
    clock.speech_ended(SpeechEnded(1, 0.9, EndReason.REQUESTED))
    clock.notice(Notice(NoticeCode.NO_SPEECH, "Nobody spoke.", None))
    clock.speech_ended(SpeechEnded(2, 2.9, EndReason.REQUESTED))

    assert clock.latency_seconds(_reply(1), moment=1.5) == pytest.approx(0.5)
    assert clock.latency_seconds(_reply(2), moment=3.25) == pytest.approx(0.25)


def test_typed_turns_count_from_their_own_sending_among_spoken_ones() -> None:
    clock = _clock_after(5)
    clock.typed(0.2)
    clock.half_closed(0.5)
    clock.speech_began(SpeechBegan(2, 0.1))
    clock.speech_ended(SpeechEnded(2, 0.4, EndReason.HALF_CLOSE))

    assert clock.latency_seconds(_reply(1), moment=0.3) == pytest.approx(0.1)
    assert clock.latency_seconds(_reply(2), moment=0.6) == pytest.approx(0.1)
    assert clock.latency_seconds(_reply(3), moment=0.7) is None


def test_typed_turns_may_be_answered_in_another_order() -> None:
    clock = _clock_after(5)
    clock.typed(0.0)
    clock.typed(0.2)
    clock.speech_began(SpeechBegan(3, 0.1))
    clock.typed(0.3)
    assert clock.latency_seconds(_reply(4), moment=0.7) == pytest.approx(0.4)
    assert clock.latency_seconds(_reply(2), moment=0.28) == pytest.approx(0.08)
    assert clock.latency_seconds(_reply(1), moment=0.29) == pytest.approx(0.29)


def test_a_day_of_audio_takes_no_more_memory_than_minutes() -> None:
    clock = _clock_after(50_000)

    assert len(clock._audio_moments) < 5_000
    clock.speech_ended(SpeechEnded(1, 4_999.0, EndReason.SILENCE))
    assert clock.latency_seconds(_reply(1), moment=5_000.0) == pytest.approx(0.3, abs=1e-6)
