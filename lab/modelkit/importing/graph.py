"""Exports networks to fused float32 ONNX, and proves that the export computes the same."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
import onnx
import onnxruntime as ort
import torch
from transformers import PreTrainedModel

from modelkit.errors import CheckpointError
from modelkit.export import fuse, trace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt
    from torch import nn
    from transformers import PretrainedConfig

TOLERANCE = 1e-4
"""Most that a logit may differ from the original framework's, in float32."""
_SEED = 7
_LENGTHS = (32, 11, 24)
"""Tokens of the rows on which both are compared: the shorter ones are padded."""


@dataclass(frozen=True, slots=True)
class Exported:
    """What became of a network.

    Attributes:
        difference: greatest absolute difference of any logit from the original's, on rows with padding.
        fused: attention layers that onnxruntime computes in one step each.
    """

    difference: float
    fused: int

    def card(self) -> dict[str, object]:
        """What the model card says of it."""
        return {"greatest_difference_from_original": self.difference, "fused_attention_layers": self.fused}


def export_float32(
    network: nn.Module, target: Path, inputs: Sequence[str], outputs: Mapping[str, bool], config: PretrainedConfig
) -> Exported:
    """Writes a network as ONNX, fused where onnxruntime recognizes its attention.

    Args:
        network: takes ``inputs``, each ``[rows, tokens]`` int64, in that order.
        target: is written.
        inputs: their names, of :data:`engines.bert.session.INPUTS`.
        outputs: name of each output, and whether it has one value or vector a token.
        config: of the network's encoder.

    Raises:
        CheckpointError: the export does not compute what the network does.
    """
    network.eval()
    batch = _batch(inputs, config.vocab_size)
    with torch.no_grad():
        expected = [output.numpy() for output in network(*batch.values())]
    with TemporaryDirectory() as directory:
        plain, fused = Path(directory, "plain.onnx"), Path(directory, "fused.onnx")
        trace(network, plain, inputs, outputs, tuple(torch.ones_like(tensor) for tensor in batch.values()))
        # Of two unlike encoders the fusion of embeddings takes the mask of one for that of the other, and fails.
        attentions = fuse(plain, fused, config, embeddings=_encoders(network) == 1)
        for path, count in ((fused, attentions), (plain, 0)):
            difference = _difference(path, batch, expected, list(outputs.values()))
            if difference <= TOLERANCE:
                onnx.save(onnx.load(path), target)
                return Exported(difference, count)
    raise CheckpointError(
        f"the exported network's logits differ by {difference:.1g} from the original's: report this architecture"
    )


def _batch(inputs: Sequence[str], vocabulary: int) -> dict[str, torch.Tensor]:
    """Makes rows of random tokens of unlike lengths, padded on the right with 0 as the session does."""
    generator = torch.Generator().manual_seed(_SEED)
    lengths = torch.tensor(_LENGTHS)
    shape = (len(lengths), int(lengths.max()))
    mask = (torch.arange(shape[1]) < lengths[:, None]).long()
    tensors = {
        "input_ids": torch.randint(0, vocabulary, shape, generator=generator) * mask,
        "attention_mask": mask,
        "token_type_ids": (torch.arange(shape[1]) >= lengths[:, None] // 2).long() * mask,
    }
    return {name: tensors[name] for name in inputs}


def _encoders(network: nn.Module) -> int:
    return sum(isinstance(child, PreTrainedModel) for child in network.children())


def _difference(
    path: Path,
    batch: Mapping[str, torch.Tensor],
    expected: Sequence[npt.NDArray[np.float32]],
    per_token: Sequence[bool],
) -> float:
    """Greatest difference of an export's logits, those at padding aside."""
    session = ort.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    outputs = session.run(None, {name: tensor.numpy() for name, tensor in batch.items()})
    real = batch["attention_mask"].numpy().astype(bool)
    pairs = zip(outputs, expected, per_token, strict=True)
    return max(float(np.abs(got - wanted)[real if token else ...].max()) for got, wanted, token in pairs)
