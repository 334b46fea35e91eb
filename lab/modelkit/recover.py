"""Recovers float32 networks from the INT8 models of an engine whose float32 weights are not at hand.

``python -m modelkit.recover OUT`` makes engine directories of the shipped engines, each with the ``training/`` that
``vivavoce train`` would have left: ``vivavoce optimize`` takes them, and ``vivavoce train --base`` goes on from them.

The weights are the 8-bit ones made plain, so what the rounding of :func:`engines.build.quantize.quantize` took is not
given back; the activations, which INT8 rounds as well, are exact again.
"""

from __future__ import annotations

import argparse
import shutil
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import onnx
import torch
from google.protobuf.message import DecodeError
from onnx import helper, numpy_helper
from transformers import BertConfig

from engines.bert.network_files import network_file
from engines.build.files import whole_directory, write_whole
from modelkit.errors import EngineError
from modelkit.pruned_graph import read_kept
from modelkit.token_pruning import GUESSES, KEPT_TOKENS
from modelkit.training.bases import CONFIG, LABELS, TOKENIZER
from modelkit.training.checkpoint import NETWORK, RunFolder
from modelkit.triton_models import MODEL_REPOSITORY, NLU_MODELS, QA_MODELS, VERSION

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

_EMBEDDED = ("word_embeddings", "position_embeddings", "token_type_embeddings", "LayerNorm")
_PROJECTIONS = ("query", "key", "value")


def recover(models: Path, names: Sequence[str], out: Path) -> None:
    """Makes an engine directory with float32 weights from served models.

    Args:
        models: a folder of Triton models.
        names: those of one engine: :data:`modelkit.triton_models.NLU_MODELS` or ``QA_MODELS``.
        out: is written; what is there is replaced.

    Raises:
        EngineError: a model is missing, or the network is damaged, or not one of ours that
            :func:`engines.build.quantize.quantize` wrote.
    """
    _, tokenize, bert, decode = names
    if missing := [name for name in names if not (models / name).is_dir()]:
        raise EngineError(f"{models} lacks {', '.join(missing)}: name a folder that holds the models of an engine")
    try:
        path = network_file(models / bert / VERSION)
    except ValueError as error:
        raise EngineError(str(error)) from error
    graph = QuantizedGraph(path)
    with whole_directory(out) as target:
        for name in names:
            shutil.copytree(models / name, target / "triton" / name, ignore=shutil.ignore_patterns("__pycache__"))
        training = target / "training"
        RunFolder(training).save(NETWORK, graph.state)
        write_whole(training / CONFIG, graph.config.to_json_string())
        shutil.copy(models / tokenize / VERSION / TOKENIZER, training)
        if (labels := models / decode / VERSION / LABELS).exists():
            shutil.copy(labels, training)


