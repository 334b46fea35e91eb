"""WordPiece tokenizing for the two BERT engines, with character offsets kept for decoding."""

from __future__ import annotations

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


@dataclass(frozen=True, slots=True)
class TokenBatch:
    """Token tensors of a batch, all int64 and right-padded to the longest row.

    Attributes:
        input_ids: WordPiece ids, shape ``[rows, tokens]``.
        attention_mask: 1 for a token, 0 for padding, same shape.
        token_type_ids: 0 for the first segment, 1 for the second, same shape.
        offsets: ``[rows, tokens, 2]``: character start and end (exclusive) in the decoded text,
            :data:`NO_OFFSET` where a token is not part of it.
    """

    input_ids: npt.NDArray[np.int64]
    attention_mask: npt.NDArray[np.int64]
    token_type_ids: npt.NDArray[np.int64]
    offsets: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.input_ids)


class UtteranceTokenizer:
    """Tokenizes single utterances for the intent and slot engine.

    A word is tagged by its first token alone, as in section 5.3 of "BERT: Pre-training of Deep Bidirectional
    Transformers" (Devlin et al., 2019). So the offsets of a word, all of it, stand at its first token, and its other
    tokens have :data:`NO_OFFSET`. A punctuation mark is a word of its own.

    Args:
        path: a ``tokenizer.json`` of the Hugging Face tokenizers library.
        max_tokens: longest row, specials included; what is longer is cut.
    """

    def __init__(self, path: Path, max_tokens: int = 64) -> None:
        self._tokenizer = _load(path)
        self._tokenizer.enable_truncation(max_tokens)

    def encode(self, texts: Sequence[str]) -> TokenBatch:
        """Tokenizes ``texts``, one row each."""
        encodings = self._tokenizer.encode_batch(list(texts))
        batch = _to_batch(encodings, segment=0)
        for row, encoding in enumerate(encodings):
            _keep_whole_words(batch.offsets[row], encoding.word_ids)
        return batch


class DocumentTokenizer:
    """Tokenizes a question against a document, cut into overlapping windows.

    Every window is ``[CLS] question [SEP] part of the document [SEP]``, as in section 4.2 of
    "BERT: Pre-training of Deep Bidirectional Transformers" (Devlin et al., 2019).

    Args:
        path: a ``tokenizer.json`` of the Hugging Face tokenizers library.
        window: tokens of a window, question and specials included.
        overlap: document tokens that two neighbouring windows share.
        max_question: a question is cut to this many tokens, so that room is left for the document.
    """

    def __init__(self, path: Path, window: int = 256, overlap: int = 64, max_question: int = 64) -> None:
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
        """Tokenizes ``question`` against ``document``, one row a window, in document order."""
        kept = self._questions.encode(question, add_special_tokens=False)
        if kept.overflowing:
            question = question[: kept.offsets[-1][1]]
        first = self._tokenizer.encode(question, document)
        return _to_batch([first, *first.overflowing], segment=1)


def _load(path: Path) -> Tokenizer:
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def _keep_whole_words(offsets: npt.NDArray[np.int64], word_ids: Sequence[int | None]) -> None:
    """Moves the end of every word to its first token and forgets the offsets of its other tokens, in place."""
    first, previous = 0, None
    for token, word in enumerate(word_ids):
        if word is not None and word == previous:
            offsets[first, 1] = offsets[token, 1]
            offsets[token] = NO_OFFSET
        else:
            first, previous = token, word


def _to_batch(encodings: Sequence[Encoding], segment: int) -> TokenBatch:
    """Pads ``encodings`` into one batch; offsets are kept for tokens of ``segment`` alone."""
    rows, tokens = len(encodings), max(len(encoding.ids) for encoding in encodings)
    input_ids = np.zeros((rows, tokens), np.int64)
    attention_mask = np.zeros((rows, tokens), np.int64)
    token_type_ids = np.zeros((rows, tokens), np.int64)
    offsets = np.full((rows, tokens, 2), NO_OFFSET, np.int64)
    for row, encoding in enumerate(encodings):
        length = len(encoding.ids)
        input_ids[row, :length] = encoding.ids
        attention_mask[row, :length] = 1
        token_type_ids[row, :length] = encoding.type_ids
        in_segment = np.array([sequence == segment for sequence in encoding.sequence_ids])
        offsets[row, :length][in_segment] = np.array(encoding.offsets, np.int64).reshape(-1, 2)[in_segment]
    return TokenBatch(input_ids, attention_mask, token_type_ids, offsets)
