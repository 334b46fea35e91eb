"""Recordings at the pace of speech, without asyncio."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from vivavoce._recording import check_pace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import numpy as np
    from numpy.typing import NDArray


def pace(chunks: Iterable[NDArray[np.float32]], sample_rate_hz: int) -> Iterator[NDArray[np.float32]]:
    """Yield chunks at the pace of speech, as `vivavoce.pace` does.

    Args:
        chunks: Samples, as arrays of shape [n] or [n, channels].
        sample_rate_hz: Samples a second and channel.

    Raises:
        TypeError: `chunks` is no iterable of chunks.
        InvalidRequest: There are no such sample rates.
    """
    check_pace(chunks, sample_rate_hz)
    return _paced(chunks, sample_rate_hz)


def _paced(chunks: Iterable[NDArray[np.float32]], sample_rate_hz: int) -> Iterator[NDArray[np.float32]]:
    start, sample_count = time.monotonic(), 0
    for chunk in chunks:
        sample_count += len(chunk)
        time.sleep(max(0.0, start + sample_count / sample_rate_hz - time.monotonic()))
        yield chunk
