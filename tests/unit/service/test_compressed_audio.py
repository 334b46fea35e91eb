"""Push-to-talk with compressed audio, through a real socket; the models behind are fakes."""

from collections.abc import AsyncIterator

import grpc
import pytest

from tests.unit.pipelines.compressed_audio import flac, noise
from tests.unit.service.harness import Harness
from tests.unit.service.refusals import assert_refused
from vivavoce.v1 import conversation_pb2 as pb

CONFIG = pb.ConverseRequest(
    config=pb.ConversationConfig(
        audio=pb.AudioConfig(encoding=pb.AUDIO_ENCODING_FLAC), endpointing=pb.EndpointingConfig(disabled=True)
    )
)
END = pb.ConverseRequest(end_of_utterance=pb.EndOfUtterance())


@pytest.fixture
async def harness() -> AsyncIterator[Harness]:
    async with Harness.running() as running:
        yield running


def sent(data: bytes, chunk: int) -> list[pb.ConverseRequest]:
    return [pb.ConverseRequest(audio=data[at : at + chunk]) for at in range(0, len(data), chunk)]


@pytest.mark.parametrize("chunk", [2_400, 1 << 20])
async def test_an_utterance_is_all_the_flac_that_came_before_its_end(harness: Harness, chunk: int):
    first, second = sent(flac(noise(2)), chunk), sent(flac(noise(1)), chunk)
    came = await harness.converse([CONFIG, *first, END, *second, END])
    assert [response.reply.turn for response in came if response.HasField("reply")] == [1, 2]
    assert not any(response.HasField("notice") for response in came)
    assert [sequence.samples for sequence in harness.models.sequences] == [32_000, 16_000]


async def test_damaged_flac_is_refused_while_the_caller_still_speaks(harness: Harness):
    data = flac(noise(2))
    call = harness.stub.Converse()
    await call.write(CONFIG)
    await call.read()
    await call.write(pb.ConverseRequest(audio=data[: len(data) // 2] + b"garbage" * 2_000))
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        while await call.read():
            pass
    assert_refused(refused.value, "UNDECODABLE_AUDIO", "audio")
