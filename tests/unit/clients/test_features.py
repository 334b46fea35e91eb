"""What the contract has, every client has: a field that one of them lacks stands here with the reason."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from vivavoce._options import AskOptions, ConverseOptions
from vivavoce.v1 import conversation_pb2 as pb
from vivavoce.v1 import reply_pb2

TYPES = (Path(__file__).parents[3] / "clients/web/vivavoce.d.ts").read_text(encoding="utf-8")

PYTHON_NAMES = {"reply_budget": "reply_budget_seconds", "language_code": "language"}
NOT_IN_PYTHON = {
    (ConverseOptions, "prompts"): "always asked for: an event of its own, which is a reply as well",
    (AskOptions, "text"): "the first argument of `ask`",
    (AskOptions, "language_code"): "only English is served",
}
NOT_IN_JAVASCRIPT = {
    ("ask", "text"): "the first argument of `ask`",
    ("ask", "current_time"): "a program in a browser has the clock of its user",
}


def camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(other.capitalize() for other in others)


def members(kind: str) -> set[str]:
    """Names of the members of an interface, of an event, or of what `ask` takes."""
    if kind == "ask":
        return set(re.findall(r'"(\w+)"', re.search(r"\n  ask\((.*)", TYPES)[1]))
    pattern = (
        rf'type: "{kind}";(.*?)(?:\n    }}|}}\n)' if kind[0].islower() else rf"export interface {kind} {{(.*?)\n}}"
    )
    return set(re.findall(r"(\w+)\??:", re.search(pattern, TYPES, re.DOTALL)[1]))


def fields(message: type) -> list[str]:
    return [field.name for field in message.DESCRIPTOR.fields]


@pytest.mark.parametrize(
    ("options", "message"), [(ConverseOptions, pb.ConversationConfig), (AskOptions, pb.AskRequest)]
)
def test_python_has_every_field(options: type, message: type):
    known = {*options.__annotations__, *AskOptions.__annotations__}
    missing = {name for name in fields(message) if PYTHON_NAMES.get(name, name) not in known}
    assert missing == {name for kind, name in NOT_IN_PYTHON if kind is options}


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("ConversationConfig", pb.ConversationConfig),
        ("ConversationUpdate", pb.ConversationUpdate),
        ("ask", pb.AskRequest),
        ("Reply", reply_pb2.Reply),
        ("Dialog", reply_pb2.Dialog),
        ("Speaker", reply_pb2.Speaker),
        ("Value", reply_pb2.Value),
        ("Slot", reply_pb2.Slot),
        ("Intent", reply_pb2.Intent),
        ("transcript", pb.Transcript),
        ("toolCall", pb.ToolCall),
        ("speechPaused", pb.SpeechPaused),
        ("interrupted", pb.Interrupted),
    ],
)
def test_javascript_has_every_field(kind: str, message: type):
    known = members(kind)
    missing = {name for name in fields(message) if camel(name) not in known}
    assert missing == {name for of, name in NOT_IN_JAVASCRIPT if of == kind}


def test_javascript_knows_every_message():
    told = set(re.findall(r'type: "(\w+)"', TYPES)) - {"reconnected"}
    # A completed reply is a reply there.
    assert told == {camel(name) for name in fields(pb.ConverseResponse)} - {"replyCompleted"}


@pytest.mark.parametrize(("kind", "values"), [("Dialog", reply_pb2.DialogCause)])
def test_javascript_knows_every_value(kind: str, values):
    names = [name.removeprefix("DIALOG_CAUSE_") for name in values.keys()]  # noqa: SIM118 - an enum of protobuf
    interface = re.search(rf"export interface {kind} {{(.*?)\n}}", TYPES, re.DOTALL)[1]
    assert [name for name in names if name != "UNSPECIFIED" and f'"{name}"' not in interface] == []
