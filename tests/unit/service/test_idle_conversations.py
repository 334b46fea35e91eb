"""Conversations in which nothing is sent, and those in which something is just before they end; in virtual time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import grpc
import pytest

from tests import virtual_time
from tests.unit.pipelines.fakes import ScriptedVoice
from tests.unit.service.harness import SPEECH, voiced
from tests.unit.service.riva import calls as riva
from tests.unit.service.virtual_service import CONFIG, AbortError, VirtualService
from vivavoce.v1 import conversation_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

IDLE, GRACE = 10.0, 5.0
AUDIO = pb.ConverseRequest(audio=SPEECH)
UTTERANCE = [AUDIO] * 20
WAYS_TO_SAY = {
    "speech that goes on beyond the grace": (12.0, [AUDIO] * 60),
    "speech that ends in silence": (12.0, UTTERANCE),
    "speech at the last moment": (14.9, UTTERANCE),
    "speech that is ended by the caller": (14.0, [*[AUDIO] * 5, pb.ConverseRequest(end_of_utterance={})]),
    "a typed turn": (14.9, [pb.ConverseRequest(text="how many are there?")]),
}


async def said_at(seconds: float, config: object, *requests: object) -> AsyncIterator[object]:
    """Says nothing up to a moment, then everything at the pace of speech, and then nothing any more."""
    yield config
    await asyncio.sleep(seconds)
    for request in requests:
        yield request
        await asyncio.sleep(0.1)
    await asyncio.get_running_loop().create_future()


@pytest.mark.parametrize("way", WAYS_TO_SAY)
def test_who_says_something_before_the_end_is_answered(way: str):
    at, requests = WAYS_TO_SAY[way]
    seconds = 0.1 * len(requests) - 1.0

    async def main() -> None:
        service = VirtualService(idle_seconds=IDLE, grace_seconds=GRACE)
        service.voice.new_stream = lambda: ScriptedVoice((max(seconds, 0.5), voiced), (1.0, 0.0))
        await service.call(said_at(at, CONFIG, *requests))
        assert service.context.kinds.count("reply") == 1
        assert service.context.kinds[:2] == ["started", "going_away"]
        # Nothing more is said, and so it ends as any other.
        assert service.context.kinds[-1] == "going_away"
        # A judgement of the pause may have been waited for.
        said_to = at + 0.1 * (len(requests) - 1)
        assert asyncio.get_running_loop().time() == pytest.approx(said_to + IDLE + GRACE, abs=0.1)
        assert service.context.code is grpc.StatusCode.OK

    virtual_time.run(main())


def test_who_says_nothing_is_told_and_the_conversation_ends():
    async def main() -> None:
        service = VirtualService(idle_seconds=IDLE, grace_seconds=GRACE)
        await service.call(said_at(1_000, CONFIG))
        assert service.context.kinds == ["started", "going_away"]
        assert asyncio.get_running_loop().time() == IDLE + GRACE

    virtual_time.run(main())


@pytest.mark.parametrize(("at", "results"), [(14.0, 1), (1_000.0, 0)])
def test_a_stream_of_rivas_is_recognized_too_before_it_ends(at: float, results: int):
    async def main() -> None:
        service = VirtualService(idle_seconds=IDLE, grace_seconds=GRACE)
        service.voice.new_stream = lambda: ScriptedVoice((1.0, voiced), (1.0, 0.0))
        call = service.call(said_at(at, riva.config(), *riva.speaking(6)), "StreamingRecognize")
        with pytest.raises(AbortError, match="nothing was sent for too long"):
            await call
        assert service.context.code is grpc.StatusCode.DEADLINE_EXCEEDED
        assert len(service.context.written) == results

    virtual_time.run(main())
