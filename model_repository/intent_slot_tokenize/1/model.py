"""Triton model ``intent_slot_tokenize``: turns texts into token tensors with ``engines.bert.tokenizing``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engines.bert import serving
from engines.bert.tokenizing import UtteranceTokenizer

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt


class TritonPythonModel:
    """Tokenizes requests of one or several utterances."""

    def initialize(self, args: dict[str, str]) -> None:
        """Load the tokenizer that lies beside this file."""
        path = serving.version_directory(args) / "tokenizer.json"
        self._tokenizer = UtteranceTokenizer(path, int(serving.parameters(args)["max_tokens"]))

    def execute(self, requests: Sequence[object]) -> list[object]:
        """Answer each request by itself: what one holds cannot spoil another."""
        return serving.answer_each(requests, self._tokenize)

    def _tokenize(self, request: object) -> dict[str, npt.NDArray[np.int64]]:
        batch = self._tokenizer.encode(serving.texts(request, "TEXT"))
        return {"INPUT_IDS": batch.input_ids, "ATTENTION_MASK": batch.attention_mask, "OFFSETS": batch.offsets}
