from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from engines.bert.tokenizing import NO_OFFSET, DocumentTokenizer, UtteranceTokenizer

REPOSITORY = Path(__file__).parents[3] / "model_repository"
TOKENIZER = REPOSITORY / "qa_tokenize" / "1" / "tokenizer.json"
CLS, SEP = 101, 102


@pytest.fixture(scope="module")
def utterances() -> UtteranceTokenizer:
    return UtteranceTokenizer(TOKENIZER)


def words_of(tokenizer: UtteranceTokenizer, text: str) -> list[str]:
    (offsets,) = tokenizer.encode([text]).offsets
    return [text[start:end] for start, end in offsets if start != NO_OFFSET]


def test_both_engines_have_the_same_tokenizer():
    assert (REPOSITORY / "intent_slot_tokenize" / "1" / "tokenizer.json").read_bytes() == TOKENIZER.read_bytes()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("wake me up", ["wake", "me", "up"]),
        ("jimmie's party.", ["jimmie", "'", "s", "party", "."]),
        ("Unbelievably quirky", ["Unbelievably", "quirky"]),
        ("naïve café über", ["naïve", "café", "über"]),
        ("😀 lights", ["😀", "lights"]),
        ("cafe\u0301 nai\u0308ve", ["cafe\u0301", "nai\u0308ve"]),
        ("Jose\u0301\u0323.", ["Jose\u0301\u0323", "."]),
        ("a  b\tc", ["a", "b", "c"]),
        ("播放 music", ["播", "放", "music"]),
    ],
)
def test_words_stand_where_they_stand_in_the_text(utterances, text, words):
    assert words_of(utterances, text) == words


def test_a_word_of_several_pieces_has_its_offsets_once(utterances):
    batch = utterances.encode(["unbelievably"])
    assert batch.attention_mask.sum() > 3
    assert (batch.offsets[0, :, 0] != NO_OFFSET).sum() == 1


@pytest.fixture
def settings(tmp_path):
    """Puts settings beside a copy of the tokenizer."""

    def put(**fields: object) -> Path:
        (tmp_path / "tokenizer.json").write_bytes(TOKENIZER.read_bytes())
        (tmp_path / "tokenizing.json").write_text(json.dumps(fields))
        return tmp_path / "tokenizer.json"

    return put


@pytest.mark.parametrize("text", ["jimmie's party, at 7:30 p.m.", " naïve  café\t(über) ", "😀 lights!"])
def test_words_may_end_at_spaces_alone(settings, text):
    assert words_of(UtteranceTokenizer(settings(split_at_spaces=True)), text) == text.split()


def test_no_row_is_longer_than_the_network_reads(settings):
    path = settings(max_tokens=40)
    assert UtteranceTokenizer(path).encode(["word " * 90]).input_ids.shape == (1, 40)
    batch = DocumentTokenizer(path).encode("why " * 90, document_of(90))
    assert batch.input_ids.shape[1] == 40
    assert ((batch.segments == 1).sum(axis=1) > 10).all()


def test_segments_tell_question_document_and_specials_apart():
    batch = DocumentTokenizer(TOKENIZER).encode("who is it?", "it is me")
    assert batch.segments.tolist() == [[-1, 0, 0, 0, 0, -1, 1, 1, 1, -1]]


def test_rows_are_padded_to_the_longest(utterances):
    batch = utterances.encode(["stop", "turn the lights off"])
    assert batch.attention_mask.sum(axis=1).tolist() == [3, 6]
    assert batch.input_ids.shape == (2, 6)
    assert (batch.offsets[0, 3:] == NO_OFFSET).all()


def test_an_empty_utterance_has_no_words(utterances):
    assert utterances.encode([""]).input_ids.tolist() == [[CLS, SEP]]


def test_a_long_utterance_is_cut(utterances):
    batch = utterances.encode(["word " * 25_000])
    assert batch.input_ids.shape == (1, 64)
    assert batch.input_ids[0, -1] == SEP


def document_of(numbers: int) -> str:
    return " ".join(f"w{number}" for number in range(numbers))


def test_windows_cover_the_document_and_overlap():
    document = document_of(400)
    batch = DocumentTokenizer(TOKENIZER, window=128, overlap=32, max_question=16).encode("where is it?", document)
    covered = [{int(start) for start, _ in row if start != NO_OFFSET} for row in batch.offsets]
    assert len(batch) > 3
    assert batch.input_ids.shape[1] <= 128
    assert {document.index(f"w{n}") for n in range(400)} <= set().union(*covered)
    for left, right in pairwise(covered):
        assert len(left & right) >= 30


def test_offsets_of_a_document_are_code_points():
    document = "Die 😀 Größe: 3 µm, naïve Straße."
    batch = DocumentTokenizer(TOKENIZER).encode("how large?", document)
    pieces = [document[start:end] for start, end in batch.offsets[0] if start != NO_OFFSET]
    assert "".join(pieces) == document.replace(" ", "")


def test_the_question_has_no_offsets():
    batch = DocumentTokenizer(TOKENIZER).encode("same words", "same words")
    assert [tuple(pair) for pair in batch.offsets[0] if pair[0] != NO_OFFSET] == [(0, 4), (5, 10)]


def test_a_long_question_is_cut_and_leaves_room_for_the_document():
    batch = DocumentTokenizer(TOKENIZER, window=128, overlap=16, max_question=32).encode("why " * 5000, document_of(50))
    assert (batch.token_type_ids[0] == 0).sum() == 34
    assert (batch.offsets[0, :, 0] != NO_OFFSET).sum() > 80


def test_an_empty_document_makes_one_window_without_tokens_of_it():
    batch = DocumentTokenizer(TOKENIZER).encode("who?", "")
    assert len(batch) == 1
    assert (batch.offsets == NO_OFFSET).all()


def test_a_window_without_room_is_refused():
    with pytest.raises(ValueError, match="take a larger window"):
        DocumentTokenizer(TOKENIZER, window=64, overlap=32)


def test_tensors_are_int64():
    batch = DocumentTokenizer(TOKENIZER).encode("who?", "me")
    assert {a.dtype for a in (batch.input_ids, batch.attention_mask, batch.token_type_ids, batch.offsets)} == {
        np.dtype("int64")
    }
