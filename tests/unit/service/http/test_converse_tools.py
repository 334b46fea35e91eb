"""Tools over ``WS /v1/converse``: calls and results as JSON, as the JavaScript client writes and reads them."""

from __future__ import annotations

import asyncio
from typing import Any

from pipelines.dialog.sessions import DialogSessions
from service.admission.admission import Admission
from service.api.vivavoce.handlers import VivavoceApi
from service.api.vivavoce.web_messages import HALF_CLOSE
from service.sessions.dialogs import Dialogs
from service.sessions.host import SessionHost
from tests.unit.pipelines.dialog.agents import agent_of
from tests.unit.pipelines.dialog.test_tools import TOOLS
from tests.unit.service.harness import FakeVoice
from tests.unit.service.http.running import client, running
from tests.unit.service.test_dialogs import OrderingModels


async def test_a_tool_is_called_and_answered():
    admission = Admission(8)
    admission.open()
    dialogs = Dialogs({"bar": agent_of(TOOLS)}, DialogSessions())
    host = SessionHost(OrderingModels(0.001, 0.001, 0.001), FakeVoice(), admission, dialogs=dialogs)
    said: list[Any] = []
    async with (
        asyncio.timeout(10),
        running(VivavoceApi(host).routes) as server,
        client(server) as session,
        session.ws_connect("/v1/converse", protocols=["vivavoce.v1"]) as socket,
    ):
        async with session.get("/v1/agents") as response:
            assert await response.json() == {"agents": ["bar"]}
        await socket.send_json({"config": {"agent": "bar"}})
        for text in ("a latte please", "small", "yes"):
            await socket.send_json({"text": text})
        async for frame in socket:
            message = frame.json()
            if call := message.get("toolCall"):
                assert call["arguments"] == {"drink": "latte", "size": "small", "count": "1"}
                assert (call["name"], call["deadline"]) == ("order", "5s")
                await socket.send_json({"toolResult": {"id": "nonsense"}})
                await socket.send_json({"toolResult": {"id": call["id"], "say": "It comes."}})
            elif notice := message.get("notice"):
                said.append(notice["code"])
            elif reply := message.get("reply"):
                said.append(reply.get("speechText", ""))
                if said[-1] == "It comes.":
                    await socket.send_str(HALF_CLOSE)
    assert said == ["Which size?", "1 small latte?", "", "NOTICE_CODE_TOOL_RESULT_IGNORED", "It comes."]
