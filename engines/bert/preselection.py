"""Choice of a long document's windows worth reading."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from engines.bert.tokenizing import NO_OFFSET, TokenBatch

if TYPE_CHECKING:
    import numpy.typing as npt


def choose_windows(windows: TokenBatch, max_windows: int) -> TokenBatch:
    """Keep the windows with the most telling words in common, in order.

    A question's token counts for ``log(1 + N / n)`` in every window that holds it, where ``n`` of all ``N`` windows do:
    inverse document frequency (Spärck Jones, 1972) over the document itself, which needs neither a list of stop words
    nor any corpus. Of equally good windows the earlier ones are kept.

    Args:
        windows: of one question and one document, from :class:`engines.bert.tokenizing.DocumentTokenizer`.
        max_windows: most windows to keep, at least 1.
    """
    if len(windows) <= max_windows:
        return windows
    kept = np.sort(np.argsort(-overlap_scores(windows), kind="stable")[:max_windows])
    width = int(windows.attention_mask[kept].sum(axis=1).max())
    return replace(
        windows,
        input_ids=windows.input_ids[kept, :width],
        attention_mask=windows.attention_mask[kept, :width],
        token_type_ids=windows.token_type_ids[kept, :width],
        segments=windows.segments[kept, :width],
        offsets=windows.offsets[kept, :width],
    )


def overlap_scores(windows: TokenBatch) -> npt.NDArray[np.float64]:
    """Score windows by weighted word overlap with the question, ``[windows]``."""
    in_document = windows.offsets[:, :, 0] != NO_OFFSET
    asked = np.unique(windows.input_ids[0][windows.segments[0] == 0])
    found = np.stack([np.isin(asked, ids[inside]) for ids, inside in zip(windows.input_ids, in_document, strict=True)])
    holding = found.sum(axis=0)
    weights = np.log1p(len(windows) / np.maximum(holding, 1))
    scores: npt.NDArray[np.float64] = found @ weights
    return scores
