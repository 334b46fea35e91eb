"""The networks in PyTorch, with the parameter names of transformers' ``nemotron_asr_streaming``.

:class:`EncoderStep` reads one chunk of several streams, each with its own past. It caches keys and values in place of
the layers' inputs, and positions are constants, so a step computes nothing twice. All shapes but the number of rows are
constant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional

if TYPE_CHECKING:
    from engines.asr.fastconformer.shape import Shape

STATE = ("sub0", "sub1", "sub2", "keys", "values", "conv")
"""Names of a stream's state, in the order in which steps take and return it; shapes by ``Shape.state``."""
PROMPT = "prompt"
"""Input of networks with prompts, after all others."""
INPUTS = ("mels", "keep1", "keep2", "bias", *STATE)
OUTPUTS = ("encoded", *(f"{name}_next" for name in STATE))

_STRIDE = 2
_FREQUENCY_PADDING = (2, 1)


class _Subsampling(nn.Module):
    """Three causal convolutions of stride 2 over time and frequency: one frame of 80 ms from eight of 10 ms."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        channels, third = shape.channels, shape.freqs()[2] // 2 + 1
        self.conv_in = nn.Conv2d(1, channels, 3, _STRIDE)
        self.layers = nn.ModuleList(_Separable(channels) for _ in range(2))
        self.linear = nn.Linear(channels * third, shape.width)

    def forward(self, mels: Tensor, keep1: Tensor, keep2: Tensor, *cached: Tensor) -> tuple[Tensor, ...]:
        sub0, sub1, sub2 = cached
        sound = mels.unsqueeze(1)
        one = functional.relu(self.conv_in(_padded(sub0, sound))) * keep1[:, None, :, None]
        two = functional.relu(self.layers[0](_padded(sub1, one))) * keep2[:, None, :, None]
        three = functional.relu(self.layers[1](_padded(sub2, two)))
        frames = self.linear(three.transpose(1, 2).flatten(2))
        return frames, sound[:, :, -1:], one[:, :, -1:], two[:, :, -1:]


class _Separable(nn.Module):
    """Depthwise convolution of stride 2 and a pointwise one."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.depthwise_conv = nn.Conv2d(channels, channels, 3, _STRIDE, groups=channels)
        self.pointwise_conv = nn.Conv2d(channels, channels, 1)

    def forward(self, frames: Tensor) -> Tensor:
        found: Tensor = self.pointwise_conv(self.depthwise_conv(frames))
        return found


def _padded(cached: Tensor, frames: Tensor) -> Tensor:
    return functional.pad(torch.cat([cached, frames], 2), _FREQUENCY_PADDING)


class _FeedForward(nn.Module):
    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.linear1 = nn.Linear(width, inner)
        self.linear2 = nn.Linear(inner, width)

    def forward(self, frames: Tensor) -> Tensor:
        found: Tensor = self.linear2(functional.silu(self.linear1(frames)))
        return found


