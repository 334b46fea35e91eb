from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pipelines.dialog.sessions import DialogSessions
from pipelines.load.workload import Workload
from service.admission.admission import Admission, RecordingMemory
from service.sessions.dialogs import Dialogs
from service.sessions.host import SessionHost
from service.sessions.lifetime import Limits
from service.sessions.open_conversations import OpenConversations
from service.telephone.audiosocket import AudioSocketServer
from tests.unit.pipelines.dialog.agents import agent_of
from tests.unit.service.harness import FakeVoice
from tests.unit.service.telephone.exchange import Exchange, Notes, OrderingModels

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@pytest.fixture
async def exchange() -> AsyncIterator[Exchange]:
    models, voice = OrderingModels(0.001, 0.001, 0.001, sentence_seconds=0.25), FakeVoice(0.0)
    admission = Admission(4)
    admission.open()
    dialogs = Dialogs({"bar": agent_of()}, DialogSessions())
    open_conversations = OpenConversations(Workload())
    host = SessionHost(
        models, voice, admission, Limits(), open_conversations, RecordingMemory(1_000_000), dialogs=dialogs
    )
    observer = Notes()
    server = AudioSocketServer(host, "127.0.0.1", 0, "bar", observer=observer)
    await server.open()
    try:
        yield Exchange(server, models, voice, host, observer)
    finally:
        await server.leave()
        await server.close()
    assert not open_conversations.count
    assert not models.open_sequences
