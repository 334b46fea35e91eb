from __future__ import annotations

import json

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers.models.bert.tokenization_bert import load_vocab

from engines.bert.tokenizing import SETTINGS, TokenizerSettings
from lab.tests.unit.modelkit.importing.checkpoints import VOCABULARY, save_tokenizer
from modelkit.errors import CheckpointError
from modelkit.importing.vocabulary import prepare, read_tokenizer, wordpiece


def test_case_follows_the_configuration_then_the_vocabulary(tmp_path):
    (tmp_path / "vocab.txt").write_text("\n".join([*VOCABULARY, "Paris"]))
    assert not read_tokenizer(tmp_path).normalizer.lowercase
    (tmp_path / "vocab.txt").write_text("\n".join(VOCABULARY))
    assert read_tokenizer(tmp_path).normalizer.lowercase
    (tmp_path / "tokenizer_config.json").write_text('{"do_lower_case": false}')
    assert not read_tokenizer(tmp_path).normalizer.lowercase


def test_the_configuration_counts_for_more_than_the_tokenizer_itself(tmp_path):
    wordpiece(VOCABULARY, "vocabulary", lowercase=True).save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "tokenizer_config.json").write_text('{"do_lower_case": false}')
    assert not read_tokenizer(tmp_path).normalizer.lowercase


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_tokens_at_which_other_splitters_cut_keep_their_ids(ending, tmp_path):
    cut = ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "a\u2028b", "", "last"]
    tokens = [*VOCABULARY, *cut]
    (tmp_path / "vocab.txt").write_bytes((ending.join(tokens) + ending).encode())
    tokenizer = read_tokenizer(tmp_path)
    assert tokenizer.get_vocab() == {token: number for number, token in enumerate(tokens)}
    assert tokenizer.get_vocab() == load_vocab(tmp_path / "vocab.txt")
    prepare(tokenizer, len(tokens), "vocabulary")


def test_vocabulary_and_merges_make_the_tokenizer_that_they_were_saved_from(tmp_path):
    save_tokenizer("roberta", tmp_path)
    whole = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    whole.model.save(str(tmp_path))
    (tmp_path / "tokenizer.json").unlink()
    parts = read_tokenizer(tmp_path)
    prepare(parts, 300, "parts")
    pair = "Turn on the lights", "in  the kitchen 😀"
    assert parts.encode(*pair).ids == whole.encode(*pair).ids
    assert parts.encode(*pair).offsets == whole.encode(*pair).offsets


def test_spaces_are_trimmed_off_where_the_tokenizer_does_not(tmp_path):
    save_tokenizer("roberta", tmp_path)
    fields = json.loads((tmp_path / "tokenizer.json").read_text())
    fields["post_processor"]["trim_offsets"] = False
    tokenizer = Tokenizer.from_str(json.dumps(fields))
    text = "turn on"
    prepare(tokenizer, 300, "untrimmed")
    assert "".join(text[start:end] for start, end in tokenizer.encode(text).offsets) == "turnon"


def test_special_tokens_are_added_once():
    tokenizer = wordpiece(VOCABULARY, "vocabulary")
    prepare(tokenizer, len(VOCABULARY), "vocabulary")
    prepare(tokenizer, len(VOCABULARY), "vocabulary")
    encoding = tokenizer.encode("who", "tower")
    assert encoding.tokens == ["[CLS]", "who", "[SEP]", "tower", "[SEP]"]
    assert encoding.type_ids == [0, 0, 0, 1, 1]


@pytest.mark.parametrize(("spare", "fits"), [(0, True), (27, True), (1024, True), (1025, False), (-1, False)])
def test_a_vocabulary_fits_its_embeddings_or_is_refused(spare, fits):
    tokenizer = wordpiece(VOCABULARY, "vocabulary")
    if fits:
        prepare(tokenizer, len(VOCABULARY) + spare, "vocabulary")
        return
    with pytest.raises(CheckpointError, match="does not fit"):
        prepare(tokenizer, len(VOCABULARY) + spare, "vocabulary")


def test_other_ways_to_split_words_are_refused(tmp_path):
    tokenizer = Tokenizer(models.Unigram([("a", -1.0), ("b", -2.0)]))
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(CheckpointError, match="splits words by Unigram"):
        read_tokenizer(tmp_path)
    plain = Tokenizer(models.BPE({"a": 0, "b": 1}, []))
    plain.pre_tokenizer = pre_tokenizers.Whitespace()
    plain.save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(CheckpointError, match="splits words by BPE"):
        read_tokenizer(tmp_path)


@pytest.mark.parametrize("content", ["{", "[]", '{"version": "1.0"}'])
def test_what_is_no_tokenizer_is_refused(tmp_path, content):
    (tmp_path / "tokenizer.json").write_text(content)
    with pytest.raises(CheckpointError, match="no tokenizer of the tokenizers library"):
        read_tokenizer(tmp_path)


def test_a_vocabulary_without_special_tokens_is_refused():
    with pytest.raises(CheckpointError, match=r"has no \[CLS\], \[SEP\]"):
        wordpiece(["[UNK]", "a"], "vocab.txt")


def test_settings_that_are_none_are_named(tmp_path):
    assert TokenizerSettings.beside(tmp_path / "tokenizer.json") == TokenizerSettings()
    (tmp_path / SETTINGS).write_text('{"max_token": 5}')
    with pytest.raises(ValueError, match=r"tokenizing\.json holds no settings"):
        TokenizerSettings.beside(tmp_path / "tokenizer.json")
