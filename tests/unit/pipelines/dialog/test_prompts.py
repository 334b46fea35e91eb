"""What an agent says by itself in a conversation: greetings, questions after silence, answers to keys, results."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from pipelines.data.dialog import events
from pipelines.data.dialog.turn import Cause
from pipelines.data.messages import Interrupted, Reply, ReplyAudio
from pipelines.errors import InvalidInputError
from pipelines.session.config import ConversationConfig
from pipelines.session.conversation import Conversation
from pipelines.session.keypad import INTERDIGIT_SECONDS
from pipelines.speech.reply_voice import ReplyVoice
from pipelines.turns.state import TurnSettings
from tests import virtual_time
from tests.unit.pipelines.dialog.agents import BAR
from tests.unit.pipelines.dialog.dialog_conversations import conversation_with, session_of, told, typed
from tests.unit.pipelines.dialog.test_dialog_turns import OrderingModels
from tests.unit.pipelines.fakes import ScriptedVoice
from tests.unit.pipelines.spoken import CHUNK, PCM
from tests.unit.pipelines.test_dtmf import silence, tone

if TYPE_CHECKING:
    from pipelines.dialog.session import DialogSession

PATIENT = {**BAR, "no_input": {"after_seconds": 5, "say": "Are you there?", "times": 2, "then": "end"}}


def test_a_greeting_is_spoken_where_replies_are():
    async def hold():
        conversation = conversation_with(session_of(), reply_voice=ReplyVoice())
        await conversation.half_close()
        messages = [message async for message in conversation.outbox]
        await conversation.close()
        (reply,) = (message for message in messages if isinstance(message, Reply))
        assert (reply.turn, reply.transcript, reply.speech_text) == (1, "", "Hello.")
        assert reply.dialog is not None
        assert reply.dialog.cause is Cause.BEGIN
        assert any(isinstance(message, ReplyAudio) and message.turn == 1 for message in messages)

    virtual_time.run(hold())


def test_a_written_greeting_is_no_reply():
    async def hold():
        assert await typed(conversation_with(session_of())) == []

    virtual_time.run(hold())


@pytest.mark.parametrize("spoken", [False, True])
def test_silence_is_noticed_and_ends_the_dialog_at_last(spoken: bool):
    async def hold():
        voice = ReplyVoice() if spoken else None
        conversation = conversation_with(session_of(PATIENT), audio_format=PCM, reply_voice=voice)
        reading = asyncio.create_task(told(conversation))
        for _ in range(600):
            await conversation.add_audio(CHUNK)
            await asyncio.sleep(0.1)
        await conversation.half_close()
        replies = await reading
        await conversation.close()
        asked = [reply for reply in replies if reply.dialog and reply.dialog.cause is Cause.NO_INPUT]
        assert [reply.speech_text for reply in asked] == ["Are you there?", "Are you there?", "Goodbye."]
        assert [reply.dialog.ends for reply in asked if reply.dialog] == ["", "", "end"]

    virtual_time.run(hold())


def test_nobody_is_asked_while_typing():
    async def hold():
        assert len(await typed(conversation_with(session_of(PATIENT)), "a latte please", wait=60)) == 1

    virtual_time.run(hold())


def test_keys_are_an_answer():
    async def hold():
        conversation = conversation_with(session_of())
        await conversation.add_text("a latte please")
        await asyncio.sleep(1)
        conversation.dialog.press("3")
        await asyncio.sleep(0.1)
        conversation.dialog.press("1")
        replies = await typed(conversation)
        assert [reply.speech_text for reply in replies] == ["Which size?", "1 large latte?", "Done."]
        assert [reply.dialog.cause for reply in replies[1:] if reply.dialog] == [Cause.KEYS, Cause.KEYS]
        assert [reply.turn for reply in replies] == [1, 2, 3]

    virtual_time.run(hold())


def test_keys_in_the_audio_are_an_answer_and_no_speech():
    async def hold():
        session = session_of()
        config = ConversationConfig(PCM, dialog=session)
        voice = ScriptedVoice((600.0, 0.0))
        conversation = Conversation(config, OrderingModels(), voice)
        conversation.dialog.begin()
        await conversation.add_text("a latte please")
        await asyncio.sleep(1)
        samples = (20_000 * np.concatenate([tone("3", 0.2), silence(1.0)])).astype("<i2").tobytes()
        for start in range(0, len(samples), 3_200):
            await conversation.add_audio(samples[start : start + 3_200])
            await asyncio.sleep(0.1)
        replies = await typed(conversation)
        assert [reply.speech_text for reply in replies] == ["Which size?", "1 large latte?"]

    virtual_time.run(hold())


def test_keys_one_after_another_are_one_answer():
    async def hold():
        conversation = conversation_with(session_of())
        pressed: list[str] = []
        conversation.dialog._keypad._on_answer = pressed.append
        for key in "12":
            conversation.dialog.press(key)
            await asyncio.sleep(INTERDIGIT_SECONDS / 2)
        assert pressed == []
        await asyncio.sleep(INTERDIGIT_SECONDS)
        for keys in ("3", "4#", "*", "5*#", "7" * 65, "#", "#"):
            conversation.dialog.press(keys)
        assert pressed == ["12", "34#", "*", "5*#", "7" * 64, "7#"]
        await asyncio.sleep(INTERDIGIT_SECONDS)
        conversation.dialog.press("#")
        assert pressed[6:] == ["#"]
        await conversation.close()

    virtual_time.run(hold())


def test_keys_stop_what_is_spoken():
    async def hold():
        conversation = conversation_with(session_of(), reply_voice=ReplyVoice())
        await asyncio.sleep(0.3)
        conversation.dialog.press("7#")
        await conversation.half_close()
        messages = [message async for message in conversation.outbox]
        await conversation.close()
        assert [message.turn for message in messages if isinstance(message, Interrupted)] == [1]

    virtual_time.run(hold())


def test_without_an_agent_there_are_no_keys_and_no_parameters():
    async def hold():
        conversation = Conversation(ConversationConfig(), OrderingModels(), None)
        with pytest.raises(InvalidInputError, match="no agent holds this conversation"):
            conversation.dialog.press("1")
        with pytest.raises(InvalidInputError, match="no agent holds this conversation"):
            conversation.dialog.change({"house": "Ada's"})
        conversation.dialog.begin()
        await conversation.close()

    virtual_time.run(hold())


def test_parameters_change_what_is_worked_out():
    async def hold():
        conversation = conversation_with(session_of())
        replies = asyncio.create_task(told(conversation))
        await conversation.add_text("when do you open")
        await asyncio.sleep(1)
        conversation.dialog.change({"house": "closed"})
        await conversation.add_text("a latte please")
        await conversation.half_close()
        last = (await replies)[-1].dialog
        assert last is not None
        assert last.after.parameters == {"house": "closed"}
        await conversation.close()

    virtual_time.run(hold())


def test_an_interruption_is_noted():
    async def hold():
        session = session_of()
        models = OrderingModels(words="a small latte")
        config = ConversationConfig(PCM, TurnSettings(), dialog=session, reply_voice=ReplyVoice())
        conversation = Conversation(config, models, ScriptedVoice((0.4, 0.0), (2.0, 0.9), (60.0, 0.0)))
        seen: list[bool] = []
        happen = session.happen
        session_type = type(session)

        def noted(self: DialogSession, event: events.Event) -> Any:
            seen.append(isinstance(event, events.Interrupted))
            return happen(event)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(session_type, "happen", noted)
            conversation.dialog.begin()
            for _ in range(40):
                await conversation.add_audio(CHUNK)
                await asyncio.sleep(0.1)
            await conversation.half_close()
            messages = [message async for message in conversation.outbox]
            await conversation.close()
        interrupted = [message for message in messages if isinstance(message, Interrupted)]
        assert len(interrupted) == seen.count(True) == 1

    virtual_time.run(hold())


def test_a_whole_answer_is_probably_the_end():
    async def hold():
        conversation = conversation_with(session_of())
        assert conversation.dialog.weigh_end("large", 0.2) == 0.2
        await conversation.add_text("a latte please")
        await asyncio.sleep(1)
        assert conversation.dialog.weigh_end("large", 0.2) == pytest.approx(0.8)
        assert conversation.dialog.weigh_end("large, no", 0.2) == pytest.approx(0.8)
        assert conversation.dialog.weigh_end("large or", 0.2) == 0.2
        await conversation.close()

    virtual_time.run(hold())


def test_expected_values_are_hints():
    async def hold():
        models = OrderingModels(words="a small one")
        config = ConversationConfig(PCM, dialog=session_of())
        conversation = Conversation(config, models, ScriptedVoice((1.0, 0.9), (60.0, 0.0)))
        conversation.dialog.begin()
        await conversation.add_text("a latte please")
        await asyncio.sleep(1)
        assert conversation.dialog.expected == ("small", "medium", "large")
        for _ in range(10):
            await conversation.add_audio(CHUNK)
            await asyncio.sleep(0.1)
        assert [hint.phrase for hint in models.sequences[0].options.hints] == ["small", "medium", "large"]
        await conversation.close()

    virtual_time.run(hold())
