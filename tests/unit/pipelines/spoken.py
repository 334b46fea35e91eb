"""A conversation that is answered aloud, with fake models, in virtual time."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from pipelines.audio.formats import AudioFormat, Encoding
from pipelines.data.answers import Document
from pipelines.data.messages import Interrupted, Message, Reply, ReplyAudio
from pipelines.data.predictions import AnswerSpan, IntentPrediction
from pipelines.data.recognition import Timing
from pipelines.load.workload import Workload
from pipelines.session.config import ConversationConfig
from pipelines.session.conversation import Conversation
from pipelines.speech.reply_voice import ReplyVoice
from pipelines.turns.state import TurnSettings
from tests.unit.pipelines.fakes import FakeModels, ScriptedVoice

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Sequence

    from pipelines.models.synthesis_port import SpeechPart

PCM = AudioFormat(Encoding.LINEAR_PCM, 16_000)
GUIDE = "Paris is the capital of France. " * 1
INSTANT = Timing(0.0, 0.001)
CHUNK = bytes(3200)


@dataclass
class SpeakingModels(FakeModels):
    """Answers every question with "Paris", and speaks for ``sentence_seconds`` a sentence.

    Attributes:
        sentence_seconds: how long a sentence lasts when it is spoken.
        synthesis_seconds: how long it takes to make one.
        spoken_texts: what was synthesized.
        synthesis_fails: whether the voice refuses.
        under_way: sentences that are being made.
    """

    sentence_seconds: float = 3.0
    synthesis_seconds: float = 0.03
    spoken_texts: list[str] = field(default_factory=list)
    synthesis_fails: bool = False
    under_way: int = 0

    async def predict(self, text: str, due: float | None = None) -> IntentPrediction:
        return IntentPrediction("none", 0.9, (), INSTANT, kind="question")

    async def find(self, question: str, document: str, due: float | None = None) -> AnswerSpan:
        await asyncio.sleep(self.answering_seconds)
        return AnswerSpan(0, 5, 0.8, INSTANT)

    async def speak(self, parts: Sequence[SpeechPart], voice: str, seed: int) -> AsyncGenerator[np.ndarray, None]:
        self.spoken_texts.append(" ".join(part.text for part in parts))
        self.under_way += 1
        try:
            await asyncio.sleep(self.synthesis_seconds)
            if self.synthesis_fails:
                raise self.error
            left = round(24_000 * self.sentence_seconds)
            while left > 0:
                yield np.full(min(24_000, left), 0.1, np.float32)
                left -= 24_000
        finally:
            self.under_way -= 1


class SpokenSession:
    """A conversation with its caller: sends 100 ms of audio at a time, and notes what comes when."""

    def __init__(self, models: SpeakingModels, script: Sequence[tuple[float, float]], **chosen: object) -> None:
        document = chosen.pop("document", GUIDE)
        voice = chosen.pop("voice", ReplyVoice())
        workload = Workload(observer=chosen.pop("observer", None))
        config = ConversationConfig(PCM, TurnSettings(**chosen), (Document("guide", document),), reply_voice=voice)
        self.models = models
        self.conversation = Conversation(config, models, ScriptedVoice(*script), workload, name="kitchen")
        self.came: list[tuple[float, Message]] = []
        self._loop = asyncio.get_running_loop()
        self.reads = asyncio.Event()
        self.reads.set()

    async def listen(self) -> None:
        async for message in self.conversation.outbox:
            self.came.append((self._loop.time(), message))
            await self.reads.wait()

    async def talk(self, seconds: float) -> None:
        for _ in range(round(seconds * 10)):
            await self.conversation.add_audio(CHUNK)
            await asyncio.sleep(0.1)

    def of(self, kind: type) -> list:
        return [message for _, message in self.came if isinstance(message, kind)]

    def when(self, kind: type) -> list[float]:
        return [at for at, message in self.came if isinstance(message, kind)]

    def audio(self, turn: int = 1) -> list[tuple[float, ReplyAudio]]:
        return [(at, it) for at, it in self.came if isinstance(it, ReplyAudio) and it.turn == turn]

    def heard(self, turn: int = 1) -> float:
        """Seconds of audio that came of a reply, 24 kHz, 16 bits."""
        return sum(len(piece.audio) for _, piece in self.audio(turn)) / 48_000

    @property
    def reply(self) -> Reply:
        return self.of(Reply)[-1]

    @property
    def interrupted(self) -> Interrupted:
        (only,) = self.of(Interrupted)
        return only


@contextlib.asynccontextmanager
async def spoken_session(
    models: SpeakingModels, *script: tuple[float, float], **chosen: object
) -> AsyncIterator[SpokenSession]:
    held = SpokenSession(models, script or ((1.0, 0.0),), **chosen)
    listener = asyncio.create_task(held.listen())
    try:
        yield held
    finally:
        await held.conversation.close()
        held.reads.set()
        await asyncio.wait((listener,))
        assert listener.exception() is None
    assert models.under_way == 0
    assert models.open_sequences == []
