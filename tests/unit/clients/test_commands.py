"""Which commands there are: the client's own, and those of other distributions, each loaded when it is needed."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata

import pytest

from vivavoce.cli import _commands, run

Capture = pytest.CaptureFixture[str]


def contribute(monkeypatch: pytest.MonkeyPatch, **commands: str) -> None:
    """Installs these commands, by module and attribute, in place of the server's."""
    entries = metadata.EntryPoints(
        metadata.EntryPoint(name, value, _commands.GROUP) for name, value in commands.items()
    )
    monkeypatch.setattr(_commands, "entry_points", entries.select)


def test_a_command_of_another_distribution_is_listed_and_runs(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    contribute(monkeypatch, sing="tests.unit.clients.singing:sing")

    assert run(["--help"]) == 0
    assert "Sing a song." in capsys.readouterr().out
    assert run(["sing", "--loud"]) == 0
    assert capsys.readouterr().out == "LA LA LA\n"


def test_without_the_server_the_help_lists_the_clients_own(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    contribute(monkeypatch)

    assert run(["--help"]) == 0
    listed = capsys.readouterr().out.partition("Commands:")[2].splitlines()
    assert [line.split()[0] for line in listed if line.startswith("  ") and line[2] != " "] == [
        "ask", "converse", "mcp", "mic", "models", "say", "wyoming"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "bringer", "what"),
    [
        (["serve"], "the server", "./clients '.[serve]'"),
        (["serve", "--port", "0"], "the server", "./clients '.[serve]'"),
        (["train", "nlu", "--help"], "the laboratory", "./clients . './lab[train]'"),
        (["eval"], "the laboratory", "./clients . './lab[eval]'"),
        (["tune"], "the laboratory", "./clients . './lab[bench]'"),
    ],
)
def test_commands_of_what_is_not_installed_say_what_to_install(
    arguments: list[str], bringer: str, what: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    contribute(monkeypatch)

    assert run(arguments) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == (
        f"`vivavoce {arguments[0]}` comes with {bringer}; "
        f"install it with `pip install {what}` in a checkout of the project.\n"
    )


def test_every_installed_command_is_known_where_it_is_missing() -> None:
    installed = {entry.name for entry in metadata.entry_points(group=_commands.GROUP)}
    assert {"agent", "knowledge", "serve", "token"} <= installed <= set(_commands._EXTRAS_OF_OTHERS)


def test_a_command_loads_no_other() -> None:
    program = (
        "import sys; from vivavoce.cli import run; run(['ask', '--help']); "
        "print(sorted(name for name in sys.modules if name.startswith(('service', 'modelkit', 'benchmarks', "
        "'vivavoce.cli.mic', 'vivavoce.wyoming', 'soundfile'))), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stderr.strip() == "[]"


def test_without_its_packages_the_command_line_says_what_to_install() -> None:
    program = "import sys; sys.modules['click'] = None; from vivavoce.__main__ import main; main()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert done.stderr == (
        "The command line needs the package click; "
        "install it with `pip install './clients[cli]'` in a checkout of the project.\n"
    )
