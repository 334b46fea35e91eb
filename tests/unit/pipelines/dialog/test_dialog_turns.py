"""Turns of a conversation that are part of a dialog: previewed while they are worked out, committed with the reply."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pipelines.data.answers import Document
from pipelines.data.messages import Reply, Status
from pipelines.data.predictions import IntentPrediction
from pipelines.dialog.session import DialogSession
from pipelines.session.config import ConversationConfig
from pipelines.session.conversation import Conversation
from pipelines.speech.reply_voice import ReplyVoice
from pipelines.turns.state import TurnSettings
from tests import virtual_time
from tests.unit.pipelines.dialog.agents import agent_of
from tests.unit.pipelines.fakes import INSTANT, ScriptedVoice
from tests.unit.pipelines.spoken import CHUNK, PCM, SpeakingModels

if TYPE_CHECKING:
    from pipelines.data.dialog.turn import DialogTurn

GUIDE = Document("guide", "Paris is the capital of France.")


@dataclass
class CountingSession(DialogSession):
    previews: list[str] = field(default_factory=list)

    def preview(self, text: str, *more: object, **named: object) -> DialogTurn:
        self.previews.append(text)
        return super().preview(text, *more, **named)


@dataclass
class OrderingModels(SpeakingModels):
    async def predict(self, text: str, due: float | None = None) -> IntentPrediction:
        if "nlu" in self.fail:
            raise self.error
        return IntentPrediction("order" if "latte" in text else "none", 0.9, (), INSTANT)


def begun() -> CountingSession:
    session = CountingSession(agent_of())
    session.begin()
    return session


async def replies_to(conversation: Conversation, *texts: str) -> list[Reply]:
    for text in texts:
        await conversation.add_text(text)
    await conversation.half_close()
    found = [message async for message in conversation.outbox if isinstance(message, Reply)]
    await conversation.close()
    return found


def test_typed_turns_are_one_dialog():
    async def hold():
        session = begun()
        said = []
        for text in ("a latte please", "small", "yes"):
            conversation = Conversation(ConversationConfig(dialog=session), OrderingModels(), None)
            (reply,) = await replies_to(conversation, text)
            said.append(reply.speech_text)
            assert reply.status is Status.COMPLETE
        assert said == ["Which size?", "1 small latte?", "Done."]
        assert reply.dialog is not None
        (fulfil,) = reply.dialog.fulfilled
        assert fulfil.slots == {"drink": "latte", "size": "small", "count": "1"}

    virtual_time.run(hold())


def test_turns_that_are_worked_out_side_by_side_happen_one_after_the_other():
    async def hold():
        conversation = Conversation(ConversationConfig(dialog=begun()), OrderingModels(), None)
        replies = await replies_to(conversation, "a small latte", "no, a large one", "yes")
        assert [reply.speech_text for reply in replies] == ["1 small latte?", "1 large latte?", "Done."]

    virtual_time.run(hold())


def test_speculations_change_nothing():
    async def hold():
        session = begun()
        models = OrderingModels(words="a small latte")
        config = ConversationConfig(PCM, TurnSettings(), dialog=session, reply_voice=ReplyVoice())
        script = ScriptedVoice((0.3, 0.0), (1.0, 0.9), (0.4, 0.0), (1.0, 0.9), (60.0, 0.0))
        conversation = Conversation(config, models, script)
        for _ in range(50):
            await conversation.add_audio(CHUNK)
            await asyncio.sleep(0.1)
        await conversation.half_close()
        replies = [message async for message in conversation.outbox if isinstance(message, Reply)]
        await conversation.close()
        assert len(replies) == 1
        assert len(session.previews) > 1, "the pause was worked out as well"
        assert replies[0].dialog is not None
        assert session.state is replies[0].dialog.after
        assert replies[0].speech_text == "1 small latte?"
        assert models.spoken_texts[-1] == "one small latte?", "it is spoken, without any document"

    virtual_time.run(hold())


def test_questions_are_answered_from_documents_and_the_dialog_goes_on():
    async def hold():
        session = begun()
        config = ConversationConfig(documents=(GUIDE,), dialog=session)
        conversation = Conversation(config, OrderingModels(), None)
        replies = await replies_to(conversation, "a latte please", "what is the capital")
        assert replies[1].speech_text == "Paris is the capital of France. Which size?"

    virtual_time.run(hold())


def test_a_turn_that_is_not_understood_does_not_happen():
    async def hold():
        session = begun()
        before = session.state
        conversation = Conversation(ConversationConfig(dialog=session), OrderingModels(fail={"nlu"}), None)
        (reply,) = await replies_to(conversation, "a latte please")
        assert reply.status is Status.DEGRADED
        assert (reply.dialog, reply.speech_text) == (None, "")
        assert session.state is before

    virtual_time.run(hold())


def test_without_an_agent_nothing_is_said():
    async def hold():
        (reply,) = await replies_to(Conversation(ConversationConfig(), OrderingModels(), None), "a latte please")
        assert (reply.dialog, reply.speech_text, list(reply.results)) == (None, "", ["nlu"])

    virtual_time.run(hold())
