"""Every program in docs/integrations.md runs as it stands there, but for the address and the name of the recording."""

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
