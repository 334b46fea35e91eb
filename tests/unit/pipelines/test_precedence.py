"""Replies go first, on a clock that jumps: what is told, and what waits meanwhile."""

import asyncio
from collections.abc import Awaitable, Callable

import numpy as np
import pytest

from pipelines.audio.formats import AudioFormat, Encoding
from pipelines.data.messages import Message, Reply
from pipelines.data.recognition import NO_OPTIONS, Hypothesis, RecognitionOptions
from pipelines.load.precedence import MAX_SECONDS, Precedence
from pipelines.load.workload import Workload
from pipelines.session.conversation import Conversation, ConversationConfig
from tests import virtual_time
from tests.unit.pipelines.fakes import FakeModels, FakeSequence, ScriptedVoice

TENTH = np.zeros(1600, "<i2").tobytes()
FORMAT = AudioFormat(Encoding.LINEAR_PCM, 16_000)


async def waited(precedence: Precedence) -> float:
    loop = asyncio.get_running_loop()
    began = loop.time()
    await precedence.wait()
    return loop.time() - began


def test_nobody_waits_while_nobody_tells():
    async def main() -> None:
        precedence = Precedence()
        assert await waited(precedence) == 0
        precedence.begin("told")
        precedence.end("told")
        precedence.end("never begun")
        assert await waited(precedence) == 0

    virtual_time.run(main())


def test_others_wait_until_everybody_has_told():
    async def main() -> None:
        precedence, loop = Precedence(), asyncio.get_running_loop()
        for teller in ("first", "second", "first"):
            precedence.begin(teller)
        loop.call_later(0.001, precedence.end, "first")
        loop.call_later(0.002, precedence.end, "second")
        assert await waited(precedence) == pytest.approx(0.002)
        assert await waited(precedence) == 0

    virtual_time.run(main())


def test_who_is_not_read_keeps_others_waiting_for_a_moment_only():
    async def main() -> None:
        precedence = Precedence()
        precedence.begin("stuck")
        assert await waited(precedence) == pytest.approx(MAX_SECONDS)
        assert await waited(precedence) == 0
        # Somebody else has his own time, and no more is waited for the one who is stuck.
        precedence.begin("another")
        asyncio.get_running_loop().call_later(0.001, precedence.end, "another")
        assert await waited(precedence) <= MAX_SECONDS

    virtual_time.run(main())


class NotingModels(FakeModels):
    """Notes when sequences are asked to end."""

    def __init__(self) -> None:
        super().__init__()
        self.ended_at: list[float] = []

    def open_sequence(self, options: RecognitionOptions = NO_OPTIONS) -> FakeSequence:
        sequence = NotingSequence(self, options)
        self.sequences.append(sequence)
        return sequence


class NotingSequence(FakeSequence):
    """One of them."""

    async def send(self, audio: np.ndarray, *, decode: bool, end: bool, due: float | None = None) -> Hypothesis:
        if end:
            self.models.ended_at.append(asyncio.get_running_loop().time())
        return await super().send(audio, decode=decode, end=end)


def speaker(workload: Workload, *script: tuple[float, float], models: FakeModels | None = None) -> Conversation:
    return Conversation(ConversationConfig(FORMAT), models or FakeModels(), ScriptedVoice(*script), workload)


async def talk(conversation: Conversation, seconds: float) -> None:
    for _ in range(round(seconds * 10)):
        await conversation.add_audio(TENTH)
        await asyncio.sleep(0.1)


async def close(*conversations: Conversation) -> None:
    for conversation in conversations:
        await conversation.close()


async def read(conversation: Conversation, write: Callable[[Message], Awaitable[None]]) -> None:
    async for message in conversation.outbox:
        await write(message)


def test_a_caller_who_does_not_read_a_reply_keeps_others_waiting_for_a_moment_only():
    async def main() -> None:
        workload, loop, told, read_on = Workload(), asyncio.get_running_loop(), asyncio.Event(), asyncio.Event()
        speaking, other = speaker(workload, (1, 1), (9, 0)), speaker(workload, (9, 0))

        async def get_stuck(message: Message) -> None:
            if isinstance(message, Reply):
                told.set()
                await read_on.wait()

        reader, talking = asyncio.create_task(read(speaking, get_stuck)), asyncio.create_task(talk(speaking, 3))
        await told.wait()
        began = loop.time()
        await other.add_audio(TENTH)
        assert loop.time() - began == pytest.approx(MAX_SECONDS)
        await other.add_audio(TENTH)
        assert loop.time() - began == pytest.approx(MAX_SECONDS)
        read_on.set()
        await talking
        await close(speaking, other)
        await reader

    virtual_time.run(main())


def test_audio_of_others_and_the_end_of_the_sequence_wait_until_a_reply_is_written():
    async def main() -> None:
        workload, loop, told = Workload(), asyncio.get_running_loop(), asyncio.Event()
        models = NotingModels()
        speaking, other = speaker(workload, (1, 1), (9, 0), models=models), speaker(workload, (9, 0))
        written: list[float] = []

        async def write(message: Message) -> None:
            if isinstance(message, Reply):
                told.set()
            await asyncio.sleep(0.001)
            if isinstance(message, Reply):
                written.append(loop.time())

        writer, talking = asyncio.create_task(read(speaking, write)), asyncio.create_task(talk(speaking, 3))
        await told.wait()
        await other.add_audio(TENTH)
        heard_at = loop.time()
        await talking
        assert written == [pytest.approx(heard_at)]
        assert models.ended_at == [pytest.approx(heard_at)]
        await close(speaking, other)
        await writer

    virtual_time.run(main())


def test_audio_that_may_complete_an_utterance_is_heard_before_other_audio():
    async def main() -> None:
        workload = Workload()
        speaking, other = speaker(workload, (1, 1), (9, 0)), speaker(workload, (9, 1))
        while speaking.phase != "pausing":
            await talk(speaking, 0.1)
        order: list[str] = []

        async def say(name: str, conversation: Conversation) -> None:
            await conversation.add_audio(TENTH)
            order.append(name)

        await asyncio.gather(say("other", other), say("speaking", speaking))
        assert order == ["speaking", "other"]
        await close(speaking, other)

    virtual_time.run(main())


def test_a_conversation_that_is_given_up_keeps_nobody_waiting():
    async def main() -> None:
        workload = Workload()
        speaking = speaker(workload, (1, 1), (9, 0), models=FakeModels(recognition_seconds=0.0))
        await talk(speaking, 1.5)
        workload.precedence.begin(speaking)
        await speaking.close()
        assert await waited(workload.precedence) == 0

    virtual_time.run(main())
