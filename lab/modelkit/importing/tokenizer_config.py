"""Reads ``tokenizer_config.json``: what a checkpoint says of its tokenizer beside vocabulary and merges."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tokenizers import Tokenizer, normalizers, pre_tokenizers, processors

from modelkit.errors import CheckpointError
from modelkit.text_files import read_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_CONFIG = "tokenizer_config.json"
_CLASS = "tokenizer_class"
_SETTINGS = ("do_lower_case", "strip_accents", "tokenize_chinese_chars", "add_prefix_space")
_BUILT_FROM = {
    "vocab.txt": ("BertTokenizer", "DistilBertTokenizer", "ElectraTokenizer"),
    "vocab.json": ("RobertaTokenizer", "LongformerTokenizer", "BartTokenizer"),
}
"""Classes of transformers that do the same, by the file that their vocabulary is in."""


@dataclass(frozen=True, slots=True)
class TokenizerConfig:
    """What a directory says of its tokenizer; None where it says nothing, so that the tokenizer's own way stays.

    Attributes:
        class_name: the class of transformers that it was saved from.
        do_lower_case: whether text is put into lower case first.
        strip_accents: whether accents are dropped; BERT drops them from what it puts into lower case.
        tokenize_chinese_chars: whether each Chinese character is a word of its own.
        add_prefix_space: whether byte-level BPE reads the first word of a text as if a space stood before it.
    """

    class_name: str | None = None
    do_lower_case: bool | None = None
    strip_accents: bool | None = None
    tokenize_chinese_chars: bool | None = None
    add_prefix_space: bool | None = None

    @classmethod
    def read(cls, directory: Path) -> TokenizerConfig:
        """Reads the configuration of a directory; there need not be one.

        Raises:
            CheckpointError: it is no JSON, or a setting is neither true nor false.
            DataError: it is no text.
        """
        fields = _fields(directory / _CONFIG)
        settings = {name: _flag(fields, name, directory / _CONFIG) for name in _SETTINGS}
        return cls(fields.get(_CLASS), **settings)

    def check_class(self, vocabulary: Path) -> None:
        """Checks that the tokenizer can be built from its vocabulary.

        Older checkpoints name its class in the network's ``config.json``.

        Args:
            vocabulary: ``vocab.txt`` or ``vocab.json``.

        Raises:
            CheckpointError: it is of a class that does more or something else.
            DataError: ``config.json`` is no text.
        """
        known = _BUILT_FROM[vocabulary.name]
        name = self.class_name or _fields(vocabulary.with_name("config.json")).get(_CLASS)
        if not name or str(name).removesuffix("Fast") in known:
            return
        raise CheckpointError(
            f"{vocabulary.parent} has the tokenizer {name}, which cannot be built from {vocabulary.name} "
            f"(known are {', '.join(known)}): put its tokenizer.json beside it, or take a network with one of these"
        )

    def apply(self, tokenizer: Tokenizer) -> None:
        """Makes a tokenizer follow the settings, in place: they count for more than what it says itself."""
        normalizer, splitter, around = tokenizer.normalizer, tokenizer.pre_tokenizer, tokenizer.post_processor
        if isinstance(normalizer, normalizers.BertNormalizer):
            tokenizer.normalizer = self._normalizer(normalizer)
        if self.add_prefix_space is not None and isinstance(splitter, pre_tokenizers.ByteLevel):
            splitter.add_prefix_space = self.add_prefix_space
            tokenizer.pre_tokenizer = splitter
            # What trims the offsets has to know of a space that is none of the text.
            if isinstance(around, processors.RobertaProcessing | processors.ByteLevel):
                around.add_prefix_space = self.add_prefix_space
                tokenizer.post_processor = around

    def _normalizer(self, own: normalizers.BertNormalizer) -> normalizers.BertNormalizer:
        if self.do_lower_case is not None:
            own.lowercase = self.do_lower_case
        if self.strip_accents is not None:
            own.strip_accents = self.strip_accents
        if self.tokenize_chinese_chars is not None:
            own.handle_chinese_chars = self.tokenize_chinese_chars
        return own


def _flag(fields: Mapping[str, Any], name: str, path: Path) -> bool | None:
    value = fields.get(name)
    if value is None or isinstance(value, bool):
        return value
    raise CheckpointError(f"{path}: {name} is {json.dumps(value)}: write true or false")


def _fields(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        fields = json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise CheckpointError(f"{path}, line {error.lineno}: {error.msg}: get it again") from error
    return fields if isinstance(fields, dict) else {}
