"""Rasa's YAML, domains of sentences, and outliers: what is read, and what is said of files that are wrong."""

from __future__ import annotations

import json
import random
from codecs import BOM_UTF8
from typing import TYPE_CHECKING

import pytest

from engines.bert.slots import Slot
from modelkit.domain import read_domain
from modelkit.errors import DataError
from modelkit.labelling import label_sentences
from modelkit.markup import parse_marks
from modelkit.nlu import Utterance
from modelkit.plain_texts import read_plain_texts, split_outliers
from modelkit.rasa import read_rasa
from modelkit.text_files import read_text

if TYPE_CHECKING:
    from pathlib import Path

RASA = """\
version: "3.1"
nlu:
- intent: book_flight
  examples: |
    - fly to [Rome](city)
    - from [Oslo]{"entity": "city", "role": "start"} to [NYC](city:New York)

- intent: greet
  examples:
    - hello
    - text: good morning
- synonym: New York
  examples: |
    - NYC
- lookup: city
  examples: |
    - Lima
    - Cairo
"""
VALUES = {"size": ["small", "large"], "dough": ["large dough", "thin dough"]}


def write(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def domain(folder: Path, sentences: str, values: object = VALUES) -> Path:
    write(folder / "sentences.txt", sentences)
    write(folder / "slot_values.json", json.dumps(values))
    return folder


def test_rasa_is_read(tmp_path):
    data = read_rasa(write(tmp_path / "nlu.yml", RASA))
    assert data.utterances == (
        Utterance("fly to Rome", "book_flight", (Slot("city", 7, 11),)),
        Utterance("from Oslo to NYC", "book_flight", (Slot("city.start", 5, 9), Slot("city", 13, 16))),
        Utterance("hello", "greet", ()),
        Utterance("good morning", "greet", ()),
    )
    assert data.lookups == {"city": ("Lima", "Cairo")}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("- fly to [Rome](city)", "- fly to [Rome]city", r"nlu\.yml, line 5: a bracket belongs to no mark"),
        ("[NYC](city:New York)", '[NYC]{"role": "x"}', r"line 6: the braces .* name no entity"),
        ("[NYC](city:New York)", "[NYC]{entity}", r"line 6: the braces .* hold no JSON"),
        ("    - fly to [Rome](city)", "    fly to Rome", r"line 5: an example must begin with a dash"),
        ("- intent: greet", "- intent: greet\n  wrong", r"line 10: no YAML"),
        ("- intent: greet", "- indent: greet", r"line 8: neither intent nor lookup"),
        ("nlu:", "stories:", r"line 1: no NLU data of Rasa"),
        ("    - hello", "    - text:", r"line 10: an example needs a text"),
        ("- hello", "- hel\u0092lo", r"nlu\.yml, line 10: no YAML \(U\+0092 may not stand in it\): take it out"),
        ("[Rome](city)", "[Rome]( )", r"line 5: the parentheses after \[Rome\] name no slot"),
        ("[Rome](city)", "[Rome](:Roma)", r"line 5: the parentheses after \[Rome\] name no slot"),
        ("[NYC](city:New York)", '[NYC]{"entity": " "}', r"line 6: the braces .* name no entity"),
        ("[NYC](city:New York)", '[NYC]{"entity": "city", "role": 1}', r"line 6: the role after \[NYC\] is no text"),
    ],
)
def test_what_is_wrong_in_rasas_data_is_named_with_its_line(tmp_path, old, new, message):
    path = write(tmp_path / "nlu.yml", RASA.replace(old, new))
    with pytest.raises(DataError, match=message):
        read_rasa(path)


def test_rasa_without_examples_is_refused(tmp_path):
    with pytest.raises(DataError, match="no examples here"):
        read_rasa(write(tmp_path / "nlu.yml", "nlu:\n- intent: greet\n"))
    with pytest.raises(DataError, match="holds no intent"):
        read_rasa(write(tmp_path / "nlu.yml", "nlu:\n- lookup: city\n  examples: |\n    - Rome\n"))


def test_marks_are_taken_out():
    assert parse_marks("plain") == ("plain", ())
    assert parse_marks("[a](x) and [b](y)") == ("a and b", (Slot("x", 0, 1), Slot("y", 6, 7)))


def test_a_domain_is_read_and_labelled_by_its_longest_values(tmp_path):
    folder = domain(tmp_path / "pizza", "a Large  large dough pizza\n\nsmall pizza\n")
    read = read_domain(folder)
    assert read.sentences == ("a Large large dough pizza", "small pizza")
    assert label_sentences(read, "order", folder) == [
        Utterance("a Large large dough pizza", "order", (Slot("size", 2, 7), Slot("dough", 8, 19))),
        Utterance("small pizza", "order", (Slot("size", 0, 5),)),
    ]


