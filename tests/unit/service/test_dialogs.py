"""Dialogs on a real socket: agents chosen by name, sessions over streams, and what is told with replies."""

from __future__ import annotations

import asyncio
import inspect
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import grpc
import pytest

import demo
import pipelines.dialog.agent
import vivavoce
from pipelines.data.predictions import IntentPrediction
from pipelines.dialog.agent.problems import AgentError
from pipelines.dialog.sessions import DialogSessions
from service.sessions.dialogs import Dialogs, read_dialogs
from tests.unit.pipelines.dialog.agents import agent_of
from tests.unit.pipelines.dialog.dialog_conversations import Baker
from tests.unit.pipelines.fakes import INSTANT, FakeModels
from tests.unit.service.harness import Harness
from tests.unit.service.refusals import assert_refused
from vivavoce.v1 import conversation_pb2 as pb
from vivavoce.v1 import reply_pb2

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

TEMPLATE = Path(pipelines.dialog.agent.__file__).parent / "trades/bookings"
COFFEE_BAR = Path(demo.__file__).parent / "agents/coffee_bar"


@dataclass
class OrderingModels(FakeModels):
    async def predict(self, text: str, due: float | None = None) -> IntentPrediction:
        return IntentPrediction("order" if "latte" in text else "none", 0.9, (), INSTANT)


@pytest.fixture
async def harness() -> AsyncIterator[Harness]:
    dialogs = Dialogs({"bar": agent_of()}, DialogSessions())
    async with Harness.running(models=OrderingModels(0.001, 0.001, 0.001), dialogs=dialogs) as running:
        yield running


def requests(*texts: str, session: str = "", agent: str = "bar", **parameters: str) -> list[pb.ConverseRequest]:
    opened = pb.SessionConfig(id=session, parameters=parameters)
    config = pb.ConversationConfig(agent=agent, session=opened)
    return [pb.ConverseRequest(config=config), *(pb.ConverseRequest(text=text) for text in texts)]


async def held(harness: Harness, *texts: str, **chosen: str) -> tuple[str, list[reply_pb2.Reply]]:
    responses = await harness.converse(requests(*texts, **chosen))
    replies = [response.reply for response in responses if response.HasField("reply")]
    return responses[0].started.greeting, replies


async def test_a_dialog(harness: Harness):
    greeting, replies = await held(harness, "a latte please", "small", "yes", house="Ada's")
    assert greeting == "Hello."
    assert [reply.speech_text for reply in replies] == ["Which size?", "1 small latte?", "Done."]
    asking, confirming, done = (reply.dialog for reply in replies)
    assert asking == reply_pb2.Dialog(
        intent="order",
        slots={"drink": "latte", "count": "1"},
        asked="size",
        parameters={"house": "Ada's"},
        cause=reply_pb2.DIALOG_CAUSE_TURN,
    )
    assert confirming.confirming
    (fulfilment,) = done.fulfilments
    slots = {"drink": "latte", "size": "small", "count": "1"}
    assert fulfilment == reply_pb2.Fulfilment(number=1, name="order", intent="order", slots=slots)
    assert (done.intent, done.end) == ("", reply_pb2.DIALOG_END_UNSPECIFIED)


async def test_a_dialog_ends(harness: Harness):
    _, (reply,) = await held(harness, "goodbye")
    assert reply.dialog.end == reply_pb2.DIALOG_END_DONE


async def test_a_session_goes_on_in_another_stream(harness: Harness):
    await held(harness, "a latte please", session="kiosk 7")
    greeting, (reply,) = await held(harness, "small", session="kiosk 7")
    assert (greeting, reply.speech_text) == ("", "1 small latte?")
    _, (reply,) = await held(harness, "small", session="kiosk 8")
    assert reply.dialog.intent == ""


async def asked(harness: Harness, text: str, session: str = "kiosk 7", agent: str = "bar") -> pb.AskResponse:
    return await harness.stub.Ask(pb.AskRequest(text=text, agent=agent, session=pb.SessionConfig(id=session)))


async def test_typed_turns_of_a_session_are_one_dialog(harness: Harness):
    said = [(await asked(harness, text)).reply for text in ("a latte please", "small", "yes")]
    assert [reply.speech_text for reply in said] == ["Which size?", "1 small latte?", "Done."]
    assert [fulfilment.name for fulfilment in said[-1].dialog.fulfilments] == ["order"]
    # It is the same session in a conversation.
    _, (reply,) = await held(harness, "goodbye", session="kiosk 7")
    assert reply.dialog.end == reply_pb2.DIALOG_END_DONE


