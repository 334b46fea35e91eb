"""Whether replies are worked out in the trailing silence is for those who run the service to say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import service.app
from pipelines.session.conversation import Conversation
from service.sessions import host
from tests.unit.service.harness import Harness, speaking
from vivavoce.cli import run
from vivavoce.v1 import conversation_pb2 as pb

if TYPE_CHECKING:
    from service.config import ServiceConfig

CONFIG = pb.ConverseRequest(
    config=pb.ConversationConfig(audio=pb.AudioConfig(encoding=pb.AUDIO_ENCODING_LINEAR_PCM, sample_rate_hz=16_000))
)


@pytest.mark.parametrize("speculates", [True, False])
async def test_a_conversation_is_held_as_the_service_was_told(speculates, monkeypatch):
    held = []

    class Watched(Conversation):
        def __init__(self, config, *others) -> None:
            super().__init__(config, *others)
            held.append(config.turns.speculates)

    monkeypatch.setattr(host, "Conversation", Watched)
    async with Harness.running(speculates=speculates) as harness:
        responses = await harness.converse([CONFIG, *speaking(1)])
    assert held == [speculates]
    assert responses[-1].WhichOneof("response") == "reply"


@pytest.mark.parametrize(("flags", "speculates"), [([], True), (["--no-speculation"], False)])
def test_the_command_line_tells_the_service(flags, speculates, monkeypatch):
    told: list[ServiceConfig] = []
    monkeypatch.setattr(service.app, "run", lambda options: told.append(options) or 0)
    assert run(["serve", *flags]) == 0
    assert [config.speculation for config in told] == [speculates]
