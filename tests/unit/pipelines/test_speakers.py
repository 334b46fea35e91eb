"""Speakers of a conversation, with fake models and a clock that jumps."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import numpy as np
import pytest

from pipelines.audio.formats import AudioFormat, Encoding
from pipelines.data.messages import Message, Reply, SpeechEnded, Transcript
from pipelines.data.recognition import Speaker
from pipelines.errors import ModelError
from pipelines.models.contracts import SPEAKER
from pipelines.models.speaker_port import SpeakerEmbeddings
from pipelines.session.config import ConversationConfig
from pipelines.session.conversation import Conversation
from pipelines.session.speaker_tracker import MAX_WAIT_SECONDS
from pipelines.speakers.diarization import Diarization
from pipelines.speakers.enrolled import DIMENSIONS, EnrolledVoices
from pipelines.turns.state import TurnSettings
from tests import virtual_time
from tests.unit.pipelines.fakes import INSTANT, FakeModels, ScriptedVoice

if TYPE_CHECKING:
    from collections.abc import Sequence

RATE = 16_000
LOUD = {"": 0.0, "a": 0.1, "b": 0.3}
"""Amplitudes of the voices: by those the model knows them."""


def vector(amplitude: float) -> np.ndarray:
    row = np.zeros(DIMENSIONS, np.float32)
    row[round(20 * amplitude)] = 1.0
    return row


class Embedding(FakeModels):
    """Embeds a window by how loud most of it is."""

    embedding_seconds = 0.02
    embedded = 0

    async def embed(self, windows: Sequence[np.ndarray], due: float | None = None) -> SpeakerEmbeddings:
        self.embedded += len(windows)
        await asyncio.sleep(self.embedding_seconds)
        if SPEAKER in self.fail:
            raise ModelError("out of order")
        return SpeakerEmbeddings(np.stack([vector(float(np.percentile(np.abs(w), 60))) for w in windows]), INSTANT)


async def hold(
    models: Embedding, *script: tuple[float, str], diarization: Diarization | None, **turns: object
) -> list[tuple[float, Message]]:
    """Speaks a script of seconds and voices, "" for silence; returns what came, and when."""
    loop, came = asyncio.get_running_loop(), []
    config = ConversationConfig(AudioFormat(Encoding.LINEAR_PCM, RATE), TurnSettings(**turns), diarization=diarization)
    voice = ScriptedVoice(*((seconds, 1.0 if who else 0.0) for seconds, who in script))
    conversation = Conversation(config, models, voice)

    async def listen() -> None:
        came.extend([(loop.time(), message) async for message in conversation.outbox])

    listener = asyncio.create_task(listen())
    signs = np.where(np.arange(RATE // 10) % 2, 1, -1)
    began = loop.time()
    amplitudes = np.concatenate([np.full(round(10 * seconds), LOUD[who]) for seconds, who in script])
    for number, amplitude in enumerate(amplitudes):
        await asyncio.sleep(max(0.0, began + 0.1 * (number + 1) - loop.time()))
        await conversation.add_audio((signs * amplitude * 32_767).astype("<i2").tobytes())
    await conversation.half_close()
    await listener
    await conversation.close()
    return came


def finals(came: list[tuple[float, Message]]) -> list[Transcript]:
    return [message for _, message in came if isinstance(message, Transcript) and message.is_final]


TWO_TURNS = ((0.3, ""), (2.0, "a"), (2.0, ""), (3.0, "b"), (2.0, ""), (2.0, "a"), (2.0, ""))


def test_each_turn_tells_its_speaker():
    models = Embedding()
    came = virtual_time.run(hold(models, *TWO_TURNS, diarization=Diarization()))
    assert [one.speaker for _, one in came if isinstance(one, Reply)] == [Speaker(1), Speaker(2), Speaker(1)]
    for transcript in finals(came):
        (span,) = transcript.speakers
        assert transcript.start <= span.start < span.end <= transcript.end


def test_two_voices_in_one_turn_are_told_apart():
    came = virtual_time.run(hold(Embedding(), (0.3, ""), (4.0, "a"), (4.0, "b"), (2.0, ""), diarization=Diarization()))
    ((first, second),) = [transcript.speakers for transcript in finals(came)]
    assert (first.speaker, second.speaker) == (Speaker(1), Speaker(2))
    assert first.end == second.start == pytest.approx(4.3 * RATE, abs=0.5 * RATE)


def test_a_pause_within_a_turn_belongs_to_nobody():
    script = ((0.32, ""), (2.56, "a"), (0.32, ""), (2.56, "a"), (2.0, ""))
    ((first, second),) = [
        one.speakers for one in finals(virtual_time.run(hold(Embedding(), *script, diarization=Diarization())))
    ]
    assert (first.speaker, second.speaker) == (Speaker(1), Speaker(1))
    assert (first.end, second.start) == (round(2.88 * RATE), round(3.2 * RATE))


def test_without_diarization_nothing_is_embedded_or_told():
    models = Embedding()
    plain = virtual_time.run(hold(models, *TWO_TURNS, diarization=None))
    assert models.embedded == 0
    assert all(transcript.speakers == () for transcript in finals(plain))
    told = virtual_time.run(hold(Embedding(), *TWO_TURNS, diarization=Diarization()))
    times = [[at for at, message in came if isinstance(message, Reply)] for came in (plain, told)]
    assert times[0] == pytest.approx(times[1], abs=1e-6)


@pytest.mark.parametrize("replies", [True, False])
def test_a_model_that_fails_costs_nothing_but_the_speaker(replies: bool):
    came = virtual_time.run(hold(Embedding(fail={SPEAKER}), *TWO_TURNS, diarization=Diarization(), replies=replies))
    assert [transcript.speakers for transcript in finals(came)] == [()] * 3
    assert len([1 for _, one in came if isinstance(one, Reply)]) == (3 if replies else 0)


def test_a_model_that_hangs_holds_a_reply_up_for_a_short_time_alone():
    models = Embedding()
    models.embedding_seconds = 30.0
    came = virtual_time.run(hold(models, *TWO_TURNS, diarization=Diarization()))
    ended = [at for at, message in came if isinstance(message, SpeechEnded)]
    replied = [at for at, message in came if isinstance(message, Reply)]
    assert len(replied) == 3
    assert all(reply - end <= MAX_WAIT_SECONDS + 0.05 for end, reply in zip(ended, replied, strict=True))


def test_an_enrolled_voice_is_told_by_name():
    enrolled = EnrolledVoices(("ann",), vector(LOUD["a"])[np.newaxis])
    came = virtual_time.run(hold(Embedding(), *TWO_TURNS, diarization=Diarization(enrolled=enrolled)))
    names = [message.speaker.name for _, message in came if isinstance(message, Reply)]
    assert names == ["ann", "", "ann"]
