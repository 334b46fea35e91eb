"""Embeddings of texts that are compared again and again, remembered."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

import numpy as np

from pipelines.models.embedding_port import MAX_TEXTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from pipelines.models.embedding_port import EmbeddingModel

MOST = 4_096
"""Texts that are remembered: 6 MiB. Those that were not asked for the longest are forgotten."""


class KnownVectors:
    """Vectors by text; each text is embedded once."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._known: OrderedDict[str, npt.NDArray[np.float32]] = OrderedDict()

    async def of(
        self, model: EmbeddingModel, texts: Sequence[str], due: float | None = None
    ) -> npt.NDArray[np.float32]:
        """Return a vector of each text, float32 ``[texts, dimensions]``.

        Args:
            model: embeds what is not known.
            texts: at least one.
            due: deadline, see ``pipelines.models.ports``.

        Raises:
            ModelError: the model does not answer.
        """
        found = {text: self._known[text] for text in texts if text in self._known}
        missing = [text for text in dict.fromkeys(texts) if text not in found]
        for start in range(0, len(missing), MAX_TEXTS):
            some = missing[start : start + MAX_TEXTS]
            embedded = dict(zip(some, (await model.embed(some, due)).vectors, strict=True))
            found |= embedded
            # What was embedded stays of use, also where there was no time for the rest.
            self._known |= embedded
        for text in found:
            if text in self._known:
                self._known.move_to_end(text)
        while len(self._known) > self._most:
            self._known.popitem(last=False)
        return np.stack([found[text] for text in texts])
