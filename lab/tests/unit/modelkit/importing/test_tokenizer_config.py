"""Tokenizers of ``vocab.txt`` or of ``vocab.json`` and ``merges.txt`` do what transformers' own do."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
import transformers

from lab.tests.unit.modelkit.importing.checkpoints import VOCABULARY, save_tokenizer
from modelkit.errors import CheckpointError
from modelkit.importing.vocabulary import prepare, read_tokenizer

if TYPE_CHECKING:
    from pathlib import Path

WORDS = ["schon", "schön", "Schön", "uber", "über", "Über", "中", "文", "##文", "中文"]
PIECES = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", "a", "b", "t", "u", "r", "n", "Ġ", "Ġt"]


def configure(directory: Path, **fields) -> None:
    (directory / "tokenizer_config.json").write_text(json.dumps(fields))


def save_words(directory: Path) -> None:
    (directory / "vocab.txt").write_text("\n".join([*VOCABULARY, *WORDS]) + "\n", encoding="utf-8")


def save_pieces(directory: Path) -> None:
    vocabulary = {piece: number for number, piece in enumerate(PIECES)}
    (directory / "vocab.json").write_text(json.dumps(vocabulary))
    (directory / "merges.txt").write_text("#version: 0.2\nĠ t\n", encoding="utf-8")


@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("settings", [
    {}, {"strip_accents": None}, {"strip_accents": False}, {"strip_accents": True}, {"tokenize_chinese_chars": False},
    {"tokenize_chinese_chars": True},
])  # fmt: skip
def test_words_are_made_as_transformers_makes_them(settings, lowercase, tmp_path):
    save_words(tmp_path)
    configure(tmp_path, do_lower_case=lowercase, **settings)
    expected = transformers.BertTokenizer.from_pretrained(tmp_path).tokenize("Schön 中文 Über")
    assert read_tokenizer(tmp_path).encode("Schön 中文 Über").tokens == expected


@pytest.mark.parametrize("prefix", [True, False])
def test_a_space_stands_before_the_first_word_where_transformers_has_one(prefix, tmp_path):
    save_pieces(tmp_path)
    configure(tmp_path, add_prefix_space=prefix)
    own = read_tokenizer(tmp_path)
    prepare(own, len(PIECES), "pieces")
    encoding = own.encode("turn  tu")
    expected = transformers.RobertaTokenizer.from_pretrained(tmp_path)("turn  tu", return_offsets_mapping=True)
    assert encoding.tokens[1] == ("Ġt" if prefix else "t")
    assert (encoding.ids, encoding.offsets) == (expected["input_ids"], expected["offset_mapping"])


def test_a_whole_tokenizer_follows_the_same_settings(tmp_path):
    save_tokenizer("roberta", tmp_path)
    fields = json.loads((tmp_path / "tokenizer_config.json").read_text())
    configure(tmp_path, **fields | {"add_prefix_space": True})
    encoding = read_tokenizer(tmp_path).encode("turn on")
    expected = transformers.AutoTokenizer.from_pretrained(tmp_path)("turn on", return_offsets_mapping=True)
    assert (encoding.ids, encoding.offsets) == (expected["input_ids"], expected["offset_mapping"])
    assert encoding.offsets[1][0] == 0


@pytest.mark.parametrize("file", ["tokenizer_config.json", "config.json"])
@pytest.mark.parametrize(
    ("save", "name"),
    [
        (save_words, "BertJapaneseTokenizer"),
        (save_words, "PreTrainedTokenizerFast"),
        (save_words, "RobertaTokenizer"),
        (save_pieces, "HerbertTokenizer"),
        (save_pieces, "BertTokenizer"),
    ],
)
def test_a_tokenizer_that_does_something_else_is_refused(save, name, file, tmp_path):
    save(tmp_path)
    (tmp_path / file).write_text(json.dumps({"tokenizer_class": name}))
    with pytest.raises(CheckpointError, match=rf"{name}, which cannot be built from vocab\..*tokenizer\.json beside"):
        read_tokenizer(tmp_path)


@pytest.mark.parametrize(
    ("save", "name"),
    [
        (save_words, "BertTokenizerFast"),
        (save_words, "DistilBertTokenizer"),
        (save_words, "ElectraTokenizer"),
        (save_pieces, "RobertaTokenizer"),
        (save_pieces, "BartTokenizerFast"),
    ],
)
def test_a_tokenizer_that_does_the_same_is_built(save, name, tmp_path):
    save(tmp_path)
    configure(tmp_path, tokenizer_class=name)
    assert read_tokenizer(tmp_path).get_vocab_size() >= len(PIECES)


def test_the_class_counts_for_nothing_where_the_tokenizer_is_whole(tmp_path):
    save_tokenizer("roberta", tmp_path)
    configure(tmp_path, tokenizer_class="PreTrainedTokenizerFast")
    assert read_tokenizer(tmp_path).token_to_id("<s>") == 0


@pytest.mark.parametrize("value", ["false", 0, []])
def test_a_setting_that_is_neither_true_nor_false_is_named(value, tmp_path):
    save_words(tmp_path)
    configure(tmp_path, strip_accents=value)
    with pytest.raises(CheckpointError, match=r"tokenizer_config\.json: strip_accents is .*: write true or false"):
        read_tokenizer(tmp_path)