class _Attention(nn.Module):
    """Self-attention with relative positions (Dai et al. 2019, "Transformer-XL") over a cache and the chunk."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        width = shape.width
        self.heads, self.size, self.chunk = shape.heads, width // shape.heads, shape.chunk_frames
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (nn.Linear(width, width) for _ in range(4))
        self.bias_u = nn.Parameter(torch.zeros(shape.heads, self.size))
        self.bias_v = nn.Parameter(torch.zeros(shape.heads, self.size))
        span = shape.left_frames + 2 * self.chunk - 1
        self.positions = nn.Buffer(torch.zeros(shape.heads, self.size, span))

    def place(self, weight: Tensor, encodings: Tensor) -> None:
        """Fold the projection of positions: ``weight`` ``[width, width]`` of ``encodings`` ``[span, width]``."""
        self.positions.copy_((encodings @ weight.T).view(-1, self.heads, self.size).permute(1, 2, 0))

    def forward(self, frames: Tensor, bias: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        query, key, value = (self._split(project(frames)) for project in (self.q_proj, self.k_proj, self.v_proj))
        keys, values = torch.cat([keys, key], 2), torch.cat([values, value], 2)
        by_content = (query + self.bias_u[:, None]) @ keys.transpose(2, 3)
        by_position = self._shifted((query + self.bias_v[:, None]) @ self.positions)
        weights = torch.softmax((by_content + by_position) * self.size**-0.5 + bias[:, None, None], -1)
        found = self.o_proj((weights @ values).transpose(1, 2).flatten(2))
        return found, keys[:, :, self.chunk :], values[:, :, self.chunk :]

    def _split(self, frames: Tensor) -> Tensor:
        return frames.unflatten(-1, (self.heads, self.size)).transpose(1, 2)

    def _shifted(self, scores: Tensor) -> Tensor:
        """Move row ``i`` so that its column ``j`` belongs to key ``j``: ``out[i, j] = scores[i, chunk - 1 - i + j]``."""
        span = scores.shape[-1]
        rows = functional.pad(scores, (1, 0)).flatten(2)[:, :, self.chunk :].unflatten(-1, (self.chunk, span))
        return rows[..., : span - self.chunk + 1]


class _Convolution(nn.Module):
    """Gated pointwise and causal depthwise convolution (Gulati et al. 2020, "Conformer")."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        width = shape.width
        self.pointwise_conv1 = nn.Linear(width, 2 * width)
        self.depthwise_conv = nn.Conv1d(width, width, shape.kernel, groups=width)
        self.norm = nn.LayerNorm(width)
        self.pointwise_conv2 = nn.Linear(width, width)

    def forward(self, frames: Tensor, cached: Tensor) -> tuple[Tensor, Tensor]:
        gated = functional.glu(self.pointwise_conv1(frames), -1).transpose(1, 2)
        sound = torch.cat([cached, gated], 2)
        mixed = functional.silu(self.norm(self.depthwise_conv(sound).transpose(1, 2)))
        return self.pointwise_conv2(mixed), sound[:, :, -cached.shape[2] :]


class _Layer(nn.Module):
    def __init__(self, shape: Shape, inner: int) -> None:
        super().__init__()
        width = shape.width
        self.feed_forward1, self.feed_forward2 = _FeedForward(width, inner), _FeedForward(width, inner)
        self.self_attn = _Attention(shape)
        self.conv = _Convolution(shape)
        self.norm_feed_forward1, self.norm_self_att, self.norm_conv, self.norm_feed_forward2, self.norm_out = (
            nn.LayerNorm(width) for _ in range(5)
        )

    def forward(self, frames: Tensor, bias: Tensor, keys: Tensor, values: Tensor, conv: Tensor) -> tuple[Tensor, ...]:
        frames = frames + 0.5 * self.feed_forward1(self.norm_feed_forward1(frames))
        attended, keys, values = self.self_attn(self.norm_self_att(frames), bias, keys, values)
        frames = frames + attended
        mixed, conv = self.conv(self.norm_conv(frames), conv)
        frames = frames + mixed
        frames = frames + 0.5 * self.feed_forward2(self.norm_feed_forward2(frames))
        return self.norm_out(frames), keys, values, conv


class EncoderStep(nn.Module):
    """The encoder over one chunk of several streams.

    Args:
        shape: sizes.
        inner: width inside the feed-forward layers.
        scale: what subsampled frames are multiplied by.
        prompt_inner: width inside the fusion with the language; 0 without one.
    """

    def __init__(self, shape: Shape, inner: int, scale: float, prompt_inner: int = 0) -> None:
        super().__init__()
        self.shape, self.scale = shape, scale
        self.subsampling = _Subsampling(shape)
        self.layers = nn.ModuleList(_Layer(shape, inner) for _ in range(shape.layers))
        self.prompt_projector = _PromptProjector(shape.width, shape.prompts, prompt_inner) if shape.prompts else None

    def place(self, weights: list[Tensor]) -> None:
        """Fold each layer's projection of positions, ``[width, width]``, into constants."""
        encodings = _encodings(self.shape)
        for layer, weight in zip(self.layers, weights, strict=True):
            layer.self_attn.place(weight, encodings)

    def forward(  # noqa: PLR0913, PLR0917 - ONNX takes positional inputs
        self,
        mels: Tensor,
        keep1: Tensor,
        keep2: Tensor,
        bias: Tensor,
        sub0: Tensor,
        sub1: Tensor,
        sub2: Tensor,
        keys: Tensor,
        values: Tensor,
        conv: Tensor,
        prompt: Tensor | None = None,
    ) -> tuple[Tensor, ...]:
        """Run a chunk.

        Args:
            mels: float32 ``[rows, chunk_mels, mel_bins]``.
            keep1: float32 ``[rows, chunk_mels / 2]``; 0 where frames after the first convolution lie outside of the
                utterance, 1 elsewhere.
            keep2: ``[rows, chunk_mels / 4]``, the same after the second.
            bias: ``[rows, left_frames + chunk_frames]``, added to attention: 0, or very negative for frames that there
                are not.
            sub0: with ``sub1``, ``sub2``, ``keys``, ``values`` and ``conv`` the state, rows first.
            prompt: the language, one-hot ``[rows, prompts]``, of a network with prompts.

        Returns:
            ``[rows, chunk_frames, width]``, and the state after the chunk.
        """
        frames, *subsampled = self.subsampling(mels, keep1, keep2, sub0, sub1, sub2)
        frames = frames * self.scale
        after: list[tuple[Tensor, ...]] = []
        for index, layer in enumerate(self.layers):
            frames, *state = layer(frames, bias, keys[:, index], values[:, index], conv[:, index])
            after.append(tuple(state))
        if self.prompt_projector is not None and prompt is not None:
            frames = self.prompt_projector(frames, prompt)
        return frames, *subsampled, *(torch.stack(part, 1) for part in zip(*after, strict=True))