class QuantizedGraph:
    """A BERT as :func:`engines.build.quantize.quantize` writes it.

    Args:
        path: of the ``.onnx`` file.

    Raises:
        EngineError: it is another kind of network, or damaged.
    """

    def __init__(self, path: Path) -> None:
        try:
            graph = onnx.load(path).graph
        except DecodeError as error:
            raise EngineError(f"{path} is truncated or no ONNX file: get it again") from error
        self._values = {value.name: numpy_helper.to_array(value) for value in graph.initializer}
        self._nodes = list(graph.node)
        self._makers = {output: node for node in graph.node for output in node.output}
        self._embedding = next((n for n in self._nodes if n.op_type == "QEmbedLayerNormalization"), None)
        self._attentions = [node for node in self._nodes if node.op_type == "QAttention"]
        # A BERT of Hugging Face that was imported in INT8 has the same operators, but other names.
        embedded = {f"encoder.embeddings.{name}.weight_quantized" for name in _EMBEDDED}
        if self._embedding is None or not self._attentions or not embedded <= self._values.keys():
            raise EngineError(
                f"{path} is no BERT that `vivavoce train` brought to INT8: name models that it wrote, or use the "
                "training/ of their engine directory"
            )

    @cached_property
    def config(self) -> BertConfig:
        """The dimensions of the encoder."""
        assert self._embedding is not None
        shapes = {name: self.state[f"encoder.embeddings.{name}.weight"].shape for name in _EMBEDDED[:3]}
        config = BertConfig(
            vocab_size=shapes["word_embeddings"][0],
            hidden_size=self._hidden_size,
            max_position_embeddings=shapes["position_embeddings"][0],
            type_vocab_size=shapes["token_type_embeddings"][0],
            num_hidden_layers=len(self._attentions),
            num_attention_heads=self._hidden_size // self._head_size,
            intermediate_size=self._neurons,
            layer_norm_eps=_attribute(self._embedding, "epsilon"),
        )
        if kept := read_kept(self._values):
            setattr(config, KEPT_TOKENS, kept)
        return config

    @cached_property
    def state(self) -> dict[str, torch.Tensor]:
        """The parameters, by their names in :mod:`modelkit.networks`; weights ``[outputs, inputs]`` float32."""
        found = {name: value for name, value in self._values.items() if name.endswith((".weight", ".bias"))}
        for name in _EMBEDDED:
            for part in ("weight", "bias") if name == "LayerNorm" else ("weight",):
                found[f"encoder.embeddings.{name}.{part}"] = self._plain(f"encoder.embeddings.{name}.{part}")
        for number, node in enumerate(self._attentions):
            found |= self._attention(node, f"encoder.encoder.layer.{number}.attention.self")
        for name in [name for name in found if name.startswith(GUESSES)]:
            found[name] = found[name][np.newaxis]
        for node in self._nodes:
            if node.op_type == "MatMulIntegerToFloat":
                found[_weight_name(node)] = self._weights(node).T
        return {
            name: torch.from_numpy(np.array(self._with_idle_units(name, value), np.float32, order="C"))
            for name, value in found.items()
        }

    def _attention(self, node: onnx.NodeProto, prefix: str) -> dict[str, npt.NDArray[np.float32]]:
        """Takes a fused attention's weights ``[inputs, 3 * outputs]`` apart."""
        weights = np.split(self._weights(node), len(_PROJECTIONS), axis=1)
        biases = np.split(self._values[node.input[2]], len(_PROJECTIONS))
        return {f"{prefix}.{part}.weight": value.T for part, value in zip(_PROJECTIONS, weights, strict=True)} | {
            f"{prefix}.{part}.bias": value for part, value in zip(_PROJECTIONS, biases, strict=True)
        }

    @property
    def _hidden_size(self) -> int:
        return len(self._values["encoder.embeddings.LayerNorm.weight_quantized"])

    @property
    def _head_size(self) -> int:
        """Outputs of a head, as many in every layer."""
        node = self._attentions[0]
        return len(self._values[node.input[2]]) // (len(_PROJECTIONS) * int(_attribute(node, "num_heads")))

    @property
    def _neurons(self) -> int:
        """Neurons of the layer that has most."""
        return max(len(value) for name, value in self._values.items() if name.endswith(".intermediate.dense.bias"))

    def _with_idle_units(self, name: str, value: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Puts heads and neurons that were cut (:mod:`modelkit.unit_pruning`) behind the others, as zeros."""
        if name.endswith(".output.dense.weight"):
            axis = 1  # It reads the units.
        elif ".attention.self." in name or ".intermediate.dense." in name:
            axis = 0
        else:
            return value
        wanted = self._hidden_size if ".attention." in name else self._neurons
        missing = [(0, wanted - size if place == axis else 0) for place, size in enumerate(value.shape)]
        return np.pad(value, missing)

    def _weights(self, node: onnx.NodeProto) -> npt.NDArray[np.float32]:
        """Gives the weights ``[inputs, outputs]`` of a product, as before ``engines.build.quantize.smooth``."""
        weights = self._plain(node.input[1].removesuffix("_quantized"))
        source = self._makers[self._makers[node.input[0]].input[0]]
        inverse = self._values.get(source.input[1]) if source.op_type == "Mul" else None
        return weights if inverse is None else weights * inverse[:, np.newaxis]

    def _plain(self, name: str) -> npt.NDArray[np.float32]:
        quantized, zero, scale = (self._values[f"{name}_{part}"] for part in ("quantized", "zero_point", "scale"))
        plain: npt.NDArray[np.float32] = (quantized.astype(np.float32) - zero.astype(np.float32)) * scale
        return plain


def _weight_name(node: onnx.NodeProto) -> str:
    """Names the parameter that a product multiplies by: its own name where the export kept it, else its path's."""
    kept: str = node.input[1].removesuffix("_quantized")
    path: str = node.output[0].removesuffix("/MatMul_output_0").strip("/").replace("/", ".")
    return kept if kept.endswith(".weight") else f"{path}.weight"


def _attribute(node: onnx.NodeProto, name: str) -> float:
    return float(next(helper.get_attribute_value(each) for each in node.attribute if each.name == name))


def main() -> None:
    """Recovers the engines of a model repository."""
    parser = argparse.ArgumentParser(prog="python -m modelkit.recover", description=main.__doc__)
    parser.add_argument("out", type=Path, help="folder for the engine directories intent_slot and qa")
    parser.add_argument("--models", type=Path, default=MODEL_REPOSITORY, help="Triton models [default: the shipped]")
    given = parser.parse_args()
    for names in (NLU_MODELS, QA_MODELS):
        try:
            recover(given.models, names, given.out / names[0])
        except EngineError as error:
            parser.exit(1, f"modelkit.recover: {error}\n")


if __name__ == "__main__":
    main()
