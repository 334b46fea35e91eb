from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from engines.bert.intent_decoding import NO_INTENT, IntentDecoder, IntentLabels, trim
from engines.bert.slots import Slot
from engines.bert.tag_priors import TagPriors
from engines.bert.tokenizing import NO_OFFSET

TAGS = ("O", "B-place", "I-place", "B-time", "I-time")
LABELS = IntentLabels(("alarm", "lights"), TAGS, temperature=1.0, threshold=0.6)


def logits_of(tags: list[str]) -> np.ndarray:
    return np.array([[5.0 if tag == name else 0.0 for name in TAGS] for tag in tags], np.float32)


def decode(text: str, tags: list[str], intent_logits: tuple[float, float] = (0.0, 4.0), labels: IntentLabels = LABELS):
    return decode_logits(text, logits_of(tags), IntentDecoder(labels), intent_logits)


def decode_logits(text: str, tags: np.ndarray, decoder: IntentDecoder, intent_logits: tuple[float, float] = (0.0, 4.0)):
    """Decodes a text of words split at spaces, with [CLS] and [SEP] around."""
    offsets, position = [(NO_OFFSET, NO_OFFSET)], 0
    for word in text.split(" "):
        offsets.append((position, position + len(word)))
        position += len(word) + 1
    offsets.append((NO_OFFSET, NO_OFFSET))
    special = logits_of(["B-time"])
    tag_logits = np.concatenate([special, tags, special])
    (decision,) = decoder.decode(
        [text], np.array([offsets]), np.array([intent_logits], np.float32), tag_logits[np.newaxis]
    )
    return decision


def test_intent_and_slots():
    decision = decode("living room lights at nine", ["B-place", "I-place", "O", "O", "B-time"])
    assert decision.intent == "lights"
    assert decision.confidence == pytest.approx(1 / (1 + np.exp(-4)), abs=1e-6)
    assert decision.slots == (Slot("place", 0, 11), Slot("time", 22, 26))


def test_two_slots_of_one_kind_may_touch():
    assert decode("kitchen hall", ["B-place", "B-place"]).slots == (Slot("place", 0, 7), Slot("place", 8, 12))


def test_below_the_threshold_there_is_no_intent_and_no_slot():
    decision = decode("kitchen", ["B-place"], intent_logits=(0.0, 0.2))
    assert (decision.intent, decision.slots) == (NO_INTENT, ())
    assert decision.confidence == pytest.approx(0.55, abs=0.01)


def test_the_threshold_is_compared_after_the_temperature():
    hot = IntentLabels(LABELS.intents, TAGS, temperature=10.0, threshold=0.6)
    assert decode("kitchen", ["O"], labels=hot).intent == NO_INTENT


def test_an_utterance_without_words_has_no_intent():
    offsets = np.full((1, 2, 2), NO_OFFSET)
    (decision,) = IntentDecoder(LABELS).decode(
        [""], offsets, np.array([[0, 9]], np.float32), np.zeros((1, 2, 5), np.float32)
    )
    assert (decision.intent, decision.confidence, decision.slots) == (NO_INTENT, 0.0, ())


def test_a_slot_that_is_not_sure_enough_is_left_out():
    tags = logits_of(["O", "B-place", "O", "B-time"])
    tags[1, TAGS.index("O")] = tags[1].max() - 0.1
    none = TagPriors.none(2, 2)
    decoders = [IntentDecoder(LABELS, None, replace(none, least=least)) for least in (0.0, 0.6)]
    slots = [decode_logits("play jazz at noon", tags, decoder).slots for decoder in decoders]
    assert [[slot.name for slot in found] for found in slots] == [["place", "time"], ["time"]]


@pytest.mark.parametrize(
    ("text", "span", "expected"),
    [
        ("in the kitchen.", "kitchen.", "kitchen"),
        ('play "jazz", please', '"jazz",', "jazz"),
        ("at 7 p.m. today", "7 p.m.", "7 p.m."),
        ("at 7 p.m. today", "7 p.m", "7 p.m."),
        ("convert u. s. d.", "u. s. d.", "u. s. d."),
        ("in may.", "may.", "may"),
        ("at 5.", "5.", "5"),
        ("it is 5 m", "5 m", "5 m"),
        ("...", "...", ""),
    ],
)
def test_a_span_has_no_punctuation_around_it(text, span, expected):
    start = text.index(span)
    first, last = trim(text, start, start + len(span))
    assert text[first:last] == expected


def test_a_slot_of_punctuation_alone_is_none():
    assert decode("lights ?", ["O", "B-time"]).slots == ()


def test_labels_are_read(tmp_path):
    path = tmp_path / "labels.json"
    path.write_text(json.dumps({"intents": ["a"], "tags": ["O", "B-x", "I-x"], "temperature": 2, "threshold": 0.25}))
    assert IntentLabels.load(path) == IntentLabels(("a",), ("O", "B-x", "I-x"), 2.0, 0.25)


@pytest.mark.parametrize(
    "content",
    [
        "no JSON",
        "[]",
        '{"intents": ["a"]}',
        '{"intents": ["a"], "tags": ["O", "I-x", "B-x"], "temperature": 1, "threshold": 0}',
        '{"intents": ["a"], "tags": ["O"], "temperature": 0, "threshold": 0}',
    ],
)
def test_bad_labels_are_refused_by_name(tmp_path, content):
    path = tmp_path / "labels.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=r"labels\.json holds no labels"):
        IntentLabels.load(path)
