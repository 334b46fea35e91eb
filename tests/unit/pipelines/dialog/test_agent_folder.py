"""The folder of an agent: how it is read, and what is said about one that is wrong."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

import pipelines.dialog.agent
from pipelines.dialog.agent.folder import check, read_agent, read_agent_scripts
from pipelines.dialog.agent.problems import AgentError
from pipelines.dialog.agent.yaml_file import MAX_BYTES, read_yaml

TEMPLATE = Path(pipelines.dialog.agent.__file__).parent / "trades/bookings"

FORM = "write one value a line, synonyms behind it: large = big, grande"
GOOD = """\
name: bar
intents:
  order:
    slots:
      size: {type: closed, required: true, prompt: "Which size?"}
    response: A {size} one.
    opens: {ordered: {turns: 2}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, "agent.yaml", GOOD)
    write(tmp_path, "values/size.txt", "# sizes\nsmall\nlarge = big, grande\n")
    write(tmp_path, "sentences/order.txt", "a big one\n")
    return tmp_path


def write(folder: Path, name: str, text: str) -> None:
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")


def told(folder: Path) -> list[str]:
    return [str(problem).removeprefix(f"{folder}/") for problem in check(folder)]


def test_good_agent(folder: Path):
    assert check(folder) == ()
    agent = read_agent(folder)
    assert agent.form.name == "bar"
    assert agent.values["size"].synonyms == {"big": "large", "grande": "large"}
    assert agent.sentences == {"order": ("a big one",)}
    assert agent.form.no_input.after_seconds == 8.0


@pytest.mark.parametrize("name", ["values/size.txt", "sentences/order.txt"])
@pytest.mark.parametrize(
    ("target", "problem"), [("/etc/hostname", "leads out"), ("/dev/zero", "leads out"), (None, "a pipe")]
)
def test_a_list_that_is_no_file_of_the_folder_is_not_read(folder: Path, name: str, target: str | None, problem: str):
    (folder / name).unlink()
    if target is None:
        os.mkfifo(folder / name)
    else:
        (folder / name).symlink_to(target)
    assert any(name in one and problem in one for one in told(folder))


def test_lists_may_be_links_within_the_folder_as_kubernetes_mounts_them(folder: Path):
    (folder / "values" / "..data").mkdir()
    (folder / "values" / "size.txt").rename(folder / "values" / "..data" / "size.txt")
    (folder / "values" / "size.txt").symlink_to("..data/size.txt")
    assert check(folder) == ()


def test_template_is_in_order():
    assert check(TEMPLATE) == ()
    assert read_agent_scripts(TEMPLATE)


