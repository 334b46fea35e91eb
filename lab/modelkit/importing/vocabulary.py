"""Makes one ``tokenizer.json`` of what a checkpoint has: one already, a WordPiece vocabulary, or byte-level BPE."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from modelkit.errors import CheckpointError
from modelkit.importing.lines import split_lines
from modelkit.importing.tokenizer_config import TokenizerConfig
from modelkit.text_files import read_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_SPARE_ROWS = 1024
"""Rows of the embeddings beyond the vocabulary. Some round them up; more means the vocabulary of another network."""
_WORDPIECE_SPECIALS = ("[UNK]", "[CLS]", "[SEP]")
_BYTE_LEVEL_SPECIALS = ("<s>", "</s>", "<unk>", "<pad>", "<mask>")


def read_tokenizer(directory: Path) -> Tokenizer:
    """Reads the tokenizer of a directory: ``tokenizer.json``, ``vocab.txt``, or ``vocab.json`` with ``merges.txt``.

    It follows ``tokenizer_config.json``, if there is one.

    Raises:
        CheckpointError: there is none of them, or it cannot be used.
        DataError: a file is no text.
    """
    config = TokenizerConfig.read(directory)
    words, pieces = directory / "vocab.txt", directory / "vocab.json"
    if (directory / "tokenizer.json").is_file():
        tokenizer = load_tokenizer(directory / "tokenizer.json")
    elif words.is_file():
        config.check_class(words)
        tokenizer = wordpiece(split_lines(read_text(words)), str(words))
    elif pieces.is_file() and (directory / "merges.txt").is_file():
        config.check_class(pieces)
        tokenizer = byte_level(pieces, directory / "merges.txt")
    else:
        raise CheckpointError(
            f"{directory} has no tokenizer: it needs tokenizer.json, vocab.txt, or vocab.json with merges.txt"
        )
    config.apply(tokenizer)
    return tokenizer


def tokenizer_files(directory: Path) -> list[Path]:
    """Lists the files that a directory's tokenizer is read from."""
    sets = (("tokenizer.json",), ("vocab.txt",), ("vocab.json", "merges.txt"))
    found = next((names for names in sets if all((directory / name).is_file() for name in names)), ())
    return [path for name in (*found, "tokenizer_config.json") if (path := directory / name).is_file()]


def load_tokenizer(path: Path) -> Tokenizer:
    """Reads a ``tokenizer.json`` of WordPiece or byte-level BPE.

    Raises:
        CheckpointError: it is none.
    """
    tokenizer = parse_tokenizer(path)
    kind = type(tokenizer.model).__name__
    byte_level_pieces = '"ByteLevel"' in json.dumps(json.loads(tokenizer.to_str())["pre_tokenizer"])
    if kind != "WordPiece" and not (kind == "BPE" and byte_level_pieces):
        raise CheckpointError(f"{path} splits words by {kind}: only WordPiece and byte-level BPE can be imported")
    return tokenizer


def parse_tokenizer(path: Path) -> Tokenizer:
    """Reads a ``tokenizer.json``, however it splits words.

    Raises:
        CheckpointError: it is none.
        DataError: it is no text.
    """
    text = read_text(path)
    try:
        return Tokenizer.from_str(text)
    except Exception as error:
        raise CheckpointError(f"{path} is no tokenizer of the tokenizers library ({error}): get it again") from error


def wordpiece(tokens: Sequence[str], name: str, *, lowercase: bool | None = None) -> Tokenizer:
    """Builds BERT's tokenizer (Devlin et al., 2019).

    Args:
        tokens: the vocabulary in the order of its ids.
        name: what to call it in errors.
        lowercase: whether text is put into lower case first; None does so unless the vocabulary has capitals.

    Raises:
        CheckpointError: a special token is missing.
    """
    vocabulary = {token: index for index, token in enumerate(tokens)}
    missing = [token for token in _WORDPIECE_SPECIALS if token not in vocabulary]
    if missing:
        raise CheckpointError(f"{name} has no {', '.join(missing)}: give the vocabulary of a BERT, one token a line")
    if lowercase is None:
        lowercase = not any(token != token.lower() for token in vocabulary if not token.startswith("["))
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))  # noqa: S106 - a token of text
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.add_special_tokens([token for token in (*_WORDPIECE_SPECIALS, "[PAD]", "[MASK]") if token in vocabulary])
    return tokenizer


def byte_level(vocabulary: Path, merges: Path) -> Tokenizer:
    """Builds RoBERTa's tokenizer: byte-level BPE (Radford et al., 2019).

    Raises:
        CheckpointError: the files do not belong together.
    """
    try:
        tokenizer = Tokenizer(models.BPE.from_file(str(vocabulary), str(merges)))
    except Exception as error:
        raise CheckpointError(
            f"{vocabulary} and {merges.name} are no byte-level BPE ({error}): get them again"
        ) from error
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    known = [token for token in _BYTE_LEVEL_SPECIALS if tokenizer.token_to_id(token) is not None]
    tokenizer.add_special_tokens([AddedToken(name, lstrip=name.startswith("<mask")) for name in known])
    return tokenizer


def prepare(tokenizer: Tokenizer, embeddings: int, name: str) -> None:
    """Makes a tokenizer ready for the engines, in place: special tokens around texts, offsets without spaces.

    Args:
        tokenizer: to be changed.
        embeddings: rows of the network's word embeddings.
        name: what to call it in errors.

    Raises:
        CheckpointError: its vocabulary is that of another network, or it has no special tokens.
    """
    check_size(tokenizer, embeddings, name)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    if tokenizer.num_special_tokens_to_add(is_pair=True) < 3:
        tokenizer.post_processor = _specials_around(tokenizer, name)
    # The piece for " b" covers its space, unless the tokenizer trims it off.
    if any(start == 1 for start, _ in tokenizer.encode("a b", add_special_tokens=False).offsets):
        trimming = processors.ByteLevel(trim_offsets=True)
        tokenizer.post_processor = processors.Sequence([trimming, tokenizer.post_processor])


def check_size(tokenizer: Tokenizer, embeddings: int, name: str) -> None:
    """Checks that a vocabulary has as many tokens as a network knows, or a few less.

    Args:
        tokenizer: whose vocabulary is checked.
        embeddings: rows of the network's word embeddings.
        name: what to call it in errors.

    Raises:
        CheckpointError: it is the vocabulary of another network.
    """
    ids = tokenizer.get_vocab(with_added_tokens=True).values()
    highest = max(ids, default=-1)
    if highest >= embeddings or embeddings - highest - 1 > _SPARE_ROWS:
        raise CheckpointError(
            f"{name}: the vocabulary of {highest + 1:,} tokens does not fit the {embeddings:,} word embeddings: "
            "give the vocabulary that the network was trained with"
        )


def _specials_around(tokenizer: Tokenizer, name: str) -> processors.PostProcessor:
    for first, last in (("[CLS]", "[SEP]"), ("<s>", "</s>")):
        first_id, last_id = tokenizer.token_to_id(first), tokenizer.token_to_id(last)
        if first_id is None or last_id is None:
            continue
        if first == "<s>":
            return processors.RobertaProcessing((last, last_id), (first, first_id), trim_offsets=True)
        return processors.BertProcessing((last, last_id), (first, first_id))
    raise CheckpointError(f"{name} has neither [CLS] and [SEP] nor <s> and </s>: give a tokenizer with special tokens")
