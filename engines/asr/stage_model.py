"""Triton model of one stage of an encoder.

Imports Triton's ``triton_python_backend_utils``, which exists only inside Triton.
"""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING

import triton_python_backend_utils as pb_utils

from engines.asr.errors import AsrError
from engines.asr.stage_loading import load_stage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

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
        """Compute requests one by one; recognition has joined its streams."""
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
