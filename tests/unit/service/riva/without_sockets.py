"""Streams on a clock that jumps: the servicer itself, to which nothing comes sooner or later than a test says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

from service.admission.admission import Admission
from service.api.riva.asr.recognition import SpeechServicer
from service.api.riva.proto import riva_asr_pb2 as pb
from service.sessions.host import SessionHost
from tests import virtual_time
from tests.unit.pipelines.fakes import FakeModels, ScriptedVoice
from tests.unit.service.harness import FakeVoice

Requests = AsyncIterator[pb.StreamingRecognizeRequest]


class NoSocket:
    """A call that keeps what is written to it."""

    def __init__(self) -> None:
        self.written: list[tuple[float, pb.StreamingRecognizeResponse]] = []

    async def send_initial_metadata(self, metadata: tuple[()]) -> None:
        assert not self.written

    async def write(self, response: pb.StreamingRecognizeResponse) -> None:
        self.written.append((asyncio.get_running_loop().time(), response))


def held(
    requests: Callable[[], Requests], *script: tuple[float, float], models: FakeModels | None = None
) -> tuple[NoSocket, FakeModels]:
    """Serves one stream to its end; ``script`` says what the voice hears, pairs of seconds and probability."""
    call, models, voice = NoSocket(), models or FakeModels(), FakeVoice()
    voice.new_stream = lambda: ScriptedVoice(*script)

    async def serve() -> None:
        admission = Admission(1)
        admission.open()
        servicer = SpeechServicer(SessionHost(models, voice, admission))
        await servicer.StreamingRecognize(requests(), call)

    virtual_time.run(serve())
    return call, models
