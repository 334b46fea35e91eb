"""Triton model of one stage of an encoder.

Imports Triton's ``triton_python_backend_utils``, which exists only inside Triton.
"""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

import triton_python_backend_utils as pb_utils

from engines.accelerators.choice import Accelerator
from engines.asr.errors import AsrError
from engines.asr.recognizers import read_card
from engines.session import STAGE, load_session

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    Compute = Callable[[Mapping[str, NDArray[Any]]], Sequence[NDArray[Any]]]

logger = logging.getLogger(__name__)


class EncoderStage:
    """Stage of an encoder, a request at a time.

    Args:
        folder: of the model's version.
        args: what Triton gives ``initialize``.
        parameters: of the model's ``config.pbtxt``.

    Raises:
        ValueError: it cannot be computed as the configuration asks.
    """

    def __init__(self, folder: Path, args: Mapping[str, str], parameters: Mapping[str, str]) -> None:
        config = json.loads(args["model_config"])
        self._inputs = [tensor["name"] for tensor in config["input"]]
        self._outputs = [tensor["name"] for tensor in config["output"]]
        self._compute = load_stage(folder, args, int(parameters["threads"]))

    def execute(self, requests: Sequence[pb_utils.InferenceRequest]) -> list[pb_utils.InferenceResponse]:
        """Compute requests one after the other: recognition has joined its streams already."""
        responses = []
        for request in requests:
            try:
                given = {name: pb_utils.get_input_tensor_by_name(request, name).as_numpy() for name in self._inputs}
                found = zip(self._outputs, self._compute(given), strict=True)
                responses.append(pb_utils.InferenceResponse([pb_utils.Tensor(*named) for named in found]))
            except Exception as error:
                if not isinstance(error, AsrError):
                    logger.exception("a step was not computed")
                responses.append(pb_utils.InferenceResponse(error=pb_utils.TritonError(str(error))))
        return responses

    def finalize(self) -> None:
        """Free the network."""
        del self._compute


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
    from engines.asr.fastconformer.loading import layer_stage  # noqa: PLC0415 - of that kind alone

    return layer_stage(card, session).run
