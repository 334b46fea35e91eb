"""`vivavoce agent`: new, check and test."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import demo
from service.agent_cli import agent


def run(*arguments: object) -> Result:
    return CliRunner().invoke(agent, [*map(str, arguments)])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = run("new", tmp_path / "agent")
    assert made.exit_code == 0
    assert f"vivavoce agent test {tmp_path / 'agent'}" in made.output
    return tmp_path / "agent"


def test_new_agent_is_in_order(folder: Path):
    checked = run("check", folder)
    assert (checked.exit_code, checked.output) == (0, f"The agent in {folder} is in order.\n")
    tested = run("test", folder)
    assert (tested.exit_code, tested.output) == (0, "passed  asks for what is missing\n1 of 1 scripts passed.\n")


def test_new_overwrites_nothing(folder: Path):
    again = run("new", folder)
    assert again.exit_code == 1
    assert f"{folder} is not empty: name a new folder, or an empty one." in again.output


def test_check_tells_line_and_cure(folder: Path):
    path = folder / "agent.yaml"
    path.write_text(path.read_text("utf-8").replace("help:", "halp:"), "utf-8")
    checked = run("check", folder)
    assert checked.exit_code == 1
    assert f"{path}, line 5: there is no key 'halp' here: write 'help'\n" in checked.output
    assert f"The agent in {folder} has one problem." in checked.output
    tested = run("test", folder)
    assert tested.exit_code == 1
    assert f"The agent in {folder} cannot be used." in tested.output


def test_a_script_that_fails_is_shown(folder: Path):
    path = folder / "tests/book_table.yaml"
    path.write_text(path.read_text("utf-8").replace("asked: people", "asked: area"), "utf-8")
    tested = run("test", folder)
    assert tested.exit_code == 1
    assert "FAILED  asks for what is missing\n    agent: Hello!" in tested.output
    assert "    turn 2: asked: 'area' was expected, 'people' came\n" in tested.output
    assert "1 of 1 scripts failed." in tested.output


def test_verbose_shows_what_is_said(folder: Path):
    assert "caller: tomorrow\n    agent: For how many people?" in run("test", "-v", folder).output


def test_no_script_of_that_name(folder: Path):
    tested = run("test", "--only", "nothing of the kind", folder)
    assert tested.exit_code == 1
    assert "has no such script: write one, or change --only." in tested.output


def test_chat_holds_a_dialog(folder: Path):
    said = "I want to book a table\n\ntomorrow\nfour\nyes\ngoodbye\nnever read\n"
    held = CliRunner().invoke(agent, ["chat", str(folder)], input=said)
    assert held.exit_code == 0
    assert held.output.splitlines() == [
        "Hello! I book tables. What can I do for you?",
        "For which day?",
        "For how many people?",
        "A table inside for four, tomorrow. Is that right?",
        "Your table is booked.",
        "Goodbye.",
    ]


def test_chat_tells_what_is_to_be_carried_out():
    coffee_bar = Path(demo.__file__).parent / "agents/coffee_bar"
    held = CliRunner().invoke(agent, ["chat", str(coffee_bar)], input="a large latte please\nyes\n")
    assert sorted(held.output.splitlines()[2].strip("[]").removeprefix("order: ").split(", ")) == [
        "coffeeDrink = latte",
        "count = 1",
        "size = large",
    ]


def test_chat_with_no_agent(tmp_path: Path):
    held = run("chat", tmp_path)
    assert held.exit_code == 1
    assert "cannot be used" in held.output
