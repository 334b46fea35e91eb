"""Conversations that an agent holds, for tests in virtual time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from pipelines.data.dialog import events
from pipelines.data.messages import Reply
from pipelines.dialog.session import DialogSession
from pipelines.load.workload import Workload
from pipelines.session.config import ConversationConfig
from pipelines.session.conversation import Conversation
from pipelines.turns.observer import TurnObserver
from tests.unit.pipelines.dialog.agents import BAR, agent_of
from tests.unit.pipelines.dialog.test_dialog_turns import OrderingModels
from tests.unit.pipelines.fakes import ScriptedVoice

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from pipelines.data.dialog.actions import Fulfil
    from pipelines.dialog.fulfilment import Fulfiller


class Ends(TurnObserver):
    """Keeps which fulfilments have ended: name, seconds and outcome."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, float, str]] = []

    def fulfilled(self, conversation: str, name: str, seconds: float, outcome: str) -> None:
        self.heard.append((name, seconds, outcome))


class Baker:
    """Carries orders out, after some time."""

    def __init__(self, seconds: float = 0.1, *results: events.Event, error: Exception | None = None) -> None:
        self.seconds, self.results, self.error = seconds, results, error
        self.tasks: list[Fulfil] = []

    async def carry_out(self, task: Fulfil, session: str) -> AsyncIterator[Any]:
        assert session
        self.tasks.append(task)
        for result in self.results:
            yield result
        await asyncio.sleep(self.seconds)
        if self.error is not None:
            raise self.error
        yield events.Fulfilled(asyncio.get_running_loop().time(), task.number, say="It is ready.")


def session_of(form: dict[str, Any] = BAR, fulfillers: Mapping[str, Fulfiller] | None = None) -> DialogSession:
    clock = asyncio.get_running_loop().time
    session = DialogSession(agent_of(form), clock, fulfillers or {})
    session.begin()
    return session


def conversation_with(session: DialogSession, observer: TurnObserver | None = None, **more: Any) -> Conversation:
    config = ConversationConfig(dialog=session, **more)
    voice = ScriptedVoice((600.0, 0.0)) if config.audio_format else None
    conversation = Conversation(config, OrderingModels(), voice, Workload(observer=observer))
    conversation.dialog.begin()
    return conversation


async def told(conversation: Conversation) -> list[Reply]:
    return [message async for message in conversation.outbox if isinstance(message, Reply)]


async def typed(conversation: Conversation, *texts: str, wait: float = 0.0) -> list[Reply]:
    for text in texts:
        await conversation.add_text(text)
        await asyncio.sleep(1)
    await asyncio.sleep(wait)
    await conversation.half_close()
    replies = await told(conversation)
    await conversation.close()
    return replies
