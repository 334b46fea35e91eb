"""The networks in PyTorch.

Parameters have the names of transformers' ``nemotron_asr_streaming``.
:class:`EncoderStep` reads one chunk of several streams, each with its own past. It caches keys and values in place of
the layers' inputs, and positions are constants, so a step computes nothing twice. All shapes but the number of rows are
constant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

if TYPE_CHECKING:
    from engines.asr.fastconformer.shape import Shape

_STRIDE = 2


class _Subsampling(nn.Module):
    """Three causal convolutions: one frame of 80 ms from eight of 10 ms."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        channels, third = shape.channels, shape.freqs()[2] // 2 + 1
        self.conv_in = nn.Conv2d(1, channels, 3, _STRIDE)
        self.layers = nn.ModuleList(_Separable(channels) for _ in range(2))
        self.linear = nn.Linear(channels * third, shape.width)

    def forward(self, mels: Tensor, keep1: Tensor, keep2: Tensor, *cached: Tensor) -> tuple[Tensor, ...]:
        sub0, sub1, sub2 = cached
        sound = mels.unsqueeze(1)
        one = functional.relu(_subsample(self.conv_in, sub0, sound)) * keep1[:, None, :, None]
        two = functional.relu(self.layers[0](sub1, one)) * keep2[:, None, :, None]
        three = functional.relu(self.layers[1](sub2, two))
        frames = self.linear(three.transpose(1, 2).flatten(2))
        return frames, sound[:, :, -1:], one[:, :, -1:], two[:, :, -1:]


