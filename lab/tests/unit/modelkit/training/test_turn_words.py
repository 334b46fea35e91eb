"""The network for text, from sentences to a file, with a BERT of two small layers."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from engines.turn.words import WordNetwork
from lab.tests.unit.modelkit.training.small_data import Silent
from modelkit.errors import TrainingError
from modelkit.turn import words
from modelkit.turn.word_task import WordRecipe

if TYPE_CHECKING:
    from pathlib import Path

RECIPE = WordRecipe(layers=1, pieces=150, batch_tokens=400, held_out=0.2)
RECIPE = replace(RECIPE, schedule=replace(RECIPE.schedule, epochs=10, learning_rate=3e-3, average=0.9, validations=1))


@pytest.fixture(scope="module")
def out(tiny_base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("turn")
    things = ("music", "soup", "pizza", "rain")
    lines = [f"{verb} the {thing} and the old {thing} please" for verb in ("want", "play", "stop") for thing in things]
    (folder / "sentences.txt").write_text("\n".join(lines))
    words.train([folder / "sentences.txt"], folder / "out", RECIPE, Silent(), base=tiny_base)
    return folder / "out"


def test_sentences_become_a_network_that_knows_their_ends(out: Path):
    network = WordNetwork(out / words.NETWORK, out / words.TOKENIZER)
    whole, begun, nothing = network.read(["Want the soup and the old soup, please.", "want the soup and the", "..."])
    assert whole is not None
    assert begun is not None
    assert whole > begun + 1
    assert nothing is None


def test_a_run_that_has_ended_is_exported_again(out: Path, tiny_base: Path):
    (out / words.NETWORK).unlink()
    words.train([out.parent / "sentences.txt"], out, RECIPE, Silent(), base=tiny_base)
    assert (out / words.NETWORK).exists()
    assert json.loads((out / "training" / "run.json").read_text())["recipe"]["layers"] == 1


def test_a_run_with_another_recipe_needs_another_folder(out: Path, tiny_base: Path):
    with pytest.raises(TrainingError, match="choose another --out"):
        words.train([out.parent / "sentences.txt"], out, replace(RECIPE, pieces=120), Silent(), base=tiny_base)


def test_the_command_says_what_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys):
    monkeypatch.setattr("sys.argv", ["words", str(tmp_path / "missing.txt"), "--out", str(tmp_path / "out")])
    assert words.main() == 1
    assert "missing.txt cannot be read" in capsys.readouterr().err
