"""How long the ways through the service are: files entered and functions called for a chunk, and for a reply.

Ceilings, a little above what was measured when they were set: who makes a way longer shall know it. They count the
product's own functions, without comprehensions, between gRPC's server and models that answer by arithmetic.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pipelines.load.workload import Workload
from service.admission.admission import Admission, RecordingMemory
from service.api.vivavoce.conversation_stream import hold_conversation
from service.sessions.host import SessionHost
from service.sessions.lifetime import Limits
from service.sessions.open_conversations import OpenConversations
from tests import virtual_time
from tests.unit.pipelines.fakes import FakeModels
from tests.unit.service.harness import FakeVoice
from vivavoce.v1 import conversation_pb2 as pb
from vivavoce.v1 import reply_pb2

if TYPE_CHECKING:
    import types
    from collections.abc import AsyncIterator
    from typing import Self

ROOT = Path(__file__).parents[3]
ROOMS = (f"{ROOT}/service/", f"{ROOT}/pipelines/")
COMPREHENSIONS = frozenset(("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"))
CHUNK_SECONDS, SPEECH_CHUNKS, SILENCE_CHUNKS = 0.1, 20, 12

CHUNK, REPLY = (23, 95), (76, 1_650)
"""The most files and calls."""


class Way:
    """Notes when which function was entered."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.entered: list[tuple[float, str]] = []

    def __enter__(self) -> Self:
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _note(self, frame: types.FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(ROOMS) and code.co_name not in COMPREHENSIONS:
            self.entered.append((self._loop.time(), code.co_filename))

    def between(self, begin: float, end: float) -> tuple[int, int]:
        """Files and calls."""
        files = [file for at, file in self.entered if begin <= at < end]
        return len(set(files)), len(files)


async def _ways() -> tuple[tuple[int, int], tuple[int, int]]:
    """Returns files and calls of a chunk in speech, and from the beginning of silence to the reply."""
    loop = asyncio.get_running_loop()
    models = FakeModels(0.02, 0.005, 0.01, words="what is the weather like in three days")
    voice, admission = FakeVoice(), Admission(8)
    admission.open()
    conversations = OpenConversations(Workload())
    host = SessionHost(models, voice, admission, Limits(), conversations, RecordingMemory(1_000_000))
    config = pb.ConversationConfig(
        audio=pb.AudioConfig(encoding=pb.AUDIO_ENCODING_LINEAR_PCM, sample_rate_hz=16_000),
        documents=[reply_pb2.Document(text="The museum is open from nine to five.")],
    )
    noise = np.random.default_rng(1).integers(-3_000, 3_000, 1_600).astype("<i2").tobytes()
    sent: list[float] = []
    replied: list[float] = []

    async def requests() -> AsyncIterator[pb.ConverseRequest]:
        yield pb.ConverseRequest(config=config)
        for number in range(SPEECH_CHUNKS + SILENCE_CHUNKS):
            if number == SPEECH_CHUNKS:
                voice.probability = 0.0
            sent.append(loop.time())
            yield pb.ConverseRequest(audio=noise)
            await asyncio.sleep(CHUNK_SECONDS)

    async def write(response: pb.ConverseResponse) -> None:
        if response.WhichOneof("response") == "reply":
            replied.append(loop.time())

    with Way() as way:
        await hold_conversation(host, requests(), write)
    # Every fourth chunk has the recognizer answer, too.
    chunks = sorted(way.between(sent[number], sent[number + 1]) for number in range(8, SPEECH_CHUNKS - 1))
    return chunks[len(chunks) // 4], way.between(sent[SPEECH_CHUNKS], replied[0] + 1e-6)


def test_the_ways_of_a_chunk_and_of_a_reply_stay_short():
    chunk, reply = virtual_time.run(_ways())
    for (files, calls), (most_files, most_calls) in ((chunk, CHUNK), (reply, REPLY)):
        assert files <= most_files
        assert calls <= most_calls
