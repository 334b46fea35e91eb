from __future__ import annotations

import json
import random

import pytest

from engines.bert.slots import Slot
from modelkit.augment import outlier_texts, speech_like, with_digits
from modelkit.errors import DataError
from modelkit.nlu import Utterance, collect_labels, read_utterances
from modelkit.squad import Question, read_squad

GOOD = {"text": "wake me at six", "intent": "alarm_set", "slots": [{"start": 11, "end": 14, "name": "time"}]}


def test_utterances_are_read(tmp_path):
    path = tmp_path / "data.jsonl"
    path.write_text(json.dumps(GOOD) + "\n\n" + json.dumps({"text": "stop", "intent": "stop", "slots": []}) + "\n")
    utterances = read_utterances(path)
    assert utterances[0] == Utterance("wake me at six", "alarm_set", (Slot("time", 11, 14),))
    assert collect_labels(utterances) == (("alarm_set", "stop"), ("O", "B-time", "I-time"))


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[]",
        '{"text": "hi"}',
        json.dumps(GOOD | {"slots": [{"start": 11, "end": 15, "name": "time"}]}),
        json.dumps(GOOD | {"slots": [{"start": 5, "end": 5, "name": "time"}]}),
        json.dumps(GOOD | {"slots": [*GOOD["slots"], {"start": 8, "end": 12, "name": "date"}]}),
        json.dumps(GOOD | {"slots": [{"start": "x", "end": 5, "name": "time"}]}),
    ],
)
def test_a_bad_line_is_named(tmp_path, line):
    path = tmp_path / "data.jsonl"
    path.write_text(json.dumps(GOOD) + "\n" + line + "\n")
    with pytest.raises(DataError, match=r"data\.jsonl, line 2: "):
        read_utterances(path)


def squad(answer_start: int = 4) -> dict:
    entry = {"id": "q1", "question": " who? ", "answers": [{"answer_start": answer_start, "text": "cat"}]}
    return {"data": [{"paragraphs": [{"context": "the cat sat", "qas": [entry]}]}]}


def test_questions_are_read(tmp_path):
    path = tmp_path / "squad.json"
    path.write_text(json.dumps(squad()))
    assert read_squad(path) == [Question("q1", "who?", "the cat sat", ((4, "cat"),))]


@pytest.mark.parametrize(
    ("answers", "agreed"),
    [
        ((), None),
        (((4, "cat sat"), (0, "the cat"), (4, "cat sat")), (4, "cat sat")),
        (((0, "the cat"), (4, "cat"), (4, "cat sat")), (4, "cat")),
        (((8, "sat"), (4, "cat")), (8, "sat")),
    ],
    ids=["none", "most", "shortest", "first"],
)
def test_the_agreed_answer_is_that_of_most_annotators_or_the_shortest(answers, agreed):
    assert Question("q1", "who?", "the cat sat", answers).agreed == agreed


def test_an_answer_that_is_not_where_it_should_be_is_named(tmp_path):
    path = tmp_path / "squad.json"
    path.write_text(json.dumps(squad(answer_start=5)))
    with pytest.raises(DataError, match="question q1: no 'cat' at offset 5"):
        read_squad(path)


@pytest.mark.parametrize("content", ["{", "[]", '{"data": [{}]}', '{"data": [{"paragraphs": [{"context": "x"}]}]}'])
def test_what_is_no_squad_file_is_refused_by_name(tmp_path, content):
    path = tmp_path / "squad.json"
    path.write_text(content)
    with pytest.raises(DataError, match=r"squad\.json is no SQuAD file"):
        read_squad(path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"question": None}, "question must be a text that is not empty"),
        ({"question": " "}, "question must be a text that is not empty"),
        ({"answers": None}, "answers must be a list of objects"),
        ({"answers": [{"text": "cat"}]}, "an answer needs answer_start"),
        ({"answers": [{"text": "", "answer_start": 0}]}, "no '' at offset 0"),
    ],
)
def test_a_question_that_is_wrong_is_named_with_its_line(tmp_path, changes, message):
    data = squad()
    data["data"][0]["paragraphs"][0]["qas"][0] |= changes
    path = tmp_path / "squad.json"
    path.write_text(json.dumps(data, indent=0))
    line = path.read_text().splitlines().index('"id": "q1",') + 1
    with pytest.raises(DataError, match=rf"squad\.json, line {line}, question q1: {message}"):
        read_squad(path)


@pytest.mark.parametrize(
    ("paragraph", "message"),
    [
        ({"context": " ", "qas": []}, "article 2, paragraph 1: context must be a text that is not empty"),
        ({"context": "x"}, "article 2, paragraph 1: qas must be a list of objects"),
        (
            {"context": "x", "qas": [{"question": "who?", "answers": []}]},
            "article 2, paragraph 1: a question has no id",
        ),
        ([], "article 2: paragraphs must be a list of objects"),
    ],
)
def test_a_paragraph_that_is_wrong_is_named(tmp_path, paragraph, message):
    data = squad()
    data["data"].append({"paragraphs": [paragraph]})
    path = tmp_path / "squad.json"
    path.write_text(json.dumps(data))
    with pytest.raises(DataError, match=rf"squad\.json is no SQuAD file \({message}\)"):
        read_squad(path)


def labelled(text: str, *values: str) -> Utterance:
    return Utterance(text, "x", tuple(Slot("s", text.index(v), text.index(v) + len(v)) for v in values))


def values_of(utterance: Utterance) -> list[str]:
    return [utterance.text[slot.start : slot.end] for slot in utterance.slots]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (labelled("wake joe at seven thirty a m tomorrow", "joe", "seven thirty a m", "tomorrow"),
         labelled("wake joe at 7:30 am tomorrow", "joe", "7:30 am", "tomorrow")),
        (labelled("add twenty five eggs", "eggs"), labelled("add 25 eggs", "eggs")),
        (labelled("any one will do"), labelled("any one will do")),
        (labelled("play twenty one pilots", "one pilots"), labelled("play twenty one pilots", "one pilots")),
        (labelled("someone is often late"), labelled("someone is often late")),
    ],
)  # fmt: skip
def test_number_words_become_digits_and_slots_move_along(before, after):
    assert with_digits(before) == after


def test_speech_like_keeps_the_value_of_every_slot_but_for_digits():
    utterance = labelled("hey olly play some jazz in the living room", "jazz", "living room")
    rng = random.Random(1)
    variants = [speech_like(utterance, rng) for _ in range(200)]
    assert {tuple(values_of(variant)) for variant in variants} == {("jazz", "living room")}
    assert any(variant.text.endswith(".") for variant in variants)
    assert any("," in variant.text for variant in variants)
    assert any(variant == utterance for variant in variants)


def test_outliers_are_questions_and_sentences():
    question = Question("1", "who sat?", "The cat sat on the mat. It was red. So the dog went away again.", ())
    assert set(outlier_texts([question], random.Random(0))) > {"who sat?"}
    assert len(outlier_texts([question], random.Random(0))) == 2
