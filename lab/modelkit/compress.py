"""Brings networks into the form in which they are shipped: 8 bits, in operators that are fast on a CPU."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import onnx

from engines.build.quantize import quantize
from modelkit.operators import make_lean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engines.build.quantize import Feeds, Scheme


def compress(source: Path, target: Path, samples: Sequence[Feeds], scheme: Scheme | None = None) -> None:
    """Makes a network four times smaller and about 1.8 times as fast, with almost the same results.

    Args:
        source: a fused float32 model.
        target: is written.
        samples: inputs like those of the model's later life, without padding; the ranges of 8 bits are measured on
            them.
        scheme: of the 8 bits; None for what most networks are shipped with.
    """
    model = onnx.load(source)
    make_lean(model)
    onnx.checker.check_model(model)
    with TemporaryDirectory() as directory:
        lean = Path(directory, "lean.onnx")
        onnx.save(model, lean)
        quantize(lean, target, samples, scheme)
