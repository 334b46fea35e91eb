"""Puts a plan of tags into an ONNX graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import helper, numpy_helper

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from modelkit.importing.tags import Source, TagPlan


def arrange_tags(path: Path, plan: TagPlan, output: str = "tag_logits") -> None:
    """Puts the tags of a network into the order of a plan, in its last axis, in place."""
    model = onnx.load(path)
    graph = model.graph
    original = f"{output}_of_checkpoint"
    for node in graph.node:
        node.input[:] = [original if name == output else name for name in node.input]
        node.output[:] = [original if name == output else name for name in node.output]
    chosen = [sources[0] for sources in plan.sources]
    rivals = [sources[-1] for sources in plan.sources]
    if chosen == rivals:
        _pick(graph, original, chosen, output)
    else:
        _pick(graph, original, chosen, f"{output}_chosen")
        _pick(graph, original, rivals, f"{output}_rivals")
        graph.node.append(helper.make_node("Max", [f"{output}_chosen", f"{output}_rivals"], [output]))
    value = next(value for value in graph.output if value.name == output)
    value.type.tensor_type.shape.dim[2].dim_value = len(plan.tags)
    onnx.checker.check_model(model)
    onnx.save(model, path)


def _pick(graph: onnx.GraphProto, source: str, picked: Sequence[Source], target: str) -> None:
    """Adds a choice of logits from the last axis, each with its shift."""
    indices = np.array([source.place for source in picked], np.int64)
    shifts = np.array([source.shift for source in picked], np.float32)
    graph.initializer.extend(
        [numpy_helper.from_array(indices, f"{target}_indices"), numpy_helper.from_array(shifts, f"{target}_shifts")]
    )
    graph.node.append(helper.make_node("Gather", [source, f"{target}_indices"], [f"{target}_unshifted"], axis=-1))
    graph.node.append(helper.make_node("Add", [f"{target}_unshifted", f"{target}_shifts"], [target]))
