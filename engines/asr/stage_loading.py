"""Loading of one stage of an encoder, inside Triton or not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from engines.accelerators.choice import Accelerator
from engines.asr.fastconformer.staged import layer_stage
from engines.asr.recognizers import read_card
from engines.session import STAGE, load_session

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    Compute = Callable[[Mapping[str, NDArray[Any]]], Sequence[NDArray[Any]]]


def load_stage(folder: Path, args: Mapping[str, str], threads: int) -> Compute:
    """Load the graph of a stage.

    Args:
        folder: of the model's version.
        args: what Triton gives ``initialize``.
        threads: that work on one step.

    Raises:
        ValueError: it cannot be computed as the configuration asks.
    """
    accelerator, card = Accelerator.of(args), read_card(folder)
    if args.get("model_instance_kind") == "GPU" and not accelerator.name:
        raise ValueError(
            "a stage of an encoder is computed on a GPU by an accelerator alone: set its accelerator to cuda or "
            "tensorrt, or its instance_group to KIND_CPU"
        )
    holds_streams = "layers" in card
    groups = json.loads(args.get("model_config", "{}")).get("instance_group", [])
    if holds_streams and sum(group.get("count", 1) for group in groups) > 1:
        raise ValueError("a stage holds the caches of its streams in one process: set its instances to 1")
    session = load_session(folder / STAGE, threads, arena=holds_streams, accelerator=accelerator)
    if not holds_streams:
        return lambda inputs: session.run(None, inputs)
    return layer_stage(card, session).run