async def test_what_a_fulfilment_says_follows_a_typed_turn():
    dialogs = Dialogs({"bar": agent_of()}, DialogSessions(fulfillers={"bar": {"order": Baker()}}))
    async with Harness.running(models=OrderingModels(0.001, 0.001, 0.001), dialogs=dialogs) as harness:
        for text in ("a latte please", "small"):
            assert not (await asked(harness, text)).followed
        done = await asked(harness, "yes")
    (ready,) = done.followed
    assert (done.reply.dialog.cause, ready.dialog.cause) == (
        reply_pb2.DIALOG_CAUSE_TURN,
        reply_pb2.DIALOG_CAUSE_FULFILMENT,
    )
    assert ready.speech_text == "It is ready."


@pytest.mark.parametrize(
    ("session", "agent", "reason", "field"),
    [
        ("kiosk", "", "SESSION_WITHOUT_AGENT", "session"),
        ("kiosk", "cafe", "UNKNOWN_AGENT", "agent"),
        ("k" * 129, "bar", "SESSION_ID_TOO_LONG", "session.id"),
    ],
)
async def test_a_typed_turn_that_no_agent_can_answer(
    harness: Harness, session: str, agent: str, reason: str, field: str
):
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await asked(harness, "a latte please", session, agent)
    assert_refused(refused.value, reason, field)
    assert "config." not in refused.value.details()


async def test_keys_and_parameters_in_a_stream(harness: Harness):
    update = pb.ConversationUpdate(session=pb.SessionParameters(parameters={"house": "Ada's"}))
    call = harness.stub.Converse()
    for request in (*requests("a latte please"), pb.ConverseRequest(update=update)):
        await call.write(request)
    assert (await call.read()).started.greeting == "Hello."
    assert (await call.read()).reply.dialog.asked == "size"
    await call.write(pb.ConverseRequest(dtmf=pb.Dtmf(keys="1")))
    reply = (await call.read()).reply
    assert (reply.turn, reply.speech_text) == (2, "1 small latte?")
    assert reply.dialog.cause == reply_pb2.DIALOG_CAUSE_KEYS
    assert reply.dialog.parameters == {"house": "Ada's"}
    await call.done_writing()
    assert await call.read() is grpc.aio.EOF


@pytest.mark.parametrize(
    ("agent", "request_", "field", "reason"),
    [
        ("bar", pb.ConverseRequest(dtmf=pb.Dtmf()), "dtmf.keys", "BAD_KEYS"),
        ("bar", pb.ConverseRequest(dtmf=pb.Dtmf(keys="12E")), "dtmf.keys", "BAD_KEYS"),
        ("bar", pb.ConverseRequest(dtmf=pb.Dtmf(keys="1" * 33)), "dtmf.keys", "BAD_KEYS"),
        ("", pb.ConverseRequest(dtmf=pb.Dtmf(keys="1")), "dtmf", "NO_AGENT"),
        (
            "",
            pb.ConverseRequest(update=pb.ConversationUpdate(session=pb.SessionParameters())),
            "update.session",
            "NO_AGENT",
        ),
        (
            "bar",
            pb.ConverseRequest(
                update=pb.ConversationUpdate(session=pb.SessionParameters(parameters={"x": "y" * 1_000}))
            ),
            "update.session.parameters",
            "PARAMETER_TOO_LONG",
        ),
    ],
)
async def test_bad_keys_and_parameters(
    harness: Harness, agent: str, request_: pb.ConverseRequest, field: str, reason: str
):
    with pytest.raises(grpc.RpcError) as caught:
        await harness.converse([*requests(agent=agent), request_])
    assert_refused(caught.value, reason, field)


async def test_without_an_agent_every_turn_stands_alone(harness: Harness):
    greeting, (reply,) = await held(harness, "a latte please", agent="")
    assert (greeting, reply.speech_text) == ("", "")
    assert not reply.HasField("dialog")


