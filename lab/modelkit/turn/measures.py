"""Measures of scores that are higher for ends than for pauses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt


def auc(ends: npt.ArrayLike, holds: npt.ArrayLike) -> float:
    """Area under the ROC curve: how probably an end scores higher than a pause; ties count half."""
    high, low = np.asarray(ends, np.float64), np.sort(np.asarray(holds, np.float64))
    below, upto = np.searchsorted(low, high, "left"), np.searchsorted(low, high, "right")
    return float((below + upto).mean() / 2 / len(low))
