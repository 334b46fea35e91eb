"""Moonshine's vocabulary file and its control tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engines.asr.tokenizer import Tokenizer

if TYPE_CHECKING:
    from pathlib import Path

START_TOKEN = 1
END_TOKEN = 2


class VocabularyError(ValueError):
    """A vocabulary file that cannot be read."""


def load_tokenizer(path: Path) -> Tokenizer:
    """Read ``tokenizer.bin``: for each token its length and its bytes.

    A length below 128 is one byte; a longer one is two, the low seven bits first (``low + 128``, ``high``).

    Raises:
        OSError: the file cannot be read.
        VocabularyError: the file ends in the middle of a token.
    """
    data = path.read_bytes()
    pieces = []
    position = 0
    while position < len(data):
        length = data[position]
        position += 1
        if length >= 128:
            if position == len(data):
                raise VocabularyError(f"{path} ends in the middle of a token.")
            length = data[position] * 128 + length - 128
            position += 1
        if position + length > len(data):
            raise VocabularyError(f"{path} ends in the middle of a token.")
        pieces.append(data[position : position + length])
        position += length
    return Tokenizer(pieces)
