"""Streams that last, on a clock that jumps."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from tests.unit.service.riva.calls import audio, config, finals
from tests.unit.service.riva.without_sockets import Requests, held

SECOND = np.zeros(16_000, "<i2").tobytes()


def test_a_stream_that_pauses_for_two_minutes_goes_on_where_it_was():
    async def requests() -> Requests:
        yield config()
        for _ in range(2):
            yield audio(SECOND)
        await asyncio.sleep(120)
        for _ in range(4):
            yield audio(SECOND)

    call, models = held(requests, (4.0, 1.0), (2.0, 0.0))
    (final,) = finals(response for _, response in call.written)
    # The recognizer's place was given back in the pause: the utterance is two sequences, and nothing of it is lost.
    assert final == "w0 w1 w0 w1 w2"
    assert len(models.sequences) == 2
    assert not models.open_sequences


def test_a_pause_of_two_minutes_between_utterances_is_no_more_than_a_pause():
    async def requests() -> Requests:
        yield config()
        for second in range(6):
            yield audio(SECOND)
            await asyncio.sleep(120 if second == 2 else 1)

    call, models = held(requests, (1.0, 1.0), (2.0, 0.0), (1.0, 1.0), (2.0, 0.0))
    assert finals(response for _, response in call.written) == ["w0 w1", "w0 w1"]
    assert len(models.sequences) == 2


def test_a_stream_that_never_ends_is_served_as_in_its_first_minute():
    utterances, piece_seconds = 150, 0.96
    piece = audio(np.zeros(round(16_000 * piece_seconds), "<i2").tobytes())

    async def requests() -> Requests:
        yield config()
        for number in range(3 * utterances):
            # However long the service takes for one piece, the next one is there in time.
            await asyncio.sleep(max(0.0, number * piece_seconds - asyncio.get_running_loop().time()))
            yield piece

    call, models = held(requests, *[(2 * piece_seconds, 1.0), (piece_seconds, 0.0)] * utterances)
    assert len(finals(response for _, response in call.written)) == utterances
    delays = [at % (3 * piece_seconds) for at, _ in call.written]
    # One or two answers of the recognizer lie between, 50 ms each, by where its requests fall; never more.
    assert delays[:-1] == pytest.approx([delays[0]] * (utterances - 1), abs=0.051)
    # The last utterance ends in the last piece.
    missing = 3 * utterances * piece_seconds - call.written[-1][1].results[0].audio_processed
    assert 0 <= missing < piece_seconds
    assert not models.open_sequences
