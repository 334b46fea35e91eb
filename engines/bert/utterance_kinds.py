"""Utterance kinds: command, question, statement or report, maybe negated.

A network of two convolutions over word embeddings (Kim, 2014, "Convolutional Neural Networks for Sentence
Classification"), with the embeddings of letter sequences for words that it does not know (Bojanowski et al., 2017,
"Enriching Word Vectors with Subword Information"). It needs nothing of the network for intents, so one file serves
every engine, in a fraction of a millisecond.
"""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import numpy.typing as npt

KINDS = ("command", "question", "statement")
"""What callers are told; a report is a statement."""
CLASSES = tuple(f"{kind}{negated}" for kind in (*KINDS, "report") for negated in ("", " negated"))
"""Classes of the network, in the order of its outputs: a report tells what happened, will happen or was said."""
MAX_WORDS = 40
"""Words that are read of an utterance."""
GRAMS = 4096
"""Buckets of letter sequences."""
PADDING, UNKNOWN = 0, 1
"""Rows of the word embeddings that stand for no word and for words outside of the vocabulary."""
ARRAYS = ("words", "grams", "convolution1", "bias1", "convolution2", "bias2", "output", "bias")

_WORD = re.compile(r"[^\W_]+(?:'[^\W\d_]+)*|\?")
_GRAM_LENGTHS = (3, 4)


@dataclass(frozen=True, slots=True)
class UtteranceKind:
    """Kind of one utterance.

    Attributes:
        kind: one of :data:`KINDS`.
        negated: whether what is said is denied: "don't turn on the lights".
        probabilities: float32 ``[classes]``, of :data:`CLASSES`.
    """

    kind: str
    negated: bool
    probabilities: npt.NDArray[np.float32]


class KindClassifier:
    """Classifies utterances.

    Args:
        arrays: the weights, by the names of :data:`ARRAYS`.
        vocabulary: row of the word embeddings of each word that is known.
    """

    def __init__(self, arrays: Mapping[str, npt.NDArray[np.generic]], vocabulary: Mapping[str, int]) -> None:
        self._vocabulary = vocabulary
        weights = {name: np.asarray(arrays[name], np.float32) for name in ARRAYS}
        self._words, self._grams = weights["words"], weights["grams"]
        self._layers = (
            (weights["convolution1"], weights["bias1"]),
            (weights["convolution2"], weights["bias2"]),
        )
        self._output, self._bias = weights["output"], weights["bias"]

    @classmethod
    def load(cls, path: Path) -> KindClassifier:
        """Read what :meth:`save` wrote.

        Raises:
            ValueError: the file holds something else; the message names it.
        """
        try:
            with np.load(path, allow_pickle=False) as stored:
                words = bytes(stored["vocabulary"]).decode().split("\n")
                return cls(
                    {name: stored[name] for name in ARRAYS}, {word: n for n, word in enumerate(words, UNKNOWN + 1)}
                )
        except (KeyError, ValueError, OSError) as error:
            raise ValueError(f"{path} holds no classifier of utterance kinds: {error}") from error

    def save(self, path: Path) -> None:
        """Write a file for :meth:`load`, with weights in float16."""
        (convolution1, bias1), (convolution2, bias2) = self._layers
        values = (self._words, self._grams, convolution1, bias1, convolution2, bias2, self._output, self._bias)
        arrays = {name: value.astype(np.float16) for name, value in zip(ARRAYS, values, strict=True)}
        words = sorted(self._vocabulary, key=lambda word: self._vocabulary[word])
        vocabulary = np.frombuffer("\n".join(words).encode(), np.uint8)
        np.savez_compressed(path, allow_pickle=False, vocabulary=vocabulary, **arrays)

    def classify(self, text: str) -> UtteranceKind:
        """Classify one utterance; case and most punctuation do not matter."""
        hidden = self._embed(split_words(text))
        first = _convolve(hidden, *self._layers[0])
        second = first + _convolve(first, *self._layers[1])
        read = np.concatenate(
            [second.max(0), second.mean(0), second[0], second[1] if len(second) > 1 else second[0] * 0]
        )
        logits = np.einsum("i,ji->j", read, self._output) + self._bias
        exponents = np.exp(logits - logits.max())
        probabilities: npt.NDArray[np.float32] = (exponents / exponents.sum()).astype(np.float32)
        # A report is told as a statement, so the two compete together.
        told = probabilities[:6].copy()
        told[4:] += probabilities[6:]
        best = int(told.argmax())
        return UtteranceKind(KINDS[best // 2], bool(best % 2), probabilities)

    def _embed(self, words: list[str]) -> npt.NDArray[np.float32]:
        rows = [self._words[self._vocabulary.get(word, UNKNOWN)] + self._grams[grams(word)].mean(0) for word in words]
        return np.stack(rows)


def split_words(text: str) -> list[str]:
    """Split an utterance into the words that the network reads, at least one."""
    return _WORD.findall(text.lower().replace("\u2019", "'"))[:MAX_WORDS] or [""]


def grams(word: str) -> list[int]:
    """Return the buckets of the letter sequences of a word."""
    edged = f"<{word}>"
    found = (edged[n : n + length] for length in _GRAM_LENGTHS for n in range(len(edged) - length + 1))
    return [zlib.crc32(gram.encode()) % GRAMS for gram in found] or [0]


def _convolve(
    inputs: npt.NDArray[np.float32], weights: npt.NDArray[np.float32], bias: npt.NDArray[np.float32]
) -> npt.NDArray[np.float32]:
    """Run a three-word convolution, ``[outputs, inputs, 3]``, and ReLU."""
    padded = np.pad(inputs, ((1, 1), (0, 0)))
    windows = np.stack([padded[:-2], padded[1:-1], padded[2:]], axis=2)
    product = windows.reshape(len(inputs), -1) @ weights.reshape(len(weights), -1).T
    rectified: npt.NDArray[np.float32] = np.maximum(product + bias, 0)
    return rectified
