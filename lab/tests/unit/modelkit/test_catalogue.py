"""The list of intents and slots: read from an engine's files, printed, and kept as a reference page."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from engines.bert.intent_decoding import IntentLabels
from engines.bert.tag_priors import TagPriors
from modelkit import intents_page
from modelkit.catalogue import KnownIntent, KnownSlot, read_catalogue
from modelkit.errors import EngineError
from vivavoce.cli import run

if TYPE_CHECKING:
    from pathlib import Path

LABELS = IntentLabels(("order", "pay"), ("O", "B-size", "I-size", "B-topping", "I-topping"))


@pytest.fixture
def decode(tmp_path: Path) -> Path:
    """The folder of the files of an engine in ``tmp_path`` that decide about intents."""
    folder = tmp_path / "triton" / "intent_slot_decode" / "1"
    folder.mkdir(parents=True)
    fields = {"intents": LABELS.intents, "tags": LABELS.tags, "temperature": 1.0, "threshold": 0.5}
    (folder / "labels.json").write_text(json.dumps(fields))
    return folder


def test_an_engine_without_priors_and_closed_slots_names_what_it_knows(tmp_path: Path, decode: Path):
    catalogue = read_catalogue(tmp_path)
    assert catalogue.intents == (KnownIntent("order", None), KnownIntent("pay", None))
    assert catalogue.slots == (KnownSlot("size", None), KnownSlot("topping", None))


def test_slots_that_go_with_an_intent_and_values_of_closed_slots_are_told(tmp_path: Path, decode: Path):
    shares = np.array([[0.3, 0.9], [0.01, 0.0]], np.float32)
    with (decode / "tag_priors.npz").open("wb") as file:
        replace(TagPriors.none(2, 2), slots_given_intent=shares).save(file)
    (decode / "slot_values.json").write_text('{"size": ["small", "large"]}')
    catalogue = read_catalogue(tmp_path)
    assert catalogue.intents == (KnownIntent("order", ("topping", "size")), KnownIntent("pay", ()))
    assert catalogue.slots == (KnownSlot("size", ("small", "large")), KnownSlot("topping", None))


def test_a_directory_without_an_engine_for_intents_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(EngineError, match="holds no engine for intents"):
        read_catalogue(tmp_path)
    assert run(["intents", "--engine", str(tmp_path)]) == 1
    assert "`vivavoce train nlu`" in capsys.readouterr().err


@pytest.mark.parametrize(("name", "text"), [("labels.json", "[]"), ("slot_values.json", "3"), ("tag_priors.npz", "x")])
def test_a_damaged_file_is_named(tmp_path: Path, decode: Path, name: str, text: str):
    (decode / name).write_text(text)
    with pytest.raises(EngineError, match=name):
        read_catalogue(tmp_path)


def test_programs_and_people_get_the_shipped_list(capsys: pytest.CaptureFixture[str]):
    assert run(["intents", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert len(told["intents"]) == 64
    assert {"name": "place_name", "values": None} in told["slots"]
    (weather,) = (intent for intent in told["intents"] if intent["name"] == "weather_query")
    assert {"date", "place_name"} <= set(weather["slots"])
    assert run(["intents"]) == 0
    out = capsys.readouterr().out
    assert all(intent["name"] in out for intent in told["intents"])


def test_people_see_the_values_of_a_closed_slot(tmp_path: Path, decode: Path, capsys: pytest.CaptureFixture[str]):
    (decode / "slot_values.json").write_text('{"size": ["small", "large"]}')
    assert run(["intents", "--engine", str(tmp_path)]) == 0
    assert "small, large" in capsys.readouterr().out


def test_the_page_is_what_the_shipped_engine_says():
    assert intents_page.PAGE.read_text("utf-8") == intents_page.write_page(), "run: python -m modelkit.intents_page"


def test_an_example_that_is_understood_otherwise_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    examples = json.loads(intents_page.EXAMPLES.read_text("utf-8"))
    monkeypatch.setattr(intents_page, "EXAMPLES", tmp_path / "examples.json")
    (tmp_path / "examples.json").write_text(json.dumps(examples | {"play_game": "will it rain tomorrow"}))
    with pytest.raises(intents_page.ExampleError, match='"will it rain tomorrow" gets weather_query'):
        intents_page.write_page()
    del examples["play_game"]
    (tmp_path / "examples.json").write_text(json.dumps(examples))
    with pytest.raises(intents_page.ExampleError, match="play_game"):
        intents_page.write_page()