def test_no_agent(tmp_path: Path):
    assert [problem.line for problem in check(tmp_path)] == [0]
    assert "vivavoce agent new" in str(check(tmp_path)[0])
    with pytest.raises(AgentError, match="no agent"):
        read_agent(tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("name: bar\n", "", "agent.yaml, line 1: the key 'name' is missing: add it"),
        ("name: bar", "name: 7", "agent.yaml, line 1: 'name': write a text; quote numbers and words"),
        ("name: bar", "name: a bar", "agent.yaml, line 1: 'name': a name has letters, digits and underscores"),
        ("response:", "respons:", "agent.yaml, line 6: there is no key 'respons' here: write 'response'"),
        ("type: closed", "kind: closed", "agent.yaml, line 5: there is no key 'kind' here: the keys here are allow"),
        ("type: closed", "type: colour", "agent.yaml, line 5: 'type': write one of 'closed', 'text', 'items'"),
        ("{turns: 2}", "{turns: 0}", "agent.yaml, line 7: 'turns': write 1 at least"),
        ("{turns: 2}", "{turns: many}", "agent.yaml, line 7: 'turns': write a whole number"),
        ("{turns: 2}", "{seconds: .nan}", "agent.yaml, line 7: 'seconds': write a number"),
        ("required: true", "required: perhaps", "agent.yaml, line 5: 'required': write true or false"),
        ("required: true", "required: true, retries: 11", "agent.yaml, line 5: 'retries': write 10 at most"),
        ("{size} one", "{colour} one", "agent.yaml, line 6: {colour} names nothing: the slots and"),
        ("{size} one", "{size one", "agent.yaml, line 6: a brace that is no placeholder"),
        ("{size} one", "[big] one", "agent.yaml, line 6: square brackets without a placeholder"),
        ("{size} one", "{size}] one", "agent.yaml, line 6: a square bracket without its partner"),
        (', prompt: "Which size?"', "", "agent.yaml, line 5: the slot 'size' is required, but nothing asks for it"),
        ("required: true, ", "", "agent.yaml, line 5: the slot 'size' is optional and never asked for"),
        ("required: true", "required: true, default: huge", "agent.yaml, line 5: 'huge' is no value of 'size':"),
        ("required: true", "required: true, values: sizes", "agent.yaml, line 5: the closed slot 'size' has no value"),
        ("type: closed", "type: date, choices: true", "agent.yaml, line 5: `values` and `choices` belong to closed"),
        ("type: closed", "type: number, default: few", "agent.yaml, line 5: 'few' is no number"),
        ("    opens:", "    needs: orderd\n    opens:", "agent.yaml, line 7: no intent opens the context 'orderd'"),
        ("    response: A {size} one.\n", "", "agent.yaml, line 3: the intent 'order' says nothing and does nothing"),
        ("A {size} one.", "[{when: {size: huge}, say: x}]", "agent.yaml, line 6: `when`: 'huge' is no value of 'size'"),
        ("A {size} one.", "[{when: {colour: red}, say: x}]", "agent.yaml, line 6: `when` names 'colour', which is no"),
        ("type: closed", "type: items", "agent.yaml, line 5: a list needs `say`, the words of an item"),
        ("type: closed", "type: items, say: x", "agent.yaml, line 5: an item needs a closed slot that is required"),
        ("type: closed", "type: items, say: '{n}', slots: {a: {type: text}}", "agent.yaml, line 5: {n} names nothing"),
        ("type: closed", "type: items, slots: {a: {type: items}}", "agent.yaml, line 5: a list within a list: make it"),
        ("type: closed", "type: items, slots: {size: {type: text}}", "agent.yaml, line 5: 'size' is a slot of the"),
        ("type: closed", "type: items, sensitive: true", "agent.yaml, line 5: a list cannot be sensitive: ask for"),
        ("type: closed", "type: closed, more: 'Else?'", "agent.yaml, line 5: `slots`, `say` and `more` belong"),
        ("A {size} one.", "[{when: {size: small}, say: x}]", "agent.yaml, line 6: every response has a `when`"),
        ("name: bar\n", "name: bar\nparameters: {size: ''}\n", "agent.yaml, line 6: 'size' is a parameter as well"),
        ("name: bar", "name: bar\nname: barista", "agent.yaml, line 2: 'name' stands in line 1 already: rename one"),
        ("  order:", "  order: {response: x}\n  order:", "agent.yaml, line 4: 'order' stands in line 3 already"),
        ("name: bar", "name: &x bar", "agent.yaml, line 1: anchors (&) and aliases (*) are not read: write"),
        ("name: bar", "name: bar: bar", "agent.yaml, line 1: no YAML ("),
        ("name: bar", "name: !!python/name:os.system x", "agent.yaml, line 1: the tag 'tag:yaml.org,2002:python"),
        ("name: bar", "name: bar\n? [a]\n: b", "agent.yaml, line 2: a key must be a word: quote it"),
        ("name: bar", "name: bar\x07", "agent.yaml, line 1: the character U+0007 may not stand in YAML: take it out"),
        ("name: bar", "name: bar\n---\nname: bar", "agent.yaml, line 2: a second document begins here: remove"),
    ],
)  # fmt: skip
def test_what_is_wrong_has_a_line_and_a_cure(folder: Path, old: str, new: str, problem: str):
    assert old in GOOD
    write(folder, "agent.yaml", GOOD.replace(old, new, 1))
    assert any(line.startswith(problem) for line in told(folder)), told(folder)


