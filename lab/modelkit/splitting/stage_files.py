"""Files that every stage of a network has."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime as ort

from engines.session import STAGE
from modelkit.splitting.cuts import choose_stages, layer_ends
from modelkit.splitting.graph import save
from modelkit.triton_models import VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy.typing as npt
    import onnx

    from modelkit.splitting.cuts import Stage
    from modelkit.splitting.graph import NetworkGraph
    from modelkit.splitting.places import Place

    Arrays = Mapping[str, npt.NDArray[Any]]

CARD = "card.json"


def cut(
    graph: NetworkGraph, feeds: Arrays, fits: Callable[[npt.NDArray[Any]], bool], count: int
) -> tuple[list[Stage], dict[str, int]]:
    """Choose the stages of a network.

    Args:
        graph: of the network.
        feeds: its inputs, to compute it once.
        fits: whether a tensor is a hidden state, beside being float32.
        count: number of stages.

    Returns:
        The stages, and the width of each hidden state.

    Raises:
        SplitError: there are not that many places.
    """
    ends, layers = layer_ends(graph)
    widths = _widths(graph, list(ends.values()), feeds, fits)
    return choose_stages(graph, {layer: end for layer, end in ends.items() if end in widths}, layers, count), widths


def write_stage(model: Path, code: Path, part: onnx.ModelProto, card: Mapping[str, object]) -> Path:
    """Write the folder of a stage without its configuration; return that of its version."""
    version = model / VERSION
    version.mkdir(parents=True)
    save(part, version / STAGE)
    shutil.copy(code, version)
    (version / CARD).write_text(json.dumps(card, indent=1) + "\n", encoding="utf-8")
    return version


def cards_of(stages: Sequence[Stage], places: Sequence[Place]) -> list[dict[str, object]]:
    """Describe stages for cards."""
    return [
        {"stage": number, "layers": [stage.first, stage.last], "weight_bytes": stage.weight_bytes}
        | ({} if place.gpu is None else {"gpu": place.gpu})
        for number, (stage, place) in enumerate(zip(stages, places, strict=True), 1)
    ]


def _widths(
    graph: NetworkGraph, names: Sequence[str], feeds: Arrays, fits: Callable[[npt.NDArray[Any]], bool]
) -> dict[str, int]:
    """Compute tensors once, and return the width of those that are a hidden state."""
    if not names:
        return {}
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    with TemporaryDirectory() as scratch:
        save(graph.with_outputs(names), path := Path(scratch, "tapped.onnx"))
        session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    values = session.run(list(names), dict(feeds))
    return {
        name: value.shape[-1]
        for name, value in zip(names, values, strict=True)
        if value.dtype == np.float32 and fits(value)
    }
