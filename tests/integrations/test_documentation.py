"""Programs of docs/integrations.md, http.md and riva.md run as they stand there, but for addresses and recordings."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from service.processes.child_process import listening
from tests.integrations.environments import python_for, run_alone
from tests.integrations.recordings import LIGHTS, words
from tests.pages import blocks, page

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parent
DOCUMENT = page("docs/integrations.md")
PROGRAMS = {block.environment: block.text for block in blocks(DOCUMENT, "python")}
FURTHER = [
    (f"{name} {number}", block.environment, block.text)
    for name in ("http.md", "riva.md")
    for number, block in enumerate(each for each in blocks(page(f"docs/{name}"), "python") if each.environment)
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
    assert DOCUMENT.count("```python") == len(PROGRAMS)


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
