"""The folder of an agent as training data."""

from __future__ import annotations

from pathlib import Path

import pytest

import demo
from engines.bert.slots import Slot
from modelkit.agent_folder import is_agent, read_agent_folder
from modelkit.cards import name_data
from modelkit.errors import DataError
from modelkit.nlu import Utterance
from modelkit.training.nlu_data import NluFiles, gather

AGENTS = Path(demo.__file__).parent / "agents"


@pytest.fixture
def agent(tmp_path: Path) -> Path:
    folder = tmp_path / "bar"
    for name, text in {
        "agent.yaml": "name: bar\n",
        "sentences/order.txt": "# how people order\na big latte\n\ntwo lattes to [Rome](goal)\n",
        "sentences/hours.txt": "when do you open\n",
        "values/size.txt": "small\nlarge = big, grande\n",
        "values/goal.txt": "Rome\n",
        "values/origin.txt": "Rome\n",
        "tests/a.yaml": "",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    return folder


def test_all_intents_are_read_with_their_slots(agent: Path):
    assert is_agent(agent)
    assert not is_agent(agent / "values")
    utterances, values = read_agent_folder(agent)
    assert utterances == [
        Utterance("when do you open", "hours", ()),
        Utterance("a big latte", "order", (Slot("size", 2, 5),)),
        Utterance("two lattes to Rome", "order", (Slot("goal", 14, 18),)),
    ]
    assert values == {"size": ("small", "large", "big", "grande"), "goal": ("Rome",), "origin": ("Rome",)}


def test_only_what_is_trained_on_is_named(agent: Path):
    assert sorted(name_data([agent])) == [
        "sentences/hours.txt",
        "sentences/order.txt",
        "values/goal.txt",
        "values/origin.txt",
        "values/size.txt",
    ]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("sentences/order.txt", "# none\n", r"order.txt holds no sentences: write one a line"),
        ("values/size.txt", "# none\n", r"size.txt holds no values: write one a line"),
        ("sentences/order.txt", "to Rome\n", r"order.txt, sentence 1: 'rome' may be goal or origin: mark it"),
        ("sentences/order.txt", "to [Oslo](goal)\n", r"sentence 1: 'Oslo' is no value of goal in values/goal\.txt"),
    ],
)
def test_what_is_wrong_is_named(agent: Path, name: str, text: str, message: str):
    (agent / name).write_text(text, "utf-8")
    with pytest.raises(DataError, match=message):
        read_agent_folder(agent)


def test_an_agent_without_sentences(agent: Path):
    for path in (agent / "sentences").iterdir():
        path.unlink()
    with pytest.raises(DataError, match=r"holds no sentences: write INTENT\.txt"):
        read_agent_folder(agent)


@pytest.mark.parametrize("name", ["coffee_bar", "museum_guide"])
def test_agents_of_the_demonstration_can_be_trained(name: str):
    data = gather([AGENTS / name], NluFiles(), validation=0.1, seed=1)
    assert {utterance.intent for utterance in data.training} >= {
        path.stem for path in (AGENTS / name / "sentences").iterdir()
    }
    assert data.of_sentences
    assert data.slot_values
