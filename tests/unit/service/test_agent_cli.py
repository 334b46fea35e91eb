"""`vivavoce agent`: new, check and test."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import demo
from pipelines.dialog.agent.scripts import read_scripts
from service.agent_cli import agent


def run(*arguments: object) -> Result:
    return CliRunner().invoke(agent, [*map(str, arguments)])


CURE = "add `confirm` where that harms"
CHANGE = "change one of the two"
TRADES = ("bookings", "orders", "questions")


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


@pytest.mark.parametrize("trade", TRADES)
def test_each_trade_is_in_order_under_its_own_name(trade: str, tmp_path: Path):
    made = run("new", tmp_path / "7 o'clock shop", "--trade", trade)
    assert made.exit_code == 0
    assert f"holds the agent agent_7_o_clock_shop. Try it with: vivavoce agent test {tmp_path}" in made.output
    named = tmp_path / trade
    assert run("new", named, "--trade", trade, "--name", "corner_shop").exit_code == 0
    assert "name: corner_shop\n" in (named / "agent.yaml").read_text("utf-8")
    checked = run("check", named)
    assert (checked.exit_code, checked.output) == (0, f"The agent in {named} is in order.\n")
    assert run("test", named).exit_code == 0


def test_a_terminal_is_asked_for_name_and_trade(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda _: True, raising=False)
    made = CliRunner().invoke(agent, ["new", str(tmp_path / "bar")], input="corner_bar\norders\n")
    assert (
        "Name of the agent [bar]: corner_bar\nWhat does it do (bookings, orders, questions) [bookings]: orders\n"
        in made.output
    )
    assert "name: corner_bar\n" in (tmp_path / "bar/agent.yaml").read_text("utf-8")


def test_a_name_that_is_none(tmp_path: Path):
    made = run("new", tmp_path / "bar", "--name", "the bar")
    assert "'the bar' is no name: write letters, digits and _, a letter first." in made.output
    assert not (tmp_path / "bar").exists()


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


def write(folder: Path, name: str, text: str) -> None:
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(text, "utf-8")


def add(folder: Path, before: str, after: str) -> None:
    text = (folder / "agent.yaml").read_text("utf-8")
    assert before in text
    write(folder, "agent.yaml", text.replace(before, after))


@pytest.mark.parametrize(
    ("before", "after", "warning"),
    [
        ('"For which day?", "Please', '"The day.", "Please', "line 10: the prompt asks for nothing"),
        (
            '["For which day?", "Please say a day, such as tomorrow: for which day?"]',
            '"Say a day."',
            "in the same words",
        ),
        (" Is that right?", "", "line 16: the confirmation ends in no question"),
        (
            "response: Your table is booked.",
            "response: [{say: Yes.}, {when: {area: inside}, say: No.}]",
            "line 17: this is never said, for one before it always fits",
        ),
        (
            "response: Your table is booked.",
            "response: {when: {area: inside}, say: In.}\n      - {when: {area: inside}, say: No.}\n      - {say: Out.}",
            "",
        ),
    ],
)
def test_check_warns_of_what_callers_will_not_answer(folder: Path, before: str, after: str, warning: str):
    if not warning:
        after = after.replace("response: {", "response:\n      - {")
        warning = "line 19: this is never said"
    add(folder, before, after)
    checked = run("check", folder)
    assert checked.exit_code == 0
    (line,) = (line for line in checked.output.splitlines() if line.startswith("warning: "))
    assert warning in line
    assert f"The agent in {folder} is in order, with one warning." in checked.output


def test_check_warns_of_sentences_and_values(folder: Path):
    add(folder, "    response: Your table", "    fulfilment: book\n    response: Your table")
    with (folder / "agent.yaml").open("a") as file:
        file.write("  ring:\n    fulfilment: ring\nlanguage_model: {url: http://127.0.0.1:1, model: small}\n")
    write(folder, "sentences/ring.txt", "ring the bell\nplease book the table\n")
    write(folder, "values/area.txt", "inside\nterrace\nterrice\nno smoking\nno smocking\nroom 4\nroom 5\n")
    for script in (folder / "tests").iterdir():
        script.unlink()
    checked = run("check", folder)
    assert checked.exit_code == 0
    assert checked.output.replace(f"warning: {folder}", "").splitlines() == [
        ": no conversation is tested: write one into tests/",
        f"/agent.yaml, line 19: a language model may call this, and it is carried out at once: {CURE}",
        f"/sentences/book_table.txt: 'I want to book a table' is nearly a sentence of 'ring' as well: {CHANGE}",
        "/sentences/ring.txt: 2 sentences: callers say it in many other ways, write 12 or more",
        "/values/area.txt: 'no smoking' and 'no smocking' sound alike: rename one, or give both longer synonyms",
        "/values/area.txt: 'terrace' and 'terrice' sound alike: rename one, or give both longer synonyms",
        f"The agent in {folder} is in order, with 6 warnings.",
    ]


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


def test_chat_shows_slots():
    deli = Path(demo.__file__).parent / "agents/deli"
    held = CliRunner().invoke(agent, ["chat", "--slots", str(deli)], input="two soups\ncancel\n")
    _, _, asked, _, idle = held.output.splitlines()
    assert asked == '  (order: dishes = [{"dish": "soup", "count": "2"}], dish = soup, count = 2; asks for size)'
    assert idle == "  (no intent)"


def test_chat_with_no_agent(tmp_path: Path):
    held = run("chat", tmp_path)
    assert held.exit_code == 1
    assert "cannot be used" in held.output


def told(text: str, turn: int, cause: str = "turn", **dialog: object) -> dict[str, object]:
    state = {"intent": "order_pizza", "slots": {}, "asked": None, "confirming": False, "fulfilments": [], "end": None}
    return {"event": "reply", "transcript": text, "turn": turn, "dialog": {**state, "cause": cause, **dialog}}


PIZZA = {"count": "1", "pizza": "salami", "size": "large"}
NAMED = {**PIZZA, "name": "Grace Hopper"}
HELD = (
    {"event": "started", "conversation_id": "a"},
    told("I'd like to place an order", 1, asked="pizza", slots={"count": "1"}),
    told("a large salami for Grace Hopper", 2, asked="name", slots=PIZZA),
    told("well that is Grace mumble Hopper", 3, asked="name", slots=PIZZA),
    told("grace hopper", 4, confirming=True, slots=NAMED),
    told("yes", 5, intent=None, fulfilments=[{"name": "order", "intent": "order_pizza", "slots": NAMED}]),
    {**told("goodbye Grace Hopper", 6, intent=None, end="done"), "speech_text": "Goodbye."},
)


def test_a_script_of_a_conversation_that_was_held(tmp_path: Path):
    folder, lines = tmp_path / "pizza", "\n".join(map(json.dumps, HELD)) + "\nno JSON\n[]\n"
    assert run("new", folder, "--trade", "orders").exit_code == 0
    (tmp_path / "call.jsonl").write_text(lines, "utf-8")
    refused = run("record", folder, tmp_path / "call.jsonl")
    assert "A script keeps what the caller said: ask the caller, and then give --consent." in refused.output
    out = folder / "tests/held.yaml"
    assert run("record", folder, tmp_path / "call.jsonl", "--consent", "--out", out).exit_code == 0
    assert "hopper" not in out.read_text("utf-8").lower()
    (script,) = read_scripts(out)
    said = [turn.caller for turn in script.turns]
    assert said[1] == "a large salami for Ada Lovelace"
    assert said[2:] == ["something that is left out", "Ada Lovelace", "yes", "goodbye Ada Lovelace"]
    assert (script.turns[1].slots, script.turns[1].asked) == (PIZZA, "name")
    assert (script.turns[4].fulfilled, script.turns[5].ends) == ("order", "end")
    again = run("record", folder, tmp_path / "call.jsonl", "--consent", "--out", out)
    assert f"{out} is there: name a new file." in again.output


def test_a_file_without_a_conversation(folder: Path, tmp_path: Path):
    (tmp_path / "empty").write_text("{}\n", "utf-8")
    refused = run("record", folder, tmp_path / "empty", "--consent")
    assert refused.exit_code == 1
    assert "There is no conversation with an agent" in refused.output