@pytest.mark.parametrize(
    ("chosen", "field", "reason", "message"),
    [
        ({"agent": "pub"}, "config.agent", "UNKNOWN_AGENT", "choose one of bar"),
        ({"agent": "", "session": "x"}, "config.session", "SESSION_WITHOUT_AGENT", "name one in config.agent"),
        ({"session": "x" * 129}, "config.session.id", "SESSION_ID_TOO_LONG", "128 are the most"),
        ({"x": "y" * 1_000}, "config.session.parameters", "PARAMETER_TOO_LONG", "shorten it"),
        ({str(n): "" for n in range(51)}, "config.session.parameters", "TOO_MANY_PARAMETERS", "50 are the most"),
    ],
)
async def test_bad_requests(harness: Harness, chosen: dict[str, str], field: str, reason: str, message: str):
    with pytest.raises(grpc.RpcError) as caught:
        await held(harness, **chosen)
    assert_refused(caught.value, reason, field)
    assert message in str(caught.value.details())


async def test_a_session_of_two_streams(harness: Harness):
    first = harness.stub.Converse()
    await first.write(requests(session="a")[0])
    assert (await first.read()).started.greeting == "Hello."
    with pytest.raises(grpc.RpcError) as caught:
        await held(harness, session="a")
    assert_refused(caught.value, "SESSION_IN_USE", "config.session.id")
    await first.done_writing()
    assert await first.read() is grpc.aio.EOF
    await harness.until(lambda: not harness.admission.is_busy())
    assert (await held(harness, "a latte please", session="a"))[1]


def test_a_service_without_agents_loads_nothing_for_them():
    unwanted = ("pydantic", "yaml", "httpx", "redis", "psycopg", "pypdfium2", "docx", "selectolax")
    code = f"import sys, service.app; print([name for name in {unwanted} if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert found.stdout == "[]\n"


def test_agents_of_a_service():
    dialogs = read_dialogs((TEMPLATE, COFFEE_BAR))
    assert list(dialogs.agents) == ["my_agent", "coffee_bar"]
    assert read_dialogs(()) == Dialogs()
    with pytest.raises(AgentError, match="a second agent is called 'my_agent': rename"):
        read_dialogs((TEMPLATE, TEMPLATE))
    with pytest.raises(AgentError, match="no agent"):
        read_dialogs((TEMPLATE / "values",))


async def test_the_sdk_presses_keys(harness: Harness):
    confirmed = asyncio.Event()

    async def turns() -> AsyncIterator[vivavoce.TypedTurn | vivavoce.ConversationUpdate]:
        yield vivavoce.ConversationUpdate(parameters={"house": "Ada's"})
        yield vivavoce.TypedTurn("a latte please")
        await confirmed.wait()

    dialogs = []
    async with vivavoce.connect(harness.address) as client:
        conversation = client.converse(turns(), audio=None, agent="bar", reconnect_seconds=5)
        async for event in conversation:
            if isinstance(event, vivavoce.Reply) and event.dialog is not None:
                dialogs.append(event.dialog)
                if event.dialog.asked == "size":
                    conversation.press_keys("1")
                else:
                    confirmed.set()
    assert [dialog.cause for dialog in dialogs] == [vivavoce.DialogCause.TURN, vivavoce.DialogCause.KEYS]
    assert dialogs[1].parameters == {"house": "Ada's"}
    assert dialogs[1].confirming


async def test_the_sdk_holds_a_dialog(harness: Harness):
    session = vivavoce.Session("kiosk 9", {"house": "Ada's"})
    turns = [vivavoce.TypedTurn("a latte please"), vivavoce.TypedTurn("small"), vivavoce.TypedTurn("yes")]
    async with vivavoce.connect(harness.address) as client:
        events = [event async for event in client.converse(turns, audio=None, agent="bar", session=session)]
    assert [event.greeting for event in events if isinstance(event, vivavoce.Started)] == ["Hello."]
    dialogs = [event.dialog for event in events if isinstance(event, vivavoce.Reply)]
    assert dialogs[0].asked == "size"
    assert dialogs[1].confirming
    assert [one.slots["size"] for one in dialogs[2].fulfilments] == ["small"]
    assert dialogs[2].parameters == {"house": "Ada's"}


def test_the_sdk_without_asyncio_names_agent_and_session():
    options = inspect.signature(vivavoce.sync.Client.converse).parameters["options"]
    assert options.annotation == "Unpack[ConverseOptions]"
    assert {"agent", "session"} <= vivavoce.ConverseOptions.__annotations__.keys()
