from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING

import pytest

from modelkit.errors import DataError
from modelkit.turn.texts import SAYINGS, Source, draw, read_sources, split

if TYPE_CHECKING:
    from pathlib import Path


def test_utterances_sentences_and_questions_are_read(tmp_path: Path):
    (tmp_path / "a.jsonl").write_text('{"text": "Wake me up, please.", "intent": "alarm", "slots": []}\n')
    (tmp_path / "b.txt").write_text("Can I have a coffee?\nCan I have a coffee\n")
    paragraph = {"context": "It was sold in May. The new owner painted it red.", "qas": []}
    paragraph["qas"] = [{"id": "1", "question": "Who painted it?", "answers": [{"text": "owner", "answer_start": 28}]}]
    squad = {"version": "1.1", "data": [{"title": "t", "paragraphs": [paragraph]}]}
    (tmp_path / "c.json").write_text(json.dumps(squad))
    own, *sources = read_sources([tmp_path / "a.jsonl", tmp_path / "b.txt", tmp_path / "c.json"])
    assert ("yes", "please") in own.utterances
    assert [source.utterances for source in sources] == [
        (("wake", "me", "up", "please"),),
        (("can", "i", "have", "a", "coffee"),),
        (("who", "painted", "it"),),
        (("it", "was", "sold", "in", "may"), ("the", "new", "owner", "painted", "it", "red")),
    ]


def test_a_folder_of_a_domain_gives_its_sentences(tmp_path: Path):
    (tmp_path / "sentences.txt").write_text("make me a latte\n")
    assert read_sources([tmp_path])[1].utterances == (("make", "me", "a", "latte"),)


def test_a_file_without_words_is_refused(tmp_path: Path):
    (tmp_path / "a.txt").write_text("...\n")
    with pytest.raises(DataError, match=r"a\.txt holds no utterance"):
        read_sources([tmp_path / "a.txt"])


def test_each_whole_utterance_is_shown_beside_a_beginning():
    words = ("turn", "on", "the", "lights", "in", "the", "kitchen")
    examples = draw([Source((words,), 50.0)], random.Random(1))
    whole = [example.words for example in examples if example.is_over]
    begun = [example.words for example in examples if not example.is_over]
    assert whole == [words] * 50
    assert len(begun) == 50
    assert words not in begun
    plain = [example for example in begun if example == words[: len(example)]]
    assert len(plain) > 30
    assert len({len(example) for example in plain}) == 6


def test_of_many_utterances_a_share_is_shown():
    source = Source(tuple((f"w{number}", "x") for number in range(100)), 0.2)
    assert sum(example.is_over for example in draw([source], random.Random(1))) == 20


def test_what_is_held_out_is_not_trained_on():
    source = Source(tuple((f"w{number}",) for number in range(100)), 1.0)
    (training,), (held_out,) = split([source], 0.1, random.Random(1))
    assert len(held_out.utterances) == 10
    assert set(training.utterances) | set(held_out.utterances) == set(source.utterances)
    assert not set(training.utterances) & set(held_out.utterances)


def test_our_own_sentences_are_no_beginnings_and_not_held_out():
    ours = Source((("yes",), ("no", "thanks")), 50.0, is_ours=True)
    training, held_out = split([ours, Source((("yes", "please"), ("no", "way")), 50.0)], 0.5, random.Random(1))
    assert training[0] == ours
    assert len(held_out) == 1
    examples = draw([ours, *training[1:]], random.Random(1))
    assert all(example.is_over for example in examples if example.words == ("yes",))


def test_our_own_sentences_are_whole_and_different():
    lines = SAYINGS.read_text().splitlines()
    assert len(lines) == len(set(lines)) > 100
    assert all(line.strip() == line and line for line in lines)