def test_all_problems_are_told(folder: Path):
    write(folder, "agent.yaml", GOOD.replace("{size} one", "{colour} one").replace("prompt", "promt"))
    write(folder, "values/size.txt", "small\nSmall\n= x\n")
    write(folder, "values/unused.txt", "one\n")
    write(folder, "sentences/ordr.txt", "a big one\n")
    write(folder, "tests/a.yaml", "- name: x\n  turns: [{caller: hello, dtmf: '1'}]\n- {name: y}\n")
    assert told(folder) == [
        "agent.yaml, line 5: there is no key 'promt' here: write 'prompt'",
        "tests/a.yaml, line 2: a turn needs exactly one of caller, dtmf, silence_seconds: write one of them",
        "tests/a.yaml, line 3: the key 'turns' is missing: add it",
        "values/size.txt, line 2: 'Small' stands in line 1 already: remove one of the two",
        f"values/size.txt, line 3: a value without a word: {FORM}",
    ]


def test_files_without_an_owner(folder: Path):
    write(folder, "values/unused.txt", "one\n")
    write(folder, "sentences/ordr.txt", "a big one\n")
    assert told(folder) == [
        "sentences/ordr.txt: there is no intent 'ordr' in agent.yaml: name the file after an intent, or add one",
        "values/unused.txt: no slot takes the values of 'unused': name the file after a closed slot, or remove it",
    ]


@pytest.mark.parametrize("name", ["values/size.txt", "sentences/order.txt", "agent.yaml"])
@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"# nothing\n", b"x" * 5_000_000])
def test_files_that_hold_nothing_of_use(folder: Path, name: str, content: bytes):
    (folder / name).write_bytes(content)
    assert any(line.startswith(name) for line in told(folder))


def test_intents_that_nothing_leads_to(folder: Path):
    shutil.rmtree(folder / "sentences")
    assert told(folder) == [
        "agent.yaml, line 3: nothing leads to the intent 'order': add sentences/order.txt, or `heard_as`"
    ]


def test_two_intents_of_one_meaning(folder: Path):
    write(folder, "agent.yaml", GOOD + "  buy: {response: x, heard_as: order}\n")
    assert "agent.yaml, line 8: 'order' means the intent 'order' already: leave it in one of the two" in told(folder)


def test_bombs_cost_nothing(folder: Path):
    began = time.process_time()
    bomb = "a: &a [x,x]\n" + "".join(
        f"{chr(98 + n)}: &{chr(98 + n)} [*{chr(97 + n)},*{chr(97 + n)}]\n" for n in range(20)
    )
    write(folder, "agent.yaml", bomb)
    assert "anchors" in told(folder)[0]
    write(folder, "agent.yaml", "[" * 100_000)
    assert "nested more than 16 deep" in told(folder)[0]
    write(folder, "agent.yaml", "a" * (MAX_BYTES + 1))
    assert "longer than 256 KiB" in told(folder)[0]
    assert time.process_time() - began < 5


def test_yaml_knows_lines_and_kinds(tmp_path: Path):
    write(tmp_path, "a.yaml", "\ufeffa: 1\nb:\n  - x: yes\n  - 1.5\n  - ~\n  - 2026-01-05\n  - 1:30\n")
    file = read_yaml(tmp_path / "a.yaml")
    assert file.content == {"a": 1, "b": [{"x": True}, 1.5, None, "2026-01-05", "1:30"]}
    assert file.lines == {
        (): 1, ("a",): 1, ("b",): 2, ("b", 0): 3, ("b", 0, "x"): 3, ("b", 1): 4, ("b", 2): 5, ("b", 3): 6, ("b", 4): 7
    }  # fmt: skip
    assert file.line(("b", 0, "x", "missing")) == 3