def test_a_value_of_two_slots_must_be_marked(tmp_path):
    cities = {"from": ["Rome"], "to": ["Rome"]}
    folder = domain(tmp_path, "fly\nfly to rome\n", cities)
    with pytest.raises(DataError, match=r"sentence 2: 'rome' may be from or to: mark it, as in \[rome\]\(from\)"):
        label_sentences(read_domain(folder), "fly", folder)
    domain(folder, "fly to [rome](to)\n", cities)
    assert label_sentences(read_domain(folder), "fly", folder)[0].slots == (Slot("to", 7, 11),)


@pytest.mark.parametrize(
    ("sentence", "message"),
    [
        ("[huge](size) pizza", "'huge' is no value of size"),
        ("[small](sise) pizza", "'small' is no value of sise"),
        ("a [small pizza", "a bracket belongs to no mark"),
    ],
)
def test_a_wrong_mark_is_named_with_its_sentence(tmp_path, sentence, message):
    folder = domain(tmp_path, f"pizza\n{sentence}\n")
    with pytest.raises(DataError, match=f"sentence 2: {message}"):
        label_sentences(read_domain(folder), "order", folder)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ("{", r"slot_values\.json, line 1"),
        ("[]", "holds no slots"),
        ("{}", "holds no slots"),
        ('{"size": []}', "the slot size has no list of texts"),
        ('{"size": [1]}', "the slot size has no list of texts"),
        ('{"size": "small"}', "the slot size has no list of texts"),
    ],
)
def test_wrong_values_are_refused(tmp_path, values, message):
    folder = domain(tmp_path, "pizza\n")
    write(folder / "slot_values.json", values)
    with pytest.raises(DataError, match=message):
        read_domain(folder)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b" \n", "is empty"),
        (BOM_UTF8, "is empty"),
        (BOM_UTF8 + b"\n \n", "is empty"),
        ("\u00a0\n".encode(), "is empty"),
        ("one\ntwo\ncaf\u00e9\n".encode("latin-1"), r"line 3: not UTF-8 \(byte 11\): save the file as UTF-8"),
        (BOM_UTF8 + b"one\ncaf\xe9", r"line 2: not UTF-8 \(byte 10\): save the file as UTF-8"),
        ("text".encode("utf-16"), "line 1: not UTF-8"),
    ],
)
def test_files_that_are_no_text_are_named(tmp_path, content, message):
    path = write(tmp_path / "data.jsonl", content)
    with pytest.raises(DataError, match=rf"data\.jsonl.*{message}"):
        read_text(path)


def test_a_byte_order_mark_is_dropped(tmp_path):
    assert read_text(write(tmp_path / "data.jsonl", BOM_UTF8 + b"one")) == "one"


@pytest.mark.parametrize("content", [None, b"", b"caf\xe9"])
def test_a_member_of_an_archive_is_named_by_its_own_name(tmp_path, content):
    path = tmp_path / "3" if content is None else write(tmp_path / "3", content)
    with pytest.raises(DataError, match=r"^m\.nemo: labels\.csv"):
        read_text(path, name="m.nemo: labels.csv")


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(DataError, match=r"none\.txt cannot be read \(No such file or directory\)"):
        read_text(tmp_path / "none.txt")


def test_outliers_are_read_from_text_and_from_utterances_of_some_intents(tmp_path):
    rng = random.Random(0)
    lines = [json.dumps({"text": f"say {i}", "intent": i, "slots": []}) for i in ("a", "b", "c")]
    path = write(tmp_path / "more.jsonl", "\n".join(lines))
    assert read_plain_texts(str(path), rng) == {"a": ["say a"], "b": ["say b"], "c": ["say c"]}
    assert read_plain_texts(f"{path}:a,c", rng) == {"a": ["say a"], "c": ["say c"]}
    with pytest.raises(DataError, match=r"more\.jsonl has no utterances of d"):
        read_plain_texts(f"{path}:a,d", rng)
    assert read_plain_texts(str(write(tmp_path / "talk.txt", "hello\n\nbye\n")), rng) == {"talk": ["hello", "bye"]}


def test_a_tenth_of_each_kind_of_outlier_is_held_out():
    train, held_out = split_outliers({"x": [f"x{n}" for n in range(50)], "y": ["y", "y"]}, random.Random(0))
    assert {kind: len(texts) for kind, texts in held_out.items()} == {"x": 5}
    assert len(train) == 46
    assert not set(train) & set(held_out["x"])