class _PromptProjector(nn.Module):
    """Fusion of the encoder's frames with the language that is spoken, as one of ``prompts``."""

    def __init__(self, width: int, prompts: int, inner: int) -> None:
        super().__init__()
        self.linear_1 = nn.Linear(width + prompts, inner)
        self.linear_2 = nn.Linear(inner, width)

    def forward(self, frames: Tensor, prompt: Tensor) -> Tensor:
        told = prompt[:, None].expand(-1, frames.shape[1], -1)
        found: Tensor = self.linear_2(functional.relu(self.linear_1(torch.cat([frames, told], -1))))
        return found


def _encodings(shape: Shape) -> Tensor:
    """Return sinusoids for distances from the farthest past to the end of the chunk, ``[span, width]``."""
    chunk = shape.chunk_frames
    distances = torch.arange(shape.left_frames + chunk - 1, -chunk, -1, dtype=torch.float32)
    rates = torch.exp(
        torch.arange(0, shape.width, 2, dtype=torch.float32) * -(torch.log(torch.tensor(1e4)) / shape.width)
    )
    angles = distances[:, None] * rates
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(1)


class Predictor(nn.Module):
    """Prediction network of the transducer: an LSTM over the tokens so far (Graves 2012)."""

    def __init__(self, shape: Shape, joint: int) -> None:
        super().__init__()
        width = shape.predictor_width
        self.embedding = nn.Embedding(shape.pieces + 1, width)
        self.lstm = nn.LSTM(width, width, shape.predictor_layers, batch_first=True)
        self.decoder_projector = nn.Linear(width, joint)

    def forward(self, tokens: Tensor, hidden: Tensor, cell: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Read one token of each row, int64 ``[rows]``; states ``[rows, layers, width]``."""
        found, (hidden, cell) = self.lstm(
            self.embedding(tokens[:, None]), (hidden.transpose(0, 1).contiguous(), cell.transpose(0, 1).contiguous())
        )
        return self.decoder_projector(found[:, 0]), hidden.transpose(0, 1), cell.transpose(0, 1)


class Joint(nn.Module):
    """Joint network: what the encoder heard and the predictor expects, to logits of tokens and the blank."""

    def __init__(self, shape: Shape, joint: int) -> None:
        super().__init__()
        self.encoder_projector = nn.Linear(shape.width, joint)
        self.head = nn.Linear(joint, shape.pieces + 1)

    def forward(self, encoded: Tensor, predicted: Tensor) -> Tensor:
        """Join frames ``[rows, width]`` with what was predicted for each ``[rows, joint]``."""
        found: Tensor = self.head(functional.relu(self.encoder_projector(encoded) + predicted))
        return found


class CtcHead(nn.Module):
    """Logarithmic probabilities of tokens and the blank in each frame."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.head = nn.Linear(shape.width, shape.pieces + 1)

    def forward(self, encoded: Tensor) -> Tensor:
        """Return ``[frames, pieces + 1]`` of frames ``[frames, width]``."""
        return torch.log_softmax(self.head(encoded), -1)
