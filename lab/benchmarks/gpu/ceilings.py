"""What the card can do at all: the largest matrix products that a library computes on it, and copies of memory.

Matrices are random: on zeros a card draws less power, and is faster than on any real data.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import torch

from benchmarks.gpu.clock import median_seconds
from engines.bert.gpu.linear import Fp8Linear, PlainLinear
from engines.bert.gpu.precision import round_rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.gpu.plan import Plan
    from benchmarks.gpu.sheet import Sheet

_SECONDS = 1.0
_LAYERS = {
    "BERT-base up": (32768, 768, 3072),
    "BERT-large up": (24576, 1024, 4096),
    "BERT-large out": (24576, 1024, 1024),
}
"""Products of a layer, rows, inputs and outputs: what the shapes of the networks reach by themselves."""


def measure_ceilings(plan: Plan, sheet: Sheet) -> None:
    """Measures matrix products in every precision, and a copy of memory."""
    device = torch.device(plan.device)
    side = plan.matrix
    shapes = {f"{side} cubed": (side, side, side)} | (_LAYERS if device.type == "cuda" else {})
    for name, (rows, inputs, outputs) in shapes.items():
        for precision, product in products(rows, inputs, outputs, device).items():
            try:
                seconds = median_seconds(product, device, _SECONDS if name in shapes and rows == side else 0.3)
            except RuntimeError as error:
                sheet.add(what=name, precision=precision, error=str(error)[:200])
                continue
            rate = 2 * rows * inputs * outputs / seconds / 1e12
            sheet.add(what=name, precision=precision, tflops=round(rate, 6), milliseconds=round(1000 * seconds, 4))
    source = torch.randn(side * side * 16, device=device)
    target = torch.empty_like(source)
    seconds = median_seconds(lambda: target.copy_(source), device, _SECONDS)
    moved = 2 * source.numel() * source.element_size()
    sheet.add(what="copy of memory", terabytes_per_second=round(moved / seconds / 1e12, 4))


def products(rows: int, inputs: int, outputs: int, device: torch.device) -> dict[str, Callable[[], object]]:
    """Makes a product of random matrices in every precision."""
    values = torch.randn(rows, inputs, device=device)
    weight = torch.randn(outputs, inputs, device=device)
    bias = torch.randn(outputs, device=device)
    found: dict[str, Callable[[], object]] = {}
    for name, dtype in (("float16", torch.float16), ("bfloat16", torch.bfloat16)):
        linear, operand = PlainLinear(weight.to(dtype), bias.to(dtype)), values.to(dtype)
        found[name] = partial(linear, operand, None)
    rounded = round_rows(values, torch.float8_e4m3fn)
    by_rows = Fp8Linear(weight, bias)
    found["fp8"] = lambda: by_rows(rounded.values, rounded)
    one = torch.ones((), device=device)
    whole = round_rows(weight, torch.float8_e4m3fn).values.t()
    found["fp8, one scale"] = lambda: torch._scaled_mm(  # noqa: SLF001 - as in engines.bert.gpu.linear
        rounded.values, whole, scale_a=one, scale_b=one, out_dtype=torch.bfloat16, use_fast_accum=True
    )
    integers, wide = round_rows(values, torch.int8).values, round_rows(weight, torch.int8).values.t()
    found["int8"] = lambda: torch._int_mm(integers, wide)  # noqa: SLF001 - as in engines.bert.gpu.linear
    return found


def ceiling(rows: list[dict[str, object]], precision: str) -> float | None:
    """Finds the highest rate measured for a precision, in TFLOP/s, whatever its scales."""
    rates = [
        float(str(row["tflops"])) for row in rows if str(row.get("precision")).startswith(precision) and "tflops" in row
    ]
    return max(rates, default=None)
