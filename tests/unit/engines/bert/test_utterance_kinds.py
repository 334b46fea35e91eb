from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from engines.bert.intent_kinds import IntentKinds
from engines.bert.utterance_kinds import ARRAYS, CLASSES, GRAMS, KindClassifier, grams, split_words

SHIPPED = Path("model_repository/intent_slot_decode/1")


@pytest.fixture(scope="module")
def shipped() -> KindClassifier:
    return KindClassifier.load(SHIPPED / "utterance_kinds.npz")


def small_classifier(*, outputs: int = 8) -> KindClassifier:
    rng = np.random.default_rng(3)
    shapes = {
        "words": (4, 5),
        "grams": (GRAMS, 5),
        "convolution1": (6, 5, 3),
        "bias1": (6,),
        "convolution2": (6, 6, 3),
        "bias2": (6,),
        "output": (outputs, 24),
        "bias": (outputs,),
    }
    arrays = {name: rng.standard_normal(shapes[name]).astype(np.float32) for name in ARRAYS}
    return KindClassifier(arrays, {"turn": 2, "on": 3})


@pytest.mark.parametrize(
    ("text", "kind", "negated"),
    [
        ("Turn on the lights.", "command", False),
        ("Could you turn on the lights, please?", "command", False),
        ("Don't forget to turn off the heater", "command", False),
        ("Why don't you play some jazz?", "command", False),
        ("Don't turn on the lights!", "command", True),
        ("Can you not turn the volume up?", "command", True),
        ("Are the lights on?", "question", False),
        ("Can you hear me?", "question", False),
        ("Why aren't the lights on?", "question", True),
        ("I turned them on yesterday.", "statement", False),
        ("The meeting was cancelled.", "statement", False),
        ("The lights are not on.", "statement", True),
        ("He said turn off the music", "statement", False),
    ],
)
def test_kinds_of_utterances(shipped: KindClassifier, text: str, kind: str, negated: bool):
    found = shipped.classify(text)
    assert (found.kind, found.negated) == (kind, negated)
    assert found.probabilities.sum() == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("text", ["", "?", "...", "turn", "turn " * 500, "\u4f60\u597d", "a\x00b"])
def test_whatever_is_said_has_some_kind(shipped: KindClassifier, text: str):
    assert np.isfinite(shipped.classify(text).probabilities).all()


def test_a_classifier_is_read_as_it_was_written(tmp_path: Path):
    small_classifier().save(tmp_path / "kinds.npz")
    read = KindClassifier.load(tmp_path / "kinds.npz").classify("turn it on")
    assert read.probabilities == pytest.approx(small_classifier().classify("turn it on").probabilities, abs=0.01)


def test_a_damaged_file_is_named(tmp_path: Path):
    path = tmp_path / "kinds.npz"
    np.savez(path, words=np.zeros(3))
    with pytest.raises(ValueError, match=r"kinds\.npz holds no classifier"):
        KindClassifier.load(path)


def test_words_and_letter_sequences():
    assert split_words("Don\u2019t, OK?") == ["don't", "ok", "?"]
    assert split_words("...") == [""]
    assert all(0 <= gram < GRAMS for gram in grams("turn"))
    assert grams("turned") != grams("turn")


def certain(name: str) -> np.ndarray:
    return np.array([float(name == other) for other in CLASSES], np.float32)


def test_intents_take_the_kinds_that_are_listed():
    kinds = IntentKinds(
        ("lights", "weather", "other"), {"lights": ["command"], "weather": ["command", "question"]}, 0.1
    )
    assert kinds.takes(0, certain("command"))
    assert not kinds.takes(0, certain("question"))
    assert not kinds.takes(0, certain("command negated"))
    assert kinds.takes(1, certain("question"))
    assert kinds.takes(2, certain("report negated"))


def test_a_doubtful_kind_leaves_the_intent():
    kinds = IntentKinds(("lights",), {"lights": ["command"]}, 0.1)
    assert kinds.takes(0, 0.2 * certain("command") + 0.8 * certain("question"))


@pytest.mark.parametrize("content", ["[]", "{}", '{"least": 0.1, "kinds": {"a": ["order"]}}', "no json"])
def test_a_damaged_list_of_kinds_is_named(tmp_path: Path, content: str):
    path = tmp_path / "intent_kinds.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=r"intent_kinds\.json"):
        IntentKinds.load(path, ("a",))


def test_the_shipped_intents_are_those_of_the_labels():
    labels = json.loads((SHIPPED / "labels.json").read_text())
    kinds = json.loads((SHIPPED / "intent_kinds.json").read_text())["kinds"]
    assert sorted(kinds) == sorted(labels["intents"])
    assert kinds["iot_hue_lighton"] == ["command", "statement"]
