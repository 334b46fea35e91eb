"""How long the ways through the service are: files entered and functions called for a chunk, and for a reply.

Ceilings, a little above what was measured when they were set: who makes a way longer shall know it. They count the
product's own functions, without comprehensions, on the event loop's thread, between gRPC's server and models that
answer by arithmetic.
"""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from tests.unit.pipelines.fakes import FakeModels
from tests.unit.service.harness import Harness
from vivavoce.v1 import conversation_pb2 as pb
from vivavoce.v1 import reply_pb2

if TYPE_CHECKING:
    import types
    from collections.abc import AsyncIterator

ROOT = Path(__file__).parents[3]
ROOMS = (f"{ROOT}/service/", f"{ROOT}/pipelines/")
COMPREHENSIONS = frozenset(("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"))
CHUNK_SECONDS, SPEECH_CHUNKS, SILENCE_CHUNKS = 0.1, 20, 12

MAX_CHUNK_FILES, MAX_CHUNK_CALLS = 32, 125
MAX_REPLY_FILES, MAX_REPLY_CALLS = 82, 1_900


class Way:
    """Notes when which function was entered."""

    def __init__(self) -> None:
        self.entered: list[tuple[float, str]] = []

    def __enter__(self) -> Self:
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _note(self, frame: types.FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(ROOMS) and code.co_name not in COMPREHENSIONS:
            self.entered.append((time.monotonic(), code.co_filename))

    def between(self, begin: float, end: float) -> tuple[int, int]:
        """Files and calls."""
        files = [file for at, file in self.entered if begin <= at < end]
        return len(set(files)), len(files)


async def test_the_ways_of_a_chunk_and_of_a_reply_stay_short():
    models = FakeModels(0.02, 0.005, 0.01, words="what is the weather like in three days")
    sent: list[float] = []
    config = pb.ConversationConfig(
        audio=pb.AudioConfig(encoding=pb.AUDIO_ENCODING_LINEAR_PCM, sample_rate_hz=16_000),
        documents=[reply_pb2.Document(text="The museum is open from nine to five.")],
        reply_budget={"seconds": 10},
    )
    noise = np.random.default_rng(1).integers(-3_000, 3_000, 1_600).astype("<i2").tobytes()

    async with Harness.running(models=models) as harness:

        async def requests() -> AsyncIterator[pb.ConverseRequest]:
            yield pb.ConverseRequest(config=config)
            for number in range(SPEECH_CHUNKS + SILENCE_CHUNKS):
                if number == SPEECH_CHUNKS:
                    harness.voice.probability = 0.0
                sent.append(time.monotonic())
                yield pb.ConverseRequest(audio=noise)
                await asyncio.sleep(CHUNK_SECONDS)

        replied = 0.0
        with Way() as way:
            async for response in harness.stub.Converse(requests()):
                if response.WhichOneof("response") == "reply":
                    replied = replied or time.monotonic()
    chunks = [way.between(sent[number], sent[number + 1]) for number in range(8, SPEECH_CHUNKS - 1)]
    # Every fourth one has the recognizer answer, too.
    files, calls = sorted(chunks)[len(chunks) // 4]
    assert files <= MAX_CHUNK_FILES
    assert calls <= MAX_CHUNK_CALLS
    files, calls = way.between(sent[SPEECH_CHUNKS], replied)
    assert files <= MAX_REPLY_FILES
    assert calls <= MAX_REPLY_CALLS
