"""The name that a caller gives to a request comes back with whatever answers it, through a real socket."""

from __future__ import annotations

from typing import TYPE_CHECKING

import grpc
import pytest

from tests.unit.service.harness import Harness, speaking
from tests.unit.service.refusals import assert_refused
from vivavoce.v1 import conversation_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

AUDIO = pb.AudioConfig(encoding=pb.AUDIO_ENCODING_LINEAR_PCM, sample_rate_hz=16_000)
CONFIG = pb.ConverseRequest(config=pb.ConversationConfig(audio=AUDIO, reply_budget={"seconds": 10}))


@pytest.fixture
async def harness() -> AsyncIterator[Harness]:
    async with Harness.running() as running:
        yield running


def end(request_id: str) -> pb.ConverseRequest:
    return pb.ConverseRequest(end_of_utterance=pb.EndOfUtterance(), request_id=request_id)


async def test_every_answer_names_its_request(harness: Harness):
    typed = pb.ConverseRequest(text="hello", request_id="typed")
    said = await harness.converse([CONFIG, end("early"), *speaking(1), end("in time"), typed])

    told = {
        (kind, getattr(response, kind).request_id)
        for response in said
        if (kind := response.WhichOneof("response")) in {"notice", "speech_ended", "transcript", "reply"}
    }
    assert told == {
        ("notice", "early"),
        ("speech_ended", "in time"),
        ("transcript", "in time"),
        ("reply", "in time"),
        ("reply", "typed"),
    }


async def test_requests_without_a_name_are_answered_as_ever(harness: Harness):
    said = await harness.converse([CONFIG, *speaking(1), end(""), pb.ConverseRequest(text="hello")])

    assert [reply.request_id for response in said if (reply := response.reply).turn] == ["", ""]


@pytest.mark.parametrize("request_", [end("x" * 65), pb.ConverseRequest(text="hello", request_id="x" * 65)])
async def test_a_long_name_is_refused(harness: Harness, request_: pb.ConverseRequest):
    with pytest.raises(grpc.aio.AioRpcError, match="send at most 64") as caught:
        await harness.converse([CONFIG, *speaking(0.3), request_])

    assert_refused(caught.value, "REQUEST_ID_TOO_LONG", "request_id")
