"""Triton model ``embed``: computes sentence embeddings with ``engines.embed``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engines.accelerators.choice import Accelerator
from engines.bert import serving
from engines.embed.embedder import FOLDER, Embedder

if TYPE_CHECKING:
    from collections.abc import Sequence


class TritonPythonModel:
    """Embeds the texts of all requests of a batch in one run of the network."""

    def initialize(self, args: dict[str, str]) -> None:
        """Load the network and its tokenizer, which lie beside this file."""
        threads = int(serving.parameters(args)["threads"])
        self._embedder = Embedder(serving.version_directory(args) / FOLDER, threads, Accelerator.of(args))

    def execute(self, requests: Sequence[object]) -> list[object]:
        """Answer every request; one that is overdue or not UTF-8 gets its own error, and the others are served."""
        return serving.embeddings(requests, _texts, self._embedder.embed)


def _texts(request: object) -> list[str]:
    return serving.texts(request, "TEXT")
