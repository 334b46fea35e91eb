"""From token ids to text, for vocabularies like SentencePiece's.

U+2581 stands for a space, and characters outside the vocabulary are spelled in bytes.
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

_SPACE = "\N{LOWER ONE EIGHTH BLOCK}"
_WORD_BEGINS = (_SPACE.encode(), b" ", b"\n")
# Tokens that steer a model and are never text: those of SentencePiece, Moonshine's <<ST_0>> to <<ST_767>>, and NeMo's
# marks of languages and of an utterance's end.
_CONTROL = re.compile(rb"<unk>|<s>|</s>|<pad>|<<ST_\d+>>|<[a-z]{2,3}-[A-Z]{2}>|<EO[UB]>")


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
