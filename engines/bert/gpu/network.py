"""Network file of the GPU engine, and its tensor names.

``network.safetensors`` holds the parameters under the names that they have in training (those of Hugging Face's
``BertModel`` under ``encoder.``), and its header the dimensions. Weights are ``[outputs, inputs]``.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

State = dict[str, torch.Tensor]

_HEADER = "vivavoce.bert"
_EMBEDDINGS = "encoder.embeddings"


@dataclass(frozen=True, slots=True)
class NetworkShape:
    """Dimensions of a BERT with its head.

    Attributes:
        width: of a token's vector.
        layers: of the encoder.
        heads: of attention; ``width`` is a multiple of it.
        inner: width inside the feed-forward networks.
        vocabulary: tokens known.
        positions: longest row.
        head: ``span`` scores starts and ends of answers, ``intent_slot`` intents and tags.
        intents: of an ``intent_slot`` head.
        tags: likewise.
        segments: kinds of token that the network tells apart.
        reads_segments: whether a request brings ``token_type_ids``; else all tokens are of the first kind.
        epsilon: of layer normalization.
        first: number of the first layer that is computed, from 0; only a network from the first on has embeddings.
        stop: number after the last one; None for all, which alone have the head.
    """

    width: int
    layers: int
    heads: int
    inner: int
    vocabulary: int = 30522
    positions: int = 512
    head: Literal["span", "intent_slot"] = "span"
    intents: int = 0
    tags: int = 0
    segments: int = 2
    reads_segments: bool = False
    epsilon: float = 1e-12
    first: int = 0
    stop: int | None = None

    @property
    def embeds(self) -> bool:
        """True if the network reads tokens, and not what a stage before it gives."""
        return self.first == 0

    @property
    def ends(self) -> bool:
        """True if the network has the head, and hands no vectors on to another stage."""
        return self.stop in (None, self.layers)

    @property
    def numbers(self) -> range:
        """Numbers of the layers that are computed."""
        return range(self.first, self.layers if self.stop is None else self.stop)

    def flops(self, length: int) -> float:
        """Count the floating-point operations of a row of ``length`` tokens."""
        products = 4 * self.width * self.width + 2 * self.width * self.inner
        return 2.0 * self.layers * length * (products + 2 * length * self.width)

    def parameters(self) -> dict[str, tuple[int, ...]]:
        """List the shape of every tensor by its name."""
        sizes: dict[str, tuple[int, ...]] = {}
        if self.embeds:
            sizes |= self._embeddings()
        for layer in self.numbers:
            prefix = layer_prefix(layer)
            for part in ("query", "key", "value"):
                sizes |= _dense(f"{prefix}.attention.self.{part}", self.width, self.width)
            sizes |= _dense(f"{prefix}.attention.output.dense", self.width, self.width)
            sizes |= _vectors(f"{prefix}.attention.output.LayerNorm", self.width)
            sizes |= _dense(f"{prefix}.intermediate.dense", self.inner, self.width)
            sizes |= _dense(f"{prefix}.output.dense", self.width, self.inner)
            sizes |= _vectors(f"{prefix}.output.LayerNorm", self.width)
        if not self.ends:
            return sizes
        if self.head == "span":
            return sizes | _dense("span", 2, self.width)
        return sizes | _dense("intent", self.intents, 2 * self.width) | _dense("tag", self.tags, self.width)

    def _embeddings(self) -> dict[str, tuple[int, ...]]:
        return {
            f"{_EMBEDDINGS}.word_embeddings.weight": (self.vocabulary, self.width),
            f"{_EMBEDDINGS}.position_embeddings.weight": (self.positions, self.width),
            f"{_EMBEDDINGS}.token_type_embeddings.weight": (self.segments, self.width),
            **_vectors(f"{_EMBEDDINGS}.LayerNorm", self.width),
        }


def layer_prefix(layer: int) -> str:
    """Names what the tensors of a layer begin with."""
    return f"encoder.encoder.layer.{layer}"


def write_network(path: Path, shape: NetworkShape, state: Mapping[str, torch.Tensor]) -> None:
    """Write the tensors that ``shape`` names, as float16.

    Raises:
        ValueError: a tensor is missing, or has another shape.
    """
    kept = {name: state[name].to(torch.float16).contiguous() for name in _checked(shape, state, "the network")}
    save_file(kept, path, {_HEADER: json.dumps(asdict(shape))})


def read_network(path: Path) -> tuple[NetworkShape, State]:
    """Read what :func:`write_network` wrote, float16 on the CPU.

    Raises:
        ValueError: the file is damaged or holds something else; the message names it.
    """
    try:
        with safe_open(path, framework="pt") as file:
            shape = NetworkShape(**json.loads((file.metadata() or {})[_HEADER]))
            state = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - it is no mapping
    except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} holds no network for a GPU ({error}): make it with python -m modelkit.gpu") from error
    _checked(shape, state, str(path))
    return shape, state


def random_state(shape: NetworkShape, seed: int = 0) -> State:
    """Make a network of random weights, for measuring sizes alone.

    Variances are those at which activations keep theirs from layer to layer, so that attention prefers some tokens to
    others, and rounding errors are of the size that they have in trained networks.

    Args:
        shape: its dimensions.
        seed: same seed, same network.
    """
    generator = torch.Generator().manual_seed(seed)
    state = {}
    for name, size in shape.parameters().items():
        values = torch.randn(size, generator=generator)
        if name.endswith("LayerNorm.weight"):
            values = 1 + 0.1 * values
        elif len(size) == 1:
            values *= 0.1
        elif "embeddings" not in name:
            values *= size[1] ** -0.5
        state[name] = values
    return state


def _checked(shape: NetworkShape, state: Mapping[str, torch.Tensor], name: str) -> list[str]:
    sizes = shape.parameters()
    wrong = [key for key, size in sizes.items() if key not in state or tuple(state[key].shape) != size]
    if wrong:
        raise ValueError(f"{name} lacks {wrong[0]} of the shape {list(sizes[wrong[0]])}: give the whole network")
    return list(sizes)


def _dense(name: str, outputs: int, inputs: int) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": (outputs, inputs), f"{name}.bias": (outputs,)}


def _vectors(name: str, width: int) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": (width,), f"{name}.bias": (width,)}
