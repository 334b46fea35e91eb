"""A caller who sends everything at once, and a recognizer that takes longer for long utterances; in virtual time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from pipelines.data.recognition import NO_OPTIONS, Hypothesis, RecognitionOptions
from tests import virtual_time
from tests.unit.pipelines.fakes import INSTANT, FakeModels, FakeSequence, ScriptedVoice
from tests.unit.service.harness import SPEECH, voiced
from tests.unit.service.virtual_service import CONFIG, VirtualService
from vivavoce.v1 import conversation_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import numpy as np

SECONDS = (8, 1, 5, 1, 1)
"""Of each utterance; a second of silence follows."""


class SlowSequence(FakeSequence):
    """Recognizes at ten times the pace of speech."""

    async def send(self, audio: np.ndarray, *, decode: bool, end: bool, due: float | None = None) -> Hypothesis:
        self.requests += 1
        await asyncio.sleep(len(audio) / 160_000)
        self.samples += len(audio)
        self.ended = end
        return Hypothesis(f"{self.samples / 16_000:.0f}", self.samples, end, INSTANT)


class SlowModels(FakeModels):
    """With such sequences."""

    def open_sequence(self, options: RecognitionOptions = NO_OPTIONS) -> FakeSequence:
        self.sequences.append(SlowSequence(self, options))
        return self.sequences[-1]


async def all_at_once() -> AsyncIterator[pb.ConverseRequest]:
    patient = pb.ConverseRequest()
    patient.CopyFrom(CONFIG)
    patient.config.reply_budget.FromSeconds(5)
    yield patient
    for _ in range(10 * (sum(SECONDS) + len(SECONDS))):
        yield pb.ConverseRequest(audio=SPEECH)


def test_turns_are_told_in_the_order_in_which_they_were_spoken():
    async def main() -> None:
        service = VirtualService(SlowModels())
        script = [part for seconds in SECONDS for part in ((seconds, voiced), (1.0, 0.0))]
        service.voice.new_stream = lambda: ScriptedVoice(*script, (1.0, 0.0))
        await service.call(all_at_once())
        told = [response for _, response in service.context.written]
        finals = [one.transcript.turn for one in told if one.transcript.is_final]
        replies = [one.reply.turn for one in told if one.HasField("reply")]
        assert finals == replies == [1, 2, 3, 4, 5]

    virtual_time.run(main())
