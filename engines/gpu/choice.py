"""Choice at start of the fastest attention that agrees with float32."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

import torch

from engines.gpu.attention import candidates, eager_attention
from engines.gpu.graphs import collection_paused

if TYPE_CHECKING:
    from collections.abc import Callable

    from engines.gpu.attention import Attention

logger = logging.getLogger(__name__)

LIMITS = {torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 1e-2}
"""Largest relative error of one step: a few units in the last place of its type."""
_REPEATS = 20
_SAMPLE_ROWS = 32
_SAMPLE_ROWS_ON_CPU = 1
"""A CPU has one way alone, whose time does not matter."""


def relative_error(got: torch.Tensor, expected: torch.Tensor) -> float:
    """Return the relative Frobenius error in float64; infinite for NaN."""
    difference = torch.linalg.vector_norm(got.double() - expected.double())
    error = float(difference / torch.linalg.vector_norm(expected.double()))
    return error if error == error else float("inf")  # noqa: PLR0124 - the one value that is not itself


def choose_attention(
    heads: int, width: int, dtype: torch.dtype, tokens: int, longest: int, device: torch.device
) -> tuple[str, Attention]:
    """Take the fastest attention that is right; on a CPU the first one.

    Raises:
        RuntimeError: none is.
    """
    rows = _SAMPLE_ROWS if device.type == "cuda" else _SAMPLE_ROWS_ON_CPU
    qkv, offsets = _sample(heads, width, dtype, min(tokens, rows * longest), longest, device)
    expected = eager_attention(qkv.float(), offsets, longest)
    times: dict[str, float] = {}
    ways = candidates(device)
    for name, attend in ways.items():
        try:
            error = relative_error(attend(qkv, offsets, longest), expected)
            if error > LIMITS[dtype]:
                logger.warning("attention %s is off by %.2g here and is not used", name, error)
                continue
            times[name] = _seconds(lambda attend=attend: attend(qkv, offsets, longest), device)  # type: ignore[misc]
        except Exception as error:  # noqa: BLE001 - whatever one dies of, another may do
            logger.info("attention %s cannot be used here: %s", name, error)
    if not times:
        raise RuntimeError(f"no attention computes {dtype} rightly on {device}: run the network on the CPU")
    name = min(times, key=times.__getitem__)
    logger.info("attention: %s", ", ".join(f"{way} {1e6 * seconds:.0f} us" for way, seconds in times.items()))
    return name, ways[name]


def _sample(
    heads: int, width: int, dtype: torch.dtype, tokens: int, longest: int, device: torch.device
) -> tuple[torch.Tensor, torch.Tensor]:
    """Make rows of mixed lengths that fill ``tokens``, and an empty one after them."""
    generator = torch.Generator().manual_seed(1)
    lengths: list[int] = []
    while (left := tokens - sum(lengths)) > 0:
        lengths.append(min(left, int(torch.randint(max(1, longest // 2), longest + 1, (), generator=generator))))
    offsets = torch.tensor([0, *lengths, 0], dtype=torch.int32).cumsum(0, dtype=torch.int32)
    qkv = torch.randn(tokens, 3, heads, width, generator=generator)
    return qkv.to(device, dtype), offsets.to(device)


def _seconds(work: Callable[[], object], device: torch.device) -> float:
    """Time work as it will run, in a CUDA graph; on a CPU nothing is timed."""
    if device.type != "cuda":
        return 0.0
    graph = torch.cuda.CUDAGraph()
    with collection_paused(), torch.cuda.graph(graph):
        for _ in range(_REPEATS):
            work()
    for _ in range(2):
        torch.cuda.synchronize(device)
        began = time.perf_counter()
        graph.replay()
        torch.cuda.synchronize(device)
    return (time.perf_counter() - began) / _REPEATS
