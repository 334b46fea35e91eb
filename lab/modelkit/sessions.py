"""What runs a network, wherever it is judged: on onnxruntime, as it is served, or in PyTorch; and its inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt

    from engines.bert.tokenizing import TokenBatch
    from engines.build.quantize import Feeds


class Session(Protocol):
    """What runs a network; :class:`engines.bert.session.BertSession` is one."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the network's inputs."""

    def run(self, requests: Sequence[Feeds]) -> list[dict[str, npt.NDArray[np.float32]]]:
        """Gives for each request the network's outputs."""


def row_of(batch: TokenBatch, row: int, inputs: Sequence[str]) -> Feeds:
    """Takes one row of a batch, without its padding."""
    length = int(batch.attention_mask[row].sum())
    return {name: getattr(batch, name)[row : row + 1, :length] for name in inputs}
