"""Protocol and data of speaker embeddings, for telling speakers apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from pipelines.audio.formats import MODEL_RATE_HZ

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt

    from pipelines.data.recognition import Timing

WINDOW_SAMPLES = round(1.6 * MODEL_RATE_HZ)
"""Samples of a window; of more the first count."""
MAX_WINDOWS = 32
"""Windows of one request."""


@dataclass(frozen=True, slots=True, eq=False)
class SpeakerEmbeddings:
    """Vectors of windows of speech.

    Attributes:
        vectors: one of length 1 for each window, float32 ``[windows, dimensions]``.
        timing: what they cost.
    """

    vectors: npt.NDArray[np.float32]
    timing: Timing


class SpeakerModel(Protocol):
    """Speaker embeddings: voices that are alike get vectors with a high cosine."""

    async def embed(self, windows: Sequence[npt.NDArray[np.float32]], due: float | None = None) -> SpeakerEmbeddings:
        """Embed windows of speech.

        Args:
            windows: one to :data:`MAX_WINDOWS`, float32 ``[samples]`` at 16 kHz, none of them empty.
            due: deadline, see ``pipelines.models.ports``.

        Raises:
            ModelError: the model does not answer.
        """
