"""Records work of fixed shapes as CUDA graphs."""

from __future__ import annotations

import contextlib
import gc
import logging
from typing import TYPE_CHECKING, TypeVar

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

logger = logging.getLogger(__name__)

_T = TypeVar("_T")
_WARM_UPS = 3


def record(
    work: Callable[[], _T], stream: torch.cuda.Stream, first: torch.cuda.CUDAGraph | None, title: str
) -> tuple[torch.cuda.CUDAGraph | None, _T | None]:
    """Record what ``work`` launches.

    Args:
        work: reads and writes the same tensors at every call, and never waits for the device.
        stream: that it will run on.
        first: graph whose memory for what is in between this one shares: one runs at a time.
        title: of the work, for the log.

    Returns:
        The graph, and what ``work`` returned, which each replay writes anew; None where it could not be recorded: it
        then runs step by step, and slower.
    """
    torch.cuda.synchronize(stream.device)
    with torch.cuda.stream(stream):
        for _ in range(_WARM_UPS):
            work()
    stream.synchronize()
    graph = torch.cuda.CUDAGraph()
    try:
        with collection_paused(), torch.cuda.graph(graph, pool=first.pool() if first else None, stream=stream):
            results = work()
    except RuntimeError as error:
        logger.warning("%s could not be recorded as a CUDA graph, and is slower: %s", title, error)
        torch.cuda.synchronize(stream.device)
        return None, None
    return graph, results


@contextlib.contextmanager
def collection_paused() -> Iterator[None]:
    """Pause garbage collection: freeing an earlier graph would end the capture."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
