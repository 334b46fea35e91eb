"""Dialogs in the SDK: what is asked for, and what comes back, against the fake service."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import vivavoce
from vivavoce._dialog import add_dialog, dialog_message, dialog_of
from vivavoce._look_back import LookBack
from vivavoce._responses import event_from_response
from vivavoce.cli import run
from vivavoce.testing._messages import response_of
from vivavoce.v1 import conversation_pb2 as pb
from vivavoce.v1 import reply_pb2

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.clients.fake_service import FakeService

DIALOG = vivavoce.Dialog(
    intent="order",
    slots={"size": "large"},
    asked="drink",
    confirming=True,
    fulfilments=(vivavoce.Fulfilment(2, "order", "order", {"size": "small"}),),
    end=vivavoce.DialogEnd.HAND_OVER,
    parameters={"house": "Ada's"},
    cause=vivavoce.DialogCause.FULFILMENT,
)


def test_agent_and_session_are_asked_for():
    config = pb.ConversationConfig()
    add_dialog(config, "bar", vivavoce.Session("kiosk 7", {"house": "Ada's"}))
    assert config == pb.ConversationConfig(
        agent="bar", session=pb.SessionConfig(id="kiosk 7", parameters={"house": "Ada's"})
    )


def test_without_them_nothing_is_sent():
    config = pb.ConversationConfig()
    add_dialog(config, "", None)
    assert config == pb.ConversationConfig()


@pytest.mark.parametrize(
    ("agent", "session", "field"),
    [("\ud800", None, "config.agent"), ("bar", vivavoce.Session("\ud800"), "config.session")],
)
def test_what_cannot_be_sent_names_its_field(agent: str, session: vivavoce.Session | None, field: str):
    with pytest.raises(vivavoce.InvalidRequest) as caught:
        add_dialog(pb.ConversationConfig(), agent, session)
    assert caught.value.field == field


def test_a_session_of_another_type():
    with pytest.raises(TypeError, match=r"session is `vivavoce\.Session\(\.\.\.\)` or None, not str"):
        add_dialog(pb.ConversationConfig(), "bar", "kiosk 7")


@pytest.mark.parametrize("dialog", [DIALOG, vivavoce.Dialog(), vivavoce.Dialog(end=vivavoce.DialogEnd.DONE)])
def test_a_dialog_comes_back_as_it_was_told(dialog: vivavoce.Dialog):
    assert dialog_of(dialog_message(dialog)) == dialog


def test_an_end_of_a_newer_server():
    told = reply_pb2.Dialog()
    told.ParseFromString(reply_pb2.Dialog(end=77).SerializeToString())
    assert dialog_of(told).end is vivavoce.DialogEnd.UNKNOWN
    told.ParseFromString(reply_pb2.Dialog(cause=77).SerializeToString())
    assert dialog_of(told).cause is vivavoce.DialogCause.UNKNOWN
    newer = vivavoce.Dialog(end=vivavoce.DialogEnd.UNKNOWN, cause=vivavoce.DialogCause.UNKNOWN)
    assert dialog_message(newer) == reply_pb2.Dialog()


def test_a_server_that_tells_no_cause():
    assert dialog_of(reply_pb2.Dialog()).cause is vivavoce.DialogCause.TURN


def test_what_an_agent_says_by_itself_answers_no_request():
    look_back = LookBack(None)
    look_back.sent(pb.ConverseRequest(text="a latte", request_id="1"))
    look_back.sent(pb.ConverseRequest(dtmf=pb.Dtmf(keys="1")))
    for request in ({"a": "b"}, {"c": "d"}):
        update = pb.ConversationUpdate(session=pb.SessionParameters(parameters=request))
        look_back.sent(pb.ConverseRequest(update=update))
    latency = vivavoce.Latency(0.0, ())
    by_itself = vivavoce.Dialog(cause=vivavoce.DialogCause.NO_INPUT)
    look_back.answered_by(
        vivavoce.Prompt(1, "", None, (), None, vivavoce.ReplyStatus.COMPLETE, (), latency, False, dialog=by_itself)
    )
    assert look_back.owed
    _, requests = look_back.begin_anew()
    assert [request.WhichOneof("request") for request in requests] == ["update", "text"]
    assert requests[0].update.session.parameters == {"a": "b", "c": "d"}


def test_a_reply_tells_its_dialog():
    latency = vivavoce.Latency(0.01, ())
    status = vivavoce.ReplyStatus.COMPLETE
    reply = vivavoce.Prompt(1, "", None, (), None, status, (), latency, False, speech_text="Done.", dialog=DIALOG)
    response = response_of(reply)
    assert event_from_response(response) == reply
    assert event_from_response(pb.ConverseResponse(reply=response.prompt.reply)) == reply, "by an older server"
    assert reply.to_dict()["dialog"] == {
        "intent": "order",
        "slots": {"size": "large"},
        "asked": "drink",
        "confirming": True,
        "fulfilments": [{"number": 2, "name": "order", "intent": "order", "slots": {"size": "small"}}],
        "end": "hand_over",
        "parameters": {"house": "Ada's"},
        "cause": "fulfilment",
    }


def test_an_empty_dialog_as_a_dictionary():
    assert vivavoce.Dialog().to_dict() == {
        "intent": None,
        "slots": {},
        "asked": None,
        "confirming": False,
        "fulfilments": [],
        "end": None,
        "parameters": {},
        "cause": "turn",
    }


def test_a_greeting():
    started = vivavoce.Started("c1", "Hello.")
    assert event_from_response(response_of(started)) == started
    assert started.to_dict() == {"event": "started", "conversation_id": "c1", "greeting": "Hello."}
    assert "greeting" not in vivavoce.Started("c1").to_dict()


def test_the_command_names_agent_and_session(service: FakeService, recording: Path):
    arguments = ["converse", str(recording), "--server", service.address, "--no-realtime", "--json"]
    assert run([*arguments, "--agent", "bar", "--session", "kiosk 7"]) == 0
    config = service.received[0].config
    assert (config.agent, config.session.id) == ("bar", "kiosk 7")
    service.received.clear()
    assert run(arguments) == 0
    config = service.received[0].config
    assert (config.agent, config.HasField("session")) == ("", False)
