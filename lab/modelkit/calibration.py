"""Calibration on held-out data: temperatures and thresholds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from engines.bert.intent_decoding import softmax

if TYPE_CHECKING:
    import numpy.typing as npt

_TEMPERATURES = np.geomspace(0.2, 5.0, 161)


def choose_temperature(logits: npt.NDArray[np.float32], truth: npt.NDArray[np.int64]) -> float:
    """Finds the temperature of least negative log-likelihood (Guo et al., 2017).

    Args:
        logits: ``[rows, classes]``.
        truth: ``[rows]``, the right class of each row.
    """
    rows = np.arange(len(truth))
    losses = [-np.log(softmax(logits / t)[rows, truth] + 1e-12).mean() for t in _TEMPERATURES]
    return float(_TEMPERATURES[int(np.argmin(losses))])


def choose_threshold(logits: npt.NDArray[np.float32], truth: npt.NDArray[np.int64], allowed_loss: float) -> float:
    """Finds the greatest confidence threshold that turns at most ``allowed_loss`` of the rows from right to rejected.

    Args:
        logits: ``[rows, classes]``, already divided by the temperature.
        truth: ``[rows]``, the right class of each row.
        allowed_loss: share of all the rows.
    """
    probabilities = softmax(logits)
    right = np.sort(probabilities.max(axis=1)[probabilities.argmax(axis=1) == truth])
    allowed = int(allowed_loss * len(truth))
    return float(right[allowed]) if allowed < len(right) else 1.0
