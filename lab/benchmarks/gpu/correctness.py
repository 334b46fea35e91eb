"""Compares every way to compute a layer, and whole networks in every precision, with float32 computed eagerly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from benchmarks.gpu.plan import LOGIT_LIMITS
from engines.bert.gpu.encoder import Method
from engines.bert.gpu.network import NetworkShape, random_state
from engines.bert.gpu.ops import TorchOps
from engines.bert.gpu.precision import Precision
from engines.bert.gpu.selection import choose_ops
from engines.bert.gpu.session import GpuBertSession, GpuOptions
from engines.gpu.attention import candidates, eager_attention
from engines.gpu.choice import LIMITS, relative_error

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from benchmarks.gpu.plan import Plan
    from benchmarks.gpu.sheet import Sheet
    from engines.bert.gpu.network import State
    from engines.bert.gpu.session import Request

_MIXED = (1, 7, 64, 33, 128, 2, 65, 127, 20, 90)
"""Lengths of rows: short, long, and on both sides of what kernels take at a time."""


def check_everything(plan: Plan, sheet: Sheet) -> None:
    """Compares attention in every type, and two networks in every precision, with and without fused kernels."""
    device = torch.device(plan.device)
    for dtype in (torch.float16, torch.bfloat16):
        _check_attention(dtype, device, sheet)
    small = plan.device == "cpu"
    for head in ("span", "intent_slot"):
        shape = NetworkShape(
            64 if small else 768, 1 if small else 3, 4 if small else 12, 128 if small else 3072, positions=128,
            head=head, intents=64, tags=109, reads_segments=head == "span",
        )  # fmt: skip
        _check_network(shape, device, sheet)


def _check_attention(dtype: torch.dtype, device: torch.device, sheet: Sheet) -> None:
    offsets = torch.tensor([0, *_MIXED, 0], dtype=torch.int32, device=device).cumsum(0, dtype=torch.int32)
    qkv = torch.randn(sum(_MIXED), 3, 12, 64, device=device).to(dtype)
    expected = eager_attention(qkv.float(), offsets, max(_MIXED))
    for name, attend in candidates(device).items():
        what = {"what": "attention", "way": name, "type": str(dtype).removeprefix("torch.")}
        try:
            error = relative_error(attend(qkv, offsets, max(_MIXED)), expected)
        except Exception as reason:  # noqa: BLE001 - a way that this machine lacks is a result too
            sheet.add(**what, error=str(reason)[:200])
        else:
            sheet.add(**what, relative=error, right=error <= LIMITS[dtype])


def _check_network(shape: NetworkShape, device: torch.device, sheet: Sheet) -> None:
    state = random_state(shape)
    requests = mixed_requests(shape, _MIXED, np.random.default_rng(1))
    expected = reference(shape, state).run(requests)
    for precision in Precision:
        options = GpuOptions(precision, 1024, 16, 0, str(device))
        plain = Method(precision, TorchOps(), candidates(device)["padded"])
        ways = {"chosen": None, "plain": plain}
        if device.type == "cuda":
            ways["fused, GELU apart"] = Method(precision, choose_ops(shape.width, precision, device), plain.attention)
        for way, method in ways.items():
            what = {"what": f"network, {shape.head}", "way": way, "precision": precision}
            try:
                got = GpuBertSession(shape, state, options, method).run(requests)
            except RuntimeError as error:
                sheet.add(**what, error=str(error)[:200])
                continue
            sheet.add(**what, **compare(got, expected), limit=LOGIT_LIMITS[precision])


def reference(shape: NetworkShape, state: State) -> GpuBertSession:
    """Makes the session that computes in float32 on the CPU, step by step and row by row."""
    method = Method(Precision.FLOAT32, TorchOps(), eager_attention)
    return GpuBertSession(shape, state, GpuOptions(Precision.FLOAT32, 1024, 16, device="cpu"), method)


def mixed_requests(shape: NetworkShape, lengths: Sequence[int], rng: np.random.Generator) -> list[Request]:
    """Makes a request of one row for each length, and one of all of them, padded."""
    width = max(lengths)
    mask = np.arange(width) < np.array(lengths)[:, np.newaxis]
    together = {
        "input_ids": rng.integers(0, shape.vocabulary, mask.shape, np.int32),
        "attention_mask": mask,
        "token_type_ids": rng.integers(0, shape.segments, mask.shape, np.int32),
    }
    alone = [{name: values[[n], :length] for name, values in together.items()} for n, length in enumerate(lengths)]
    kept = {"input_ids", "attention_mask"} | ({"token_type_ids"} if shape.reads_segments else set())
    return [{name: request[name] for name in kept} for request in (together, *alone)]


def compare(
    got: Sequence[dict[str, npt.NDArray[np.float32]]], expected: Sequence[dict[str, npt.NDArray[np.float32]]]
) -> dict[str, object]:
    """Compares logits: largest absolute and relative difference, and how often the highest is the same."""
    names = list(expected[0])
    flat = [
        (np.concatenate([result[name].ravel() for result in got]), np.concatenate([e[name].ravel() for e in expected]))
        for name in names
    ]
    same = [
        np.array_equal(result[name].argmax(-1), wanted[name].argmax(-1))
        for result, wanted in zip(got, expected, strict=True)
        for name in names
    ]
    return {
        "largest": max(float(np.abs(a - b).max()) for a, b in flat),
        "relative": max(relative_error(torch.from_numpy(a), torch.from_numpy(b)) for a, b in flat),
        "same_highest": round(float(np.mean(same)), 4),
    }
