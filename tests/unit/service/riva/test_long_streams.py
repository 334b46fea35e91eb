"""Streams that last: the servicer itself, without a socket, on a clock that jumps."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import numpy as np
import pytest

from service.admission import Admission, RecordingMemory
from service.lifetime import Limits
from service.open_conversations import OpenConversations
from service.riva.proto import riva_asr_pb2 as pb
from service.riva.speech import SpeechServicer
from tests import virtual_time
from tests.unit.pipelines.fakes import FakeModels, ScriptedVoice
from tests.unit.service.harness import FakeVoice
from tests.unit.service.riva.calls import audio, config, finals

SECOND = np.zeros(16_000, "<i2").tobytes()
Requests = AsyncIterator[pb.StreamingRecognizeRequest]


class NoSocket:
    """A call that keeps what is written to it."""

    def __init__(self) -> None:
        self.written: list[tuple[float, pb.StreamingRecognizeResponse]] = []

    async def write(self, response: pb.StreamingRecognizeResponse) -> None:
        self.written.append((asyncio.get_running_loop().time(), response))


def held(requests: Callable[[], Requests], *script: tuple[float, float]) -> tuple[NoSocket, FakeModels]:
    """Serves one stream to its end; ``script`` says what the voice hears, pairs of seconds and probability."""
    call, models, voice = NoSocket(), FakeModels(), FakeVoice()
    voice.new_stream = lambda: ScriptedVoice(*script)

    async def serve() -> None:
        admission = Admission(1)
        admission.open()
        servicer = SpeechServicer(models, voice, admission, RecordingMemory(), Limits(), OpenConversations())
        await servicer.StreamingRecognize(requests(), call)

    virtual_time.run(serve())
    return call, models


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
        for _ in range(3 * utterances):
            yield piece
            await asyncio.sleep(piece_seconds)

    call, models = held(requests, *[(2 * piece_seconds, 1.0), (piece_seconds, 0.0)] * utterances)
    assert len(finals(response for _, response in call.written)) == utterances
    delays = [at % (3 * piece_seconds) for at, _ in call.written]
    # One or two answers of the recognizer lie between, 50 ms each, by where its requests fall; never more.
    assert delays[:-1] == pytest.approx([delays[0]] * (utterances - 1), abs=0.051)
    assert call.written[-1][1].results[0].audio_processed == pytest.approx(3 * utterances * piece_seconds)
    assert not models.open_sequences
