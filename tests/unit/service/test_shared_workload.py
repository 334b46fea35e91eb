"""All conversations of a service share what they know of the machine, whichever API they are held over."""

from __future__ import annotations

import pytest

from pipelines.session.conversation import Conversation
from service.api.riva.proto import riva_asr_pb2
from service.sessions import host
from tests.unit.service.harness import Harness, speaking
from tests.unit.service.riva.calls import recognition, speech
from vivavoce.v1 import conversation_pb2 as pb

CONFIG = pb.ConverseRequest(
    config=pb.ConversationConfig(audio=pb.AudioConfig(encoding=pb.AUDIO_ENCODING_LINEAR_PCM, sample_rate_hz=16_000))
)


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What conversations were made with."""
    given: list[object] = []

    class Watched(Conversation):
        def __init__(self, config, models, voice, workload, *others) -> None:
            super().__init__(config, models, voice, workload, *others)
            given.append(workload)

    monkeypatch.setattr(host, "Conversation", Watched)
    return given


async def test_conversations_share_the_workload(shared):
    async with Harness.running() as harness:
        await harness.converse([CONFIG, *speaking(1)])
        assert shared == [harness.open_conversations.workload]


async def test_recordings_for_riva_share_it_too(shared):
    async with Harness.running() as harness:
        await speech(harness).Recognize(riva_asr_pb2.RecognizeRequest(config=recognition(), audio=bytes(32_000)))
        assert shared == [harness.open_conversations.workload]
