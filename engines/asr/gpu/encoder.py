"""Moonshine's convolutions and encoder over packed recordings."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch
from torch.nn import functional

from engines.asr.gpu.linear import Linear, Norm
from engines.asr.gpu.names import CONVOLUTIONS, HEAD_SIZE, HEADS, LAYERS
from engines.asr.gpu.weights import joined, rotary_tables, turned, widen_inputs, widen_outputs

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from engines.asr.gpu.weights import Weights
    from engines.gpu.attention import Attention

ATTENTION_SIZE = 64
"""Entries of a head: kernels of attention want a power of two, and the last 28 are zero."""
CROSS_SIZE = 40
"""Entries of a head in the decoder: aligned, and as few as may be, for they are read at every step."""
MAX_POSITIONS = 2048
_CHANNELS = 288
_EPSILON = 1e-5


class PackedAudio(NamedTuple):
    """A :class:`engines.asr.gpu.layout.Layout` on its device."""

    samples: Tensor
    rows: Tensor
    entries: Tensor
    sources: Tensor
    positions: Tensor
    offsets: Tensor
    longest: int


class Encoder:
    """Audio to the keys and values that the decoder's cross attention reads.

    Args:
        weights: of Moonshine.
        attention: over packed rows.
        device: where it is computed.
        dtype: of the products; the first convolution and the normalization after it are float32.
    """

    def __init__(self, weights: Weights, attention: Attention, device: torch.device, dtype: torch.dtype) -> None:
        self._dtype = dtype
        self._attention = attention
        first = weights.tensor("encoder.conv1.weight")
        self._first = first.reshape(len(first), -1).t().contiguous().to(device)
        self._second, self._third = (_convolution(weights, name, device, dtype) for name in ("conv2", "conv3"))
        self._tables = [
            table.to(device, dtype)
            for table in rotary_tables(weights.tensor("encoder.inverse_frequencies"), MAX_POSITIONS, ATTENTION_SIZE)
        ]
        self._layers = [_Layer(weights, number, device, dtype) for number in range(LAYERS)]
        self._norm = Norm(weights.tensor("encoder.norm"), device, dtype)
        cross = [
            widen_outputs(weights.dense(f"decoder.layers.{layer}.cross_{kind}"), CROSS_SIZE)
            for layer in range(LAYERS)
            for kind in "kv"
        ]
        self._cross = Linear(joined(*cross), device, dtype)

    def __call__(self, audio: PackedAudio) -> Tensor:
        """Return keys and values of the six layers in turn, ``[frames, 12, 8, 40]``."""
        hidden = self._convolve(audio)[audio.sources]
        cosines, sines = (table[audio.positions][:, None, None] for table in self._tables)

        def mix(projected: Tensor) -> Tensor:
            parts = projected.view(len(projected), 5, HEADS, ATTENTION_SIZE)
            rotated = parts[:, :2] * cosines + parts[:, 3:] * sines
            qkv = torch.cat((rotated, parts[:, 2:3]), 1)
            return self._attention(qkv, audio.offsets, audio.longest)

        for layer in self._layers:
            hidden = layer(hidden, mix)
        return self._cross(self._norm(hidden)).view(len(hidden), 2 * LAYERS, HEADS, CROSS_SIZE)

    def _convolve(self, audio: PackedAudio) -> Tensor:
        """Return the frames of the last convolution, ``[frames, 288]``."""
        (kernel, stride), second, third = CONVOLUTIONS
        hidden = torch.tanh(audio.samples.unfold(0, kernel, stride) @ self._first)
        # Mean and deviation over all entries of each recording.
        sums = torch.stack((hidden.sum(1), hidden.square().sum(1)), 1).double()
        totals = torch.zeros((len(audio.entries), 2), dtype=torch.float64, device=hidden.device)
        totals.index_add_(0, audio.rows, sums)
        means, squares = (totals / (audio.entries * _CHANNELS)[:, None]).unbind(1)
        scales = (squares - means.square()).clamp_min(0).add(_EPSILON).rsqrt()
        of_row = torch.stack((means, scales), 1).float()[audio.rows]
        normed = ((hidden - of_row[:, :1]) * of_row[:, 1:]).to(self._dtype)
        hidden = functional.gelu(self._second(_windows(normed, *second)))
        return functional.gelu(self._third(_windows(hidden, *third)))


class _Layer:
    """One layer: attention and a feed-forward network, each added to what entered it."""

    def __init__(self, weights: Weights, number: int, device: torch.device, dtype: torch.dtype) -> None:
        name = f"encoder.layers.{number}"
        query, key, value = (widen_outputs(weights.dense(f"{name}.{part}"), ATTENTION_SIZE) for part in "qkv")
        # Kernels divide by the root of the padded size.
        factor = (ATTENTION_SIZE / HEAD_SIZE) ** 0.5
        query = (query[0] * factor, query[1] * factor)
        projections = joined(query, key, value, *(turned(part, ATTENTION_SIZE) for part in (query, key)))
        self._projections = Linear(projections, device, dtype)
        self._output = Linear(widen_inputs(weights.dense(f"{name}.o"), ATTENTION_SIZE), device, dtype)
        self._up, self._down = (Linear(weights.dense(f"{name}.{part}"), device, dtype) for part in ("fc1", "fc2"))
        self._attention_norm, self._inner_norm = (
            Norm(weights.tensor(f"{name}.{part}_norm"), device, dtype) for part in ("attention", "inner")
        )

    def __call__(self, hidden: Tensor, mix: Callable[[Tensor], Tensor]) -> Tensor:
        hidden = hidden + self._output(mix(self._projections(self._attention_norm(hidden))))
        return hidden + self._down(functional.gelu(self._up(self._inner_norm(hidden))))


def _convolution(weights: Weights, name: str, device: torch.device, dtype: torch.dtype) -> Linear:
    """Return a convolution as a product with windows, ordered by time and channel."""
    kernel = weights.tensor(f"encoder.{name}.weight").permute(0, 2, 1).flatten(1)
    return Linear((kernel.contiguous(), weights.tensor(f"encoder.{name}.bias")), device, dtype)


def _windows(frames: Tensor, kernel: int, stride: int) -> Tensor:
    """Return the inputs of each kernel position, ``[positions, kernel * channels]``."""
    return frames.unfold(0, kernel, stride).transpose(1, 2).flatten(1)
