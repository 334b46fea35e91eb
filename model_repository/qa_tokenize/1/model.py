"""Triton model ``qa_tokenize``: cuts documents into windows of tokens with ``engines.bert.tokenizing``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engines.bert import serving
from engines.bert.preselection import choose_windows
from engines.bert.tokenizing import DocumentTokenizer

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt


class TritonPythonModel:
    """Tokenizes a question and a document a request."""

    def initialize(self, args: dict[str, str]) -> None:
        """Load the tokenizer that lies beside this file."""
        parameters = serving.parameters(args)
        path = serving.version_directory(args) / "tokenizer.json"
        self._tokenizer = DocumentTokenizer(path, int(parameters["window"]), int(parameters["overlap"]))
        self._max_windows = int(parameters["max_windows"])

    def execute(self, requests: Sequence[object]) -> list[object]:
        """Answer each request by itself: what one holds cannot spoil another."""
        return serving.answer_each(requests, self._tokenize)

    def _tokenize(self, request: object) -> dict[str, npt.NDArray[np.int64]]:
        (question,), (document,) = serving.texts(request, "QUESTION"), serving.texts(request, "DOCUMENT")
        windows = choose_windows(self._tokenizer.encode(question, document), self._max_windows)
        return {
            "INPUT_IDS": windows.input_ids,
            "ATTENTION_MASK": windows.attention_mask,
            "TOKEN_TYPE_IDS": windows.token_type_ids,
            "OFFSETS": windows.offsets,
        }
