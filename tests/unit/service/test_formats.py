"""Audio with a header through the service's own API, with fake models behind."""

from collections.abc import AsyncIterator

import grpc
import pytest

from tests.unit.pipelines.container_audio import FORMATS, recording
from tests.unit.service.harness import Harness
from tests.unit.service.refusals import assert_refused
from vivavoce.v1 import conversation_pb2 as pb

CONTAINER = pb.AudioConfig(encoding=pb.AUDIO_ENCODING_CONTAINER)


@pytest.fixture
async def harness() -> AsyncIterator[Harness]:
    async with Harness.running() as running:
        yield running


def conversation(data: bytes, audio: pb.AudioConfig = CONTAINER, chunk: int = 1_501) -> list[pb.ConverseRequest]:
    config = pb.ConversationConfig(audio=audio, endpointing=pb.EndpointingConfig(disabled=True))
    pieces = [pb.ConverseRequest(audio=data[at : at + chunk]) for at in range(0, len(data), chunk)]
    return [pb.ConverseRequest(config=config), *pieces]


@pytest.mark.parametrize("name", FORMATS)
async def test_every_format_is_heard(harness: Harness, name: str):
    came = await harness.converse(conversation(recording(name)))
    assert [response.reply.turn for response in came if response.HasField("reply")] == [1]
    assert not any(response.HasField("notice") for response in came)
    assert sum(sequence.samples for sequence in harness.models.sequences) == pytest.approx(32_000, abs=3_000)


async def test_damage_is_told_in_a_notice(harness: Harness):
    came = await harness.converse(conversation(recording("Ogg Opus")[:-200]))
    (notice,) = [response.notice for response in came if response.HasField("notice")]
    assert notice.code == pb.NOTICE_CODE_AUDIO_DAMAGED
    assert "breaks off inside a page" in notice.message
    assert [response.reply.turn for response in came if response.HasField("reply")] == [1]


async def test_odd_pieces_and_empty_ones_are_taken(harness: Harness):
    raw = pb.AudioConfig(encoding=pb.AUDIO_ENCODING_LINEAR_PCM, sample_rate_hz=16_000)
    first, *pieces = conversation(recording("WAV, 16 bits")[44:], raw)
    came = await harness.converse([first, pb.ConverseRequest(audio=b""), *pieces, pb.ConverseRequest(audio=b"")])
    assert not any(response.HasField("notice") for response in came)
    assert sum(sequence.samples for sequence in harness.models.sequences) == 32_000


async def test_audio_without_a_header_is_refused_where_one_was_promised(harness: Harness):
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await harness.converse(conversation(bytes(range(1, 200)) * 99))
    assert_refused(refused.value, "UNDECODABLE_AUDIO", "audio")
    assert "no header that tells its format" in refused.value.details()
