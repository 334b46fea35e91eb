"""Tokenizing for the two BERT engines, with character offsets kept for decoding.

What a tokenizer does is told by its ``tokenizer.json``: WordPiece or byte-level BPE, case, special tokens and how two
texts are joined. What its network wants besides stands in ``tokenizing.json`` beside it, where it wants anything.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from tokenizers import Tokenizer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy.typing as npt
    from tokenizers import Encoding

NO_OFFSET = -1
"""Offset of every token that stands for no character of the text: specials, padding, the question."""
NO_SEGMENT = -1
"""Segment of every token that is of neither text: specials and padding."""
SETTINGS = "tokenizing.json"
_BETWEEN_SPACES = re.compile(r"\S+")
_MARKS = re.compile("[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+")
"""Unicode's blocks of combining diacritical marks."""


@dataclass(frozen=True, slots=True)
class TokenizerSettings:
    """Tokenizer settings of a network, beyond ``tokenizer.json``.

    Attributes:
        max_tokens: longest row that the network can read, specials included; None where that is no shorter than ours.
        split_at_spaces: whether the words that get a slot tag end at spaces alone, as in NeMo, so that "jimmie's" is
            one word. Else they are those of the tokenizer, for which each mark is a word of its own.
    """

    max_tokens: int | None = None
    split_at_spaces: bool = False

    @classmethod
    def beside(cls, tokenizer: Path) -> TokenizerSettings:
        """Read ``tokenizing.json`` beside a ``tokenizer.json``; there need not be one.

        Raises:
            ValueError: the file holds something else; the message names it.
        """
        path = tokenizer.with_name(SETTINGS)
        if not path.exists():
            return cls()
        try:
            return cls(**json.loads(path.read_text(encoding="utf-8")))
        except (TypeError, ValueError) as error:
            raise ValueError(f"{path} holds no settings of a tokenizer: {error}") from error


@dataclass(frozen=True, slots=True)
class TokenBatch:
    """Token tensors of a batch, all int64 and right-padded to the longest row.

    Attributes:
        input_ids: ids of the vocabulary, shape ``[rows, tokens]``.
        attention_mask: 1 for a token, 0 for padding, same shape.
        token_type_ids: what BERT tells two texts apart by: 0 for the first, 1 for the second, same shape. RoBERTa has
            no use for it.
        segments: 0 for tokens of the first text, 1 for those of the second, else :data:`NO_SEGMENT`, same shape.
        offsets: ``[rows, tokens, 2]``: character start and end (exclusive) in the decoded text,
            :data:`NO_OFFSET` where a token is not part of it.
    """

    input_ids: npt.NDArray[np.int64]
    attention_mask: npt.NDArray[np.int64]
    token_type_ids: npt.NDArray[np.int64]
    segments: npt.NDArray[np.int64]
    offsets: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.input_ids)


class UtteranceTokenizer:
    """Tokenizes single utterances for the intent and slot engine.

    A word is tagged by its first token alone, as in section 5.3 of "BERT: Pre-training of Deep Bidirectional
    Transformers" (Devlin et al., 2019). So the offsets of a word, all of it, stand at its first token, and its other
    tokens have :data:`NO_OFFSET`. A punctuation mark is a word of its own, unless the words end at spaces.

    Args:
        path: a ``tokenizer.json`` of the Hugging Face tokenizers library.
        max_tokens: longest row, specials included; what is longer is cut.
    """

    def __init__(self, path: Path, max_tokens: int = 64) -> None:
        settings = TokenizerSettings.beside(path)
        self._split_at_spaces = settings.split_at_spaces
        self._tokenizer = _load(path)
        self._tokenizer.enable_truncation(min(max_tokens, settings.max_tokens or max_tokens))

    def encode(self, texts: Sequence[str]) -> TokenBatch:
        """Tokenize ``texts``, one row each."""
        encodings = self._tokenizer.encode_batch(list(texts))
        batch = _to_batch(encodings, segment=0)
        for row, (text, encoding) in enumerate(zip(texts, encodings, strict=True)):
            offsets = batch.offsets[row]
            _take_in_marks(text, offsets)
            _keep_whole_words(offsets, _words_at(text, offsets) if self._split_at_spaces else encoding.word_ids)
        return batch


