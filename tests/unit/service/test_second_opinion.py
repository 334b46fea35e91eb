"""Who chooses the recognizer that reads turns again, and the language that transcripts tell."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from pipelines.models.contracts import ASR
from pipelines.models.languages import Languages
from pipelines.models.shipped import SHIPPED
from service.admission.admission import Admission
from service.api.vivavoce.conversation_stream import hold_conversation
from service.app import _second_opinion
from service.config import ConfigError, ServiceConfig
from service.sessions.host import SessionHost
from tests.unit.pipelines.fakes import FakeModels
from tests.unit.service.harness import SPEECH, FakeVoice
from vivavoce.v1 import conversation_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

AUDIO = pb.AudioConfig(encoding=pb.AUDIO_ENCODING_LINEAR_PCM, sample_rate_hz=16_000)
SPOKEN = [pb.ConverseRequest(audio=SPEECH)] * 20


@dataclass
class TwoRecognizers(FakeModels):
    words: str = "first"
    heavy: FakeModels = field(
        default_factory=lambda: FakeModels(0.001, words="second", languages=Languages(("de", "en")))
    )

    def get(self, role: str, variant: str | None = None) -> FakeModels:
        return self.heavy if (role, variant) == (ASR, "heavy") else self


async def finals(default: str, config: pb.ConversationConfig, *said: pb.ConverseRequest) -> list[pb.Transcript]:
    admission, came = Admission(8), []
    admission.open()
    engines = SHIPPED.with_variant(ASR, "heavy")
    models = TwoRecognizers(0.001, 0.001, 0.001)
    host = SessionHost(models, FakeVoice(), admission, engines=engines, second_opinion=default)

    async def requests() -> AsyncIterator[pb.ConverseRequest]:
        yield pb.ConverseRequest(config=config)
        for request in (*said, *SPOKEN):
            yield request

    async def write(response: pb.ConverseResponse) -> None:
        came.append(response)

    async with asyncio.timeout(10):
        await hold_conversation(host, requests(), write)
    return [one.transcript for one in came if one.transcript.is_final]


@pytest.mark.parametrize(
    ("default", "asked", "changed", "heard"),
    [
        ("", None, None, "first"),
        ("heavy", None, None, "second"),
        ("heavy", "", None, "first"),
        ("", "heavy", None, "second"),
        ("", None, "heavy", "second"),
        ("heavy", None, "", "first"),
    ],
)
async def test_the_caller_chooses_and_else_the_configuration(
    default: str, asked: str | None, changed: str | None, heard: str
):
    update = pb.ConverseRequest(update=pb.ConversationUpdate(second_opinion=changed))
    said = [] if changed is None else [update]
    (final,) = await finals(default, pb.ConversationConfig(audio=AUDIO, second_opinion=asked), *said)
    assert (final.text, final.language_code) == (heard, "en")


async def test_an_update_to_what_is_not_served_is_refused():
    update = pb.ConverseRequest(update=pb.ConversationUpdate(second_opinion="light"))
    with pytest.raises(Exception, match=r"no variant 'light' of 'asr' is served: choose one of heavy"):
        await finals("", pb.ConversationConfig(audio=AUDIO), update)


def test_a_configured_one_must_be_a_recognizer():
    config = ServiceConfig(variants={"other": Path("x"), "heavy": Path("y")}, second_opinion="other")
    engines = SHIPPED.with_variant("intent_slot", "other").with_variant(ASR, "heavy")
    with pytest.raises(ConfigError, match="the variant 'other' is no recognizer"):
        _second_opinion(config, engines)
    assert _second_opinion(msgspec.structs.replace(config, second_opinion="heavy"), engines) == "heavy"
    assert _second_opinion(ServiceConfig(), engines) == ""
