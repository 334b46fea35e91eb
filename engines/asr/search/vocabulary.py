"""The tokens of a recognizer by what they spell."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from engines.asr.search.spelling import MARK, spell, spell_piece

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Spelling:
    """Spelling of a word in tokens.

    Attributes:
        letters: the word, in lower case.
        space_share: how much of the word is certain with the space before it, where that is a token of its own.
        shares: after each letter, how much of the word is certain: at the ends of its tokens the share of them that
            have come, in between nothing, so that no other token that happens to begin like the word looks as good.
        pieces: how many tokens it has.
    """

    letters: bytes
    space_share: float
    shares: tuple[float, ...]
    pieces: int


class Vocabulary:
    """Finds tokens by spelling and spellings by token."""

    def __init__(self, pieces: Sequence[bytes]) -> None:
        """Take the bytes of every token by id; control tokens are empty."""
        self._spellings = [spell_piece(piece) for piece in pieces]
        self._tokens: dict[bytes, list[int]] = {}
        for token, spelling in enumerate(self._spellings):
            if spelling:
                self._tokens.setdefault(spelling, []).append(token)
        self._closing = frozenset(token for token, piece in enumerate(pieces) if piece and not piece.strip(b".?!"))
        self._sorted = sorted(self._tokens)
        # The first tokens spell single bytes, which are merged with nothing; of twins the learned one counts.
        self._ids = {piece: token for token, piece in enumerate(pieces) if piece}

    @property
    def closing(self) -> frozenset[int]:
        """The tokens that end a sentence: full stops, question marks and the like."""
        return self._closing

    def spelling(self, token: int) -> bytes:
        """Return what a token spells; nothing for punctuation and control tokens."""
        return self._spellings[token]

    def tokens(self, spelling: bytes) -> Sequence[int]:
        """Return the tokens of exactly this spelling, in any case and punctuation."""
        return self._tokens.get(spelling, ())

    def has_prefix(self, prefix: bytes) -> bool:
        """Tell whether any token begins with ``prefix``."""
        position = bisect_left(self._sorted, prefix)
        return position < len(self._sorted) and self._sorted[position].startswith(prefix)

    def spell_word(self, word: str) -> Spelling:
        """Return the spellings of a word: as given, lower case, capitalized.

        Punctuation around it is no part of the word, as little as case; inside ("don't") it is.
        """
        while word and not spell(word[0]):
            word = word[1:]
        while word and not spell(word[-1]):
            word = word[:-1]
        letters = spell(word)
        shares = [0.0] * (1 + len(letters))
        pieces = self.segment(word.lower())
        # Some letters have no capital of their own ("ß" becomes "Ss"): these forms are spelled otherwise.
        for form in {form for form in (word, word.lower(), word.capitalize()) if spell(form) == letters}:
            form_pieces = self.segment(form)
            ends = accumulate(len(spell_piece(piece)) for piece in form_pieces)
            for count, end in enumerate(ends, start=1):
                shares[end - 1] = max(shares[end - 1], count / len(form_pieces))
        return Spelling(letters, shares[0], tuple(shares[1:]), len(pieces))

    def segment(self, word: str) -> list[bytes]:
        """Return the byte-pair encoding of a word after a space.

        Sennrich et al. 2016, "Neural Machine Translation of Rare Words with Subword Units": neighbours are merged, the
        pair whose merger was learned first at each step. Ids stand in the order of learning.
        """
        pieces = [character.encode() for character in MARK + word]
        while True:
            ranked = [(self._ids.get(pieces[i] + pieces[i + 1]), i) for i in range(len(pieces) - 1)]
            known = [(rank, i) for rank, i in ranked if rank is not None]
            if not known:
                return pieces
            _, i = min(known)
            pieces[i : i + 2] = [pieces[i] + pieces[i + 1]]
