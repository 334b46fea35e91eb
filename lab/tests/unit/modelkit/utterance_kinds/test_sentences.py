"""The sentences that teach and judge kinds, and what is concluded from them."""

from __future__ import annotations

import collections
import random
from typing import TYPE_CHECKING

import pytest

from engines.bert.utterance_kinds import CLASSES, KindClassifier
from modelkit.errors import DataError
from modelkit.nlu import Utterance
from modelkit.triton_models import SHIPPED_KINDS
from modelkit.utterance_kinds.contrast import kind_of, read_contrast
from modelkit.utterance_kinds.frames import generate
from modelkit.utterance_kinds.intent_kinds import intent_kinds
from modelkit.utterance_kinds.weak_labels import weak_label

if TYPE_CHECKING:
    from pathlib import Path

MIN_SENTENCES = 400
MIN_RIGHT = 0.9


@pytest.fixture(scope="module")
def classifier() -> KindClassifier:
    return KindClassifier.load(SHIPPED_KINDS)


def test_a_fifth_of_the_contrast_sentences_is_held_out():
    training, held_out = read_contrast()
    assert len(training) >= MIN_SENTENCES
    assert len(held_out) == pytest.approx((len(training) + len(held_out)) / 5, abs=len(CLASSES))
    assert not {one.text for one in training} & {one.text for one in held_out}
    assert {one.label for one in held_out} == set(range(len(CLASSES)))


def test_the_shipped_classifier_knows_sentences_that_it_never_saw(classifier: KindClassifier):
    held_out = read_contrast().held_out
    told = [classifier.classify(one.text) for one in held_out]
    right = sum((found.kind, found.negated) == kind_of(one.label) for one, found in zip(held_out, told, strict=True))
    assert right >= MIN_RIGHT * len(held_out)


@pytest.mark.parametrize("text", ["[order]\nturn it on", "turn it on\n[command]"])
def test_sentences_without_a_section_are_refused(tmp_path: Path, text: str):
    path = tmp_path / "contrast.txt"
    path.write_text(text)
    with pytest.raises(DataError, match=r"contrast\.txt, line 1"):
        read_contrast(path)


def test_every_fifth_sentence_of_a_section_is_held_out(tmp_path: Path):
    path = tmp_path / "contrast.txt"
    sentences = "\n".join(f"sentence {number}" for number in range(1, 12))
    path.write_text(f"# a comment\n\n[question]\n{sentences}\n[report negated]\nnobody came\n")
    training, held_out = read_contrast(path)
    assert [one.text for one in held_out] == ["sentence 5", "sentence 10"]
    assert training[-1] == ("nobody came", CLASSES.index("report negated"))


def test_a_report_is_told_as_a_statement():
    assert [kind_of(label) for label in range(len(CLASSES))][4:] == [("statement", False), ("statement", True)] * 2


@pytest.mark.parametrize("name", CLASSES)
def test_generated_sentences_are_whole_and_many(name: str):
    rng = random.Random(2)
    found = collections.Counter(generate(name, rng) for _ in range(300))
    assert len(found) > 200
    assert not any("{" in text or "/" in text for text in found)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Olly, turn on the lights", "command"),
        ("could you call a taxi", "command"),
        ("can i have a coffee", "command"),
        ("please wake me", "command"),
        ("what is the weather", "question"),
        ("is it not raining", "question negated"),
        ("don't wake me", None),
        ("please do not wake me", None),
        ("how about some music", None),
        ("the lights are on", None),
        ("", None),
    ],
)
def test_first_words_tell_kinds_beyond_doubt_alone(text: str, name: str | None):
    assert weak_label(text) == (None if name is None else CLASSES.index(name))


def told(intent: str, *texts: str) -> list[Utterance]:
    return [Utterance(text, intent, ()) for text in texts]


def test_intents_take_the_kinds_that_their_utterances_are_of(classifier: KindClassifier):
    orders = [f"turn on the lights in the {room}" for room in ("hall", "kitchen", "attic", "garage", "den")] * 10
    questions = [f"what is the weather in {place}" for place in ("rome", "oslo", "leeds", "bonn", "lima")] * 10
    found = intent_kinds(told("lights", *orders) + told("weather", *questions), classifier)
    assert found["lights"] == ["command"]
    assert found["weather"] == ["command", "question", "question negated", "statement"]


def test_a_slip_in_the_labels_is_no_kind(classifier: KindClassifier):
    orders = ["turn on the lights"] * 60
    assert intent_kinds(told("lights", *orders, "are the lights on"), classifier)["lights"] == ["command"]


def test_of_few_utterances_each_counts(classifier: KindClassifier):
    found = intent_kinds(told("lights", "turn on the lights", "don't turn on the lights"), classifier)
    assert found["lights"] == ["command", "command negated"]
