"""Text network: a small BERT that tells whether an utterance is whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from tokenizers import Tokenizer

from engines.bert.session import BertSession
from engines.session import ONNX_RUNTIME
from engines.turn.spoken_words import spoken_words

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy.typing as npt

    from engines.accelerators.choice import Accelerator

_MAX_TOKENS = 64


class WordTokenizer:
    """Makes the rows of the network.

    Args:
        path: a ``tokenizer.json`` of the Hugging Face tokenizers library.
    """

    def __init__(self, path: Path) -> None:
        self._tokenizer = Tokenizer.from_file(str(path))
        self._tokenizer.no_padding()
        # The end of a text tells more than its beginning.
        self._tokenizer.enable_truncation(_MAX_TOKENS, direction="left")

    def rows(self, texts: Sequence[Sequence[str]]) -> list[npt.NDArray[np.int64]]:
        """Return the tokens of texts of words, int64 ``[tokens]`` each."""
        encodings = self._tokenizer.encode_batch([" ".join(words) for words in texts])
        return [np.array(encoding.ids, np.int64) for encoding in encodings]


class WordNetwork:
    """Runs the network.

    Args:
        network: the ``.onnx`` file.
        tokenizer: its ``tokenizer.json``.
        threads: cores that one run may use.
        accelerator: what computes.
    """

    def __init__(
        self, network: Path, tokenizer: Path, threads: int = 1, accelerator: Accelerator = ONNX_RUNTIME
    ) -> None:
        self._session = BertSession(network, threads, accelerator)
        self._tokenizer = WordTokenizer(tokenizer)

    def read(self, texts: Sequence[str]) -> list[float | None]:
        """Return a logit per text, positive where whole; None without words."""
        words = [spoken_words(text) for text in texts]
        rows = self._tokenizer.rows(words)
        requests = [{"input_ids": row[np.newaxis], "attention_mask": np.ones((1, len(row)), np.int64)} for row in rows]
        logits = [float(result["over_logit"][0, 0]) for result in self._session.run(requests)]
        return [logit if said else None for logit, said in zip(logits, words, strict=True)]
