"""The encoder's step in PyTorch, for a GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from safetensors.torch import load_file

from engines.asr.fastconformer.names import CACHED, INPUTS, PROMPT
from engines.asr.fastconformer.network import EncoderStep

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from engines.asr.fastconformer.shape import Shape

    Floats = NDArray[np.float32]

_TYPES = {"float16": torch.float16, "bfloat16": torch.bfloat16, "float32": torch.float32}


class TorchStep:
    """The step on a device of PyTorch.

    See :class:`engines.asr.fastconformer.caches.Step`.

    Args:
        path: of the weights, as :func:`weights_of` names them.
        shape: sizes of the network.
        network: ``inner``, ``scale`` and ``prompt_inner`` of :class:`EncoderStep`.
        device: PyTorch's name of it.
        precision: of the computation, one of ``float16``, ``bfloat16`` and ``float32``.

    Raises:
        ValueError: there is no such precision, or the weights are those of another network.
    """

    def __init__(self, path: Path, shape: Shape, network: Mapping[str, float], device: str, precision: str) -> None:
        if precision not in _TYPES:
            raise ValueError(f"gpu_precision is {precision!r}: set it to one of {', '.join(_TYPES)}")
        self._names = [*INPUTS, *(f"{name}_{layer}" for layer in range(shape.layers) for name in CACHED)]
        self._names += [PROMPT] if shape.prompts else []
        self._device, self._type = torch.device(device), _TYPES[precision]
        with torch.device("meta"):
            encoder = EncoderStep(shape, int(network["inner"]), network["scale"], int(network["prompt_inner"]))
        weights = load_file(path)
        for name, part in encoder.named_modules():
            if hasattr(part, "positions"):
                part.positions = weights.pop(f"{name}.positions")
        try:
            encoder.load_state_dict(weights, assign=True)
        except RuntimeError as error:
            raise ValueError(f"{path} holds another network ({error}): import the engine again with --gpu") from error
        self._encoder = encoder.to(device=self._device, dtype=self._type).eval()

    def run(self, inputs: Mapping[str, Floats]) -> list[Floats]:
        """See :class:`engines.asr.fastconformer.caches.Step`."""
        with torch.inference_mode():
            tensors = [torch.from_numpy(inputs[name]).to(self._device, self._type) for name in self._names]
            return [output.float().cpu().numpy() for output in self._encoder(*tensors)]


def weights_of(encoder: EncoderStep) -> dict[str, torch.Tensor]:
    """Return all that :class:`TorchStep` reads, by name."""
    positions = {
        f"{name}.positions": part.positions for name, part in encoder.named_modules() if hasattr(part, "positions")
    }
    return {name: tensor.contiguous() for name, tensor in (encoder.state_dict() | positions).items()}
