"""Makes batches of rows of unlike lengths."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.nn.utils.rnn import pad_sequence

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt


def pad(rows: Sequence[npt.NDArray[np.int64]], fill: int = 0) -> torch.Tensor:
    """Makes ``[rows, tokens, …]`` of rows ``[tokens, …]``, with ``fill`` behind shorter ones."""
    return pad_sequence([torch.from_numpy(row) for row in rows], batch_first=True, padding_value=fill)