class DocumentTokenizer:
    """Tokenizes a question against a document, cut into overlapping windows.

    Every window is ``[CLS] question [SEP] part of the document [SEP]``, as in section 4.2 of
    "BERT: Pre-training of Deep Bidirectional Transformers" (Devlin et al., 2019), or what else ``tokenizer.json`` makes
    of two texts: ``<s> question </s></s> part of the document </s>`` for RoBERTa.

    Args:
        path: a ``tokenizer.json`` of the Hugging Face tokenizers library.
        window: tokens of a window, question and specials included.
        overlap: document tokens that two neighbouring windows share.
        max_question: a question is cut to this many tokens, so that room is left for the document.

    A network that reads less than ``window`` gets smaller windows, a quarter of them for overlap and question each.
    """

    def __init__(self, path: Path, window: int = 256, overlap: int = 64, max_question: int = 64) -> None:
        readable = TokenizerSettings.beside(path).max_tokens or window
        if readable < window:
            window, overlap, max_question = (readable, *(min(n, readable // 4) for n in (overlap, max_question)))
        if window < max_question + overlap + 8:
            raise ValueError(
                f"a window of {window} tokens leaves no room for a question of {max_question} "
                f"and an overlap of {overlap}: take a larger window"
            )
        self._tokenizer = _load(path)
        self._tokenizer.enable_truncation(window, stride=overlap, strategy="only_second")
        self._questions = _load(path)
        self._questions.enable_truncation(max_question)

    def encode(self, question: str, document: str) -> TokenBatch:
        """Tokenize ``question`` with ``document``, one row a window, in order."""
        kept = self._questions.encode(question, add_special_tokens=False)
        if kept.overflowing:
            question = question[: kept.offsets[-1][1]]
        first = self._tokenizer.encode(question, document)
        batch = _to_batch([first, *first.overflowing], segment=1)
        _take_in_marks(document, batch.offsets)
        return batch


def _load(path: Path) -> Tokenizer:
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def _take_in_marks(text: str, offsets: npt.NDArray[np.int64]) -> None:
    """Move token ends behind combining marks, in place."""
    marks = [match.span() for match in _MARKS.finditer(text)]
    if not marks:
        return
    ends = np.arange(len(text) + 1)
    for start, end in marks:
        ends[start] = end
    is_text = offsets[..., 1] != NO_OFFSET
    offsets[..., 1][is_text] = ends[offsets[..., 1][is_text]]


def _words_at(text: str, offsets: npt.NDArray[np.int64]) -> list[int | None]:
    """Return the word number of each token; None without text."""
    starts = [match.start() for match in _BETWEEN_SPACES.finditer(text)]
    words = np.searchsorted(starts, offsets[:, 0], side="right").tolist()
    return [None if start == NO_OFFSET else word for word, start in zip(words, offsets[:, 0].tolist(), strict=True)]


def _keep_whole_words(offsets: npt.NDArray[np.int64], word_ids: Sequence[int | None]) -> None:
    """Move word ends to first tokens, in place, and drop other offsets."""
    first, previous = 0, None
    # Padding is longer than the tokenizer's own list of words.
    for token, word in enumerate(word_ids):
        if offsets[token, 0] == NO_OFFSET:
            continue
        if word is not None and word == previous:
            offsets[first, 1] = offsets[token, 1]
            offsets[token] = NO_OFFSET
        else:
            first, previous = token, word


def _to_batch(encodings: Sequence[Encoding], segment: int) -> TokenBatch:
    """Pad ``encodings`` into a batch, with offsets of ``segment`` alone."""
    rows, tokens = len(encodings), max(len(encoding.ids) for encoding in encodings)
    input_ids = np.zeros((rows, tokens), np.int64)
    attention_mask = np.zeros((rows, tokens), np.int64)
    token_type_ids = np.zeros((rows, tokens), np.int64)
    segments = np.full((rows, tokens), NO_SEGMENT, np.int64)
    offsets = np.full((rows, tokens, 2), NO_OFFSET, np.int64)
    for row, encoding in enumerate(encodings):
        length = len(encoding.ids)
        input_ids[row, :length] = encoding.ids
        attention_mask[row, :length] = 1
        token_type_ids[row, :length] = encoding.type_ids
        segments[row, :length] = [NO_SEGMENT if sequence is None else sequence for sequence in encoding.sequence_ids]
        offsets[row, :length] = np.array(encoding.offsets, np.int64).reshape(-1, 2)
    # A space that is a token of its own, as in byte-level BPE, is no part of any word or answer.
    offsets[(segments != segment) | (offsets[:, :, 0] >= offsets[:, :, 1])] = NO_OFFSET
    return TokenBatch(input_ids, attention_mask, token_type_ids, segments, offsets)
