"""From Moonshine's token ids to text.

The vocabulary is SentencePiece-like: U+2581 stands for a space, and characters outside the vocabulary are spelled
in bytes (one token for each of the 256).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from engines.asr.search.spelling import spell
from engines.asr.search.vocabulary import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

START_TOKEN = 1
END_TOKEN = 2

_SPACE = "\N{LOWER ONE EIGHTH BLOCK}"
_WORD_BEGINS = (_SPACE.encode(), b" ", b"\n")
# Tokens that steer the model and are never text: <unk>, <s>, </s> and the unused <<ST_0>> to <<ST_767>>.
_CONTROL = re.compile(rb"<unk>|<s>|</s>|<<ST_\d+>>")


class VocabularyError(ValueError):
    """A vocabulary file that cannot be read."""


@dataclass(frozen=True, slots=True)
class TokenizedWord:
    """A word of a text, and which of its tokens spell it.

    Attributes:
        text: The word, with the punctuation around it.
        first: Index of its first token.
        end: One past the index of its last token.
    """

    text: str
    first: int
    end: int


class Tokenizer:
    """Decodes token ids."""

    def __init__(self, pieces: Sequence[bytes]) -> None:
        """Take the bytes of every token, in the order of their ids."""
        self._pieces = [b"" if _CONTROL.fullmatch(piece) else piece for piece in pieces]

    def __len__(self) -> int:
        return len(self._pieces)

    def vocabulary(self) -> Vocabulary:
        """Return the tokens by what they spell."""
        return Vocabulary(self._pieces)

    def decode(self, tokens: Iterable[int]) -> str:
        """Return the text of ``tokens``, without spaces around it.

        A hypothesis may stop in the middle of a character that is spelled in bytes. Such bytes, and any that are not
        UTF-8, are left out: the character appears once it is complete.
        """
        data = b"".join(self._pieces[token] for token in tokens)
        return data.decode("utf-8", errors="ignore").replace(_SPACE, " ").strip()

    def words(self, tokens: Sequence[int]) -> list[TokenizedWord]:
        """Return the words of a text; lone punctuation belongs to the word before."""
        return self._words(tokens, _WORD_BEGINS)

    def spoken_words(self, tokens: Sequence[int]) -> list[TokenizedWord]:
        """Return the words of a text as :meth:`words`, split at hyphens."""
        return self._words(tokens, (*_WORD_BEGINS, b"-"))

    def _words(self, tokens: Sequence[int], begin_with: tuple[bytes, ...]) -> list[TokenizedWord]:
        begins = [i for i, token in enumerate(tokens) if i == 0 or self._pieces[token].startswith(begin_with)]
        found: list[TokenizedWord] = []
        for begin, end in pairwise([*begins, len(tokens)]):
            joined = found and not (_has_letters(found[-1].text) and _has_letters(self.decode(tokens[begin:end])))
            first = found.pop().first if joined else begin
            found.append(TokenizedWord(self.decode(tokens[first:end]), first, end))
        return [word for word in found if word.text]


def _has_letters(text: str) -> bool:
    return bool(spell(text).strip())


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