class _Separable(nn.Module):
    """Depthwise convolution of stride 2 and a pointwise one."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.depthwise_conv = nn.Conv2d(channels, channels, 3, _STRIDE, groups=channels)
        self.pointwise_conv = nn.Conv2d(channels, channels, 1)

    def forward(self, cached: Tensor, frames: Tensor) -> Tensor:
        found: Tensor = self.pointwise_conv(_subsample(self.depthwise_conv, cached, frames))
        return found


def _subsample(convolution: nn.Conv2d, cached: Tensor, frames: Tensor) -> Tensor:
    """Halve time, after the frames before, and frequency, padded with zeros."""
    bins = frames.shape[3]
    found = functional.conv2d(
        torch.cat([cached, frames], 2),
        convolution.weight,
        convolution.bias,
        _STRIDE,
        # As many zeros above as below, which is what a convolution can do by itself: one bin too many may come of it.
        padding=(0, 2),
        groups=convolution.groups,
    )
    return found[..., : bins // 2 + 1]


class _FeedForward(nn.Module):
    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.linear1 = nn.Linear(width, inner)
        self.linear2 = nn.Linear(inner, width)

    def forward(self, frames: Tensor) -> Tensor:
        found: Tensor = self.linear2(functional.silu(self.linear1(frames)))
        return found


class _Attention(nn.Module):
    """Self-attention with relative positions (Dai et al. 2019) over the past."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        width = shape.width
        self.heads, self.size, self.chunk = shape.heads, width // shape.heads, shape.chunk_frames
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (nn.Linear(width, width) for _ in range(4))
        self.bias_u = nn.Parameter(torch.zeros(shape.heads, self.size))
        self.bias_v = nn.Parameter(torch.zeros(shape.heads, self.size))
        span = shape.left_frames + 2 * self.chunk - 1
        self.positions: Tensor
        self.register_buffer("positions", torch.zeros(shape.heads, self.size, span), persistent=False)

    def place(self, weight: Tensor, encodings: Tensor) -> None:
        """Project encodings ``[span, width]`` by ``weight`` ``[width, width]``."""
        self.positions = (encodings @ weight.T).view(-1, self.heads, self.size).permute(1, 2, 0).contiguous()

    def forward(self, frames: Tensor, bias: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        query, key, value = (self._split(project(frames)) for project in (self.q_proj, self.k_proj, self.v_proj))
        asked = query + self.bias_u[:, None]
        # The cache is large and is not copied: only what is made of it is joined with the chunk's own.
        by_content = torch.cat([asked @ keys.transpose(2, 3), asked @ key.transpose(2, 3)], -1)
        by_position = self._shifted((query + self.bias_v[:, None]) @ self.positions)
        weights = torch.softmax((by_content + by_position) * self.size**-0.5 + bias[:, None, None], -1)
        past, own = weights[..., : -self.chunk], weights[..., -self.chunk :]
        found = self.o_proj((past @ values + own @ value).transpose(1, 2).flatten(2))
        return found, key, value

    def _split(self, frames: Tensor) -> Tensor:
        return frames.view(-1, self.chunk, self.heads, self.size).transpose(1, 2)

    def _shifted(self, scores: Tensor) -> Tensor:
        """Align with keys: ``out[i, j] = scores[i, chunk - 1 - i + j]``."""
        span = scores.shape[-1]
        padded = functional.pad(scores, (1, 0)).flatten(2)[:, :, self.chunk :]
        return padded.view(-1, self.heads, self.chunk, span)[..., : span - self.chunk + 1]


class _Convolution(nn.Module):
    """Gated pointwise and causal depthwise convolution (Gulati et al. 2020)."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        width = shape.width
        self.pointwise_conv1 = nn.Linear(width, 2 * width)
        self.depthwise_conv = nn.Conv1d(width, width, shape.kernel, groups=width)
        self.kernel, self.chunk = shape.kernel, shape.chunk_frames
        self.norm = nn.LayerNorm(width)
        self.pointwise_conv2 = nn.Linear(width, width)

    def forward(self, frames: Tensor, cached: Tensor) -> tuple[Tensor, Tensor]:
        sound = torch.cat([cached, functional.glu(self.pointwise_conv1(frames), -1)], 1)
        # A sum of shifted products: onnxruntime computes a depthwise convolution over time as many small products.
        weights = self.depthwise_conv.weight[:, 0].T
        mixed = sound[:, : self.chunk] * weights[0]
        for shift in range(1, self.kernel):
            mixed = mixed + sound[:, shift : shift + self.chunk] * weights[shift]
        if self.depthwise_conv.bias is not None:
            mixed = mixed + self.depthwise_conv.bias
        return self.pointwise_conv2(functional.silu(self.norm(mixed))), sound[:, 1 - self.kernel :]


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
            cast("_Layer", layer).self_attn.place(weight, encodings)

    def forward(
        self,
        mels: Tensor,
        keep1: Tensor,
        keep2: Tensor,
        bias: Tensor,
        sub0: Tensor,
        sub1: Tensor,
        sub2: Tensor,
        *layers: Tensor,
    ) -> tuple[Tensor, ...]:
        """Run a chunk.

        Args:
            mels: float32 ``[rows, chunk_mels, mel_bins]``.
            keep1: float32 ``[rows, chunk_mels / 2]``; 0 where frames after the first convolution lie outside of the
                utterance, 1 elsewhere.
            keep2: ``[rows, chunk_mels / 4]``, the same after the second.
            bias: ``[rows, left_frames + chunk_frames]``, added to attention: 0, or very negative for frames that there
                are not.
            sub0: last frames before the first convolution, rows first.
            sub1: before the second.
            sub2: before the third.
            layers: for each layer its keys and values ``[rows, heads, left_frames, width / heads]`` and the last
                frames before its convolution ``[rows, kernel - 1, width]``; then, of a network with prompts, the
                language, one-hot ``[rows, prompts]``.

        Returns:
            ``[rows, chunk_frames, width]``; the last frames before each convolution; and of all layers, first, the
            chunk's keys and values ``[layers, rows, heads, chunk_frames, width / heads]`` and the last frames before
            their convolutions ``[layers, rows, kernel - 1, width]``.
        """
        frames, *subsampled = self.subsampling(mels, keep1, keep2, sub0, sub1, sub2)
        frames = frames * self.scale
        after: list[tuple[Tensor, ...]] = []
        for index, layer in enumerate(self.layers):
            frames, *state = layer(frames, bias, *layers[3 * index : 3 * index + 3])
            after.append(tuple(state))
        if self.prompt_projector is not None:
            frames = self.prompt_projector(frames, layers[-1])
        return frames, *subsampled, *(torch.stack(part) for part in zip(*after, strict=True))


class _PromptProjector(nn.Module):
    """Fusion of the encoder's frames with the language that is spoken."""

    def __init__(self, width: int, prompts: int, inner: int) -> None:
        super().__init__()
        self.linear_1 = nn.Linear(width + prompts, inner)
        self.linear_2 = nn.Linear(inner, width)

    def forward(self, frames: Tensor, prompt: Tensor) -> Tensor:
        told = prompt[:, None].expand(-1, frames.shape[1], -1)
        found: Tensor = self.linear_2(functional.relu(self.linear_1(torch.cat([frames, told], -1))))
        return found


def _encodings(shape: Shape) -> Tensor:
    """Return sinusoids for distances from past to future, ``[span, width]``."""
    chunk = shape.chunk_frames
    distances = torch.arange(shape.left_frames + chunk - 1, -chunk, -1, dtype=torch.float32)
    rates = torch.exp(
        torch.arange(0, shape.width, 2, dtype=torch.float32) * -(torch.log(torch.tensor(1e4)) / shape.width)
    )
    angles = distances[:, None] * rates
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(1)


class Predictor(nn.Module):
    """Prediction network of a transducer: an LSTM over the tokens so far."""

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
    """Joint network: logits of tokens and the blank, by frame and prediction."""

    def __init__(self, shape: Shape, joint: int) -> None:
        super().__init__()
        self.encoder_projector = nn.Linear(shape.width, joint)
        self.head = nn.Linear(joint, shape.pieces + 1)

    def forward(self, encoded: Tensor, predicted: Tensor) -> Tensor:
        """Join frames ``[rows, width]`` and predictions ``[rows, joint]``."""
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
