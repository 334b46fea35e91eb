"""Punctuation engine: from texts to token windows and back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from tokenizers import Tokenizer

from engines.bert.punctuating import cut_windows, split_words, write

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import numpy.typing as npt

_WINDOW_TOKENS = 128
_OVERLAP_WORDS = 24
_MAX_WORD_TOKENS = 16
"""A word is told by its beginning: what is longer is no word of a language."""


class Session(Protocol):
    """Runs the network; see :class:`engines.bert.session.BertSession`."""

    def run(self, requests: Sequence[Mapping[str, npt.NDArray[np.int64]]]) -> list[dict[str, npt.NDArray[np.float32]]]:
        """Run all rows of all requests."""


class Judgement(NamedTuple):
    """Logits for a text's words: marks ``[words, 4]``, cases ``[words, 3]``."""

    marks: npt.NDArray[np.float32]
    cases: npt.NDArray[np.float32]


class WordTokenizer:
    """Tokenizer of single words, as WordPiece splits them.

    Args:
        path: a ``tokenizer.json`` of the Hugging Face tokenizers library.
    """

    def __init__(self, path: Path) -> None:
        self._tokenizer = Tokenizer.from_file(str(path))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._begin, self._end = self._tokenizer.encode("").ids

    def encode(self, texts: Sequence[Sequence[str]]) -> list[list[list[int]]]:
        """Give the tokens of each word of each text, one at least."""
        distinct = list({word for words in texts for word in words})
        encodings = self._tokenizer.encode_batch(distinct, add_special_tokens=False)
        # Of a word that the tokenizer drops, the end mark is as good a token as any.
        tokens = {
            word: encoding.ids[:_MAX_WORD_TOKENS] or [self._end]
            for word, encoding in zip(distinct, encodings, strict=True)
        }
        return [[tokens[word] for word in words] for words in texts]

    def frame(self, words: Sequence[Sequence[int]]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Make a row of tokens: ids ``[tokens]`` and first tokens ``[words]``."""
        ids = [self._begin, *(token for word in words for token in word), self._end]
        lengths = [1, *(len(word) for word in words)]
        return np.array(ids, np.int64), np.cumsum(lengths, dtype=np.int64)[:-1]


class Punctuator:
    """Puts capitals and punctuation into texts.

    Args:
        session: runs a network with the outputs ``mark_logits`` and ``case_logits``.
        tokenizer: of that network.
        spellings: words with capitals inside, by their lower case.
    """

    def __init__(self, session: Session, tokenizer: WordTokenizer, spellings: Mapping[str, str]) -> None:
        self._session = session
        self._tokenizer = tokenizer
        self._spellings = spellings

    def punctuate(self, texts: Sequence[str]) -> list[str]:
        """Punctuate and capitalize texts; see :func:`engines.bert.punctuating.write`."""
        split = [split_words(text) for text in texts]
        judged = self.judge([[word.text.lower() for word in words] for words in split])
        return [
            write(text, words, *judgement, self._spellings)
            for text, words, judgement in zip(texts, split, judged, strict=True)
        ]

    def judge(self, texts: Sequence[Sequence[str]]) -> list[Judgement]:
        """Run the network over all windows of all texts at once."""
        requests: list[dict[str, npt.NDArray[np.int64]]] = []
        kept: list[list[npt.NDArray[np.int64]]] = [[] for _ in texts]
        for places, tokens in zip(kept, self._tokenizer.encode(texts), strict=True):
            for window in cut_windows([len(word) for word in tokens], _WINDOW_TOKENS - 2, _OVERLAP_WORDS):
                ids, begins = self._tokenizer.frame(tokens[window.first : window.last])
                requests.append({"input_ids": ids[np.newaxis], "attention_mask": np.ones((1, len(ids)), np.int64)})
                places.append(begins[window.kept[0] - window.first : window.kept[1] - window.first])
        results = iter(self._session.run(requests))
        return [Judgement(*_join([(next(results), place) for place in places])) for places in kept]


def load_spellings(path: Path) -> dict[str, str]:
    """Read ``spellings.json``: words with capitals inside, if it exists.

    Raises:
        ValueError: the file does not hold that; the message names it.
    """
    if not path.exists():
        return {}
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
        return {str(word): str(written) for word, written in fields.items()}
    except (AttributeError, ValueError) as error:
        raise ValueError(f"{path} holds no spellings: {error}") from error


def _join(
    windows: Sequence[tuple[Mapping[str, npt.NDArray[np.float32]], npt.NDArray[np.int64]]],
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Merge the results of windows, each for the words that it keeps."""
    marks, cases = (
        np.concatenate([np.zeros((0, 0), np.float32)] if not windows else [r[name][0][place] for r, place in windows])
        for name in ("mark_logits", "case_logits")
    )
    return marks, cases
