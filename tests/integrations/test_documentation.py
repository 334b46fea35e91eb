"""Programs of docs/integrations.md, http.md and riva.md run as they stand there, but for addresses and recordings."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from service.processes.child_process import listening
from tests.integrations.environments import python_for, run_alone
from tests.integrations.recordings import LIGHTS, words

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parent
DOCUMENT = HERE.parents[1] / "docs" / "integrations.md"
PROGRAMS = dict(re.findall(r"<!-- environment: (\w+) -->\n```python\n(.*?)```", DOCUMENT.read_text("utf-8"), re.DOTALL))


FURTHER = [
    (f"{name} {number}", client, program)
    for name in ("http.md", "riva.md")
    for number, (client, program) in enumerate(
        re.findall(
            r"<!-- environment: (\w+) -->\n```python\n(.*?)```", (DOCUMENT.parent / name).read_text("utf-8"), re.DOTALL
        )
    )
]
"""Programs of other pages, each with the client whose environment it needs."""


@pytest.fixture
def wyoming_address(server_address: str, tmp_path: Path) -> Iterator[str]:
    arguments = ["-m", "vivavoce", "wyoming", "--uri", "tcp://127.0.0.1:0", "--server", server_address]
    with listening([*arguments, "--budget-ms", "30000"], tmp_path / "wyoming.txt") as (_, uri):
        yield uri.removeprefix("tcp://")


def test_every_client_has_a_program() -> None:
    clients = {requirements.parent.name for requirements in HERE.glob("*/requirements.txt")}

    assert set(PROGRAMS) == (clients - {"microphone"}) | {"wyoming"}
    assert DOCUMENT.read_text("utf-8").count("```python") == len(PROGRAMS)


@pytest.mark.parametrize("client", PROGRAMS)
def test_the_program_hears_the_command(
    client: str, server_address: str, http_url: str, wyoming_address: str, command: Path
) -> None:
    python = Path(sys.executable) if client == "wyoming" else python_for(HERE / client)
    program = PROGRAMS[client].replace("localhost:50051", server_address).replace("localhost:10300", wyoming_address)
    program = program.replace("localhost:8080", http_url.removeprefix("http://"))
    assert "localhost" not in program

    output = run_alone(python, "-W", "ignore::DeprecationWarning", "-c", program, folder=command.parent)

    heard = words(output)
    assert any(heard[begin : begin + len(LIGHTS)] == LIGHTS for begin in range(len(heard))), output


@pytest.mark.parametrize(("client", "program"), [it[1:] for it in FURTHER], ids=[it[0] for it in FURTHER])
def test_the_programs_of_other_pages_run(
    client: str, program: str, server_address: str, http_url: str, command: Path, tmp_path: Path
) -> None:
    program = program.replace("http://127.0.0.1:8080", http_url).replace("localhost:50051", server_address)
    program = program.replace("question.wav", str(command)).replace("demo/", f"{HERE.parents[1]}/demo/")
    program = program.replace("vv_…", "vv_any")

    output = run_alone(python_for(HERE / client), "-W", "ignore::DeprecationWarning", "-c", program, folder=tmp_path)

    expected = {
        "closes.wav": "When was the cargo boat built",
        "natural_query": "nine",
        "response.done": "response.done",
    }
    assert all(said in output for sign, said in expected.items() if sign in program), output
    for name in ("closes.wav", "reply.pcm"):
        assert name not in program or (tmp_path / name).stat().st_size > 10_000
