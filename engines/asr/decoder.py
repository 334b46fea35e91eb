"""One batch in Moonshine's decoder, with bound inputs and outputs: a step copies nothing but its tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import onnxruntime as ort
    from numpy.typing import NDArray

_LAYERS = 6
_HEADS = 8
_CACHE_HEAD_SIZE = 48
_NAMES = [f"{kind}_{layer}" for layer in range(_LAYERS) for kind in ("key", "value")]


@dataclass(frozen=True, slots=True)
class EncodedBatch:
    """What the encoder hands to the decoder.

    Attributes:
        cross: Keys and values of the six layers' cross attention, in turn; float32 ``[rows, 8, frames, 36]`` each.
        mask: int32 ``[rows, frames]``, 1 where a frame lies inside its row's length.
    """

    cross: Sequence[NDArray[np.float32]]
    mask: NDArray[np.int32]

    @classmethod
    def merged(cls, parts: Sequence[tuple[Sequence[int], EncodedBatch]]) -> EncodedBatch:
        """Merges batches into one that is padded to the longest; each comes with the rows that its rows become."""
        rows = sum(len(indices) for indices, _ in parts)
        frames = max(part.mask.shape[1] for _, part in parts)
        mask = np.zeros((rows, frames), np.int32)
        cross = [np.zeros((rows, _HEADS, frames, tensor.shape[3]), np.float32) for tensor in parts[0][1].cross]
        for indices, part in parts:
            mask[indices, : part.mask.shape[1]] = part.mask
            for whole, tensor in zip(cross, part.cross, strict=True):
                whole[indices, :, : tensor.shape[2]] = tensor
        return cls(cross, mask)


class DecoderBatch:
    """The rows of one batch (``engines.asr.decoding.TokenPredictor``).

    Keys and values live in buffers that the graph reads as ``past`` and writes as ``present``. All buffers are bound
    once and again only when a row retires; the rows in use are always the first ones, so that no copy is needed to
    shrink.
    """

    def __init__(self, session: ort.InferenceSession, encoded: EncodedBatch, capacity: int) -> None:
        """Takes the decoder's session, the encoded rows, and the most positions a row may use."""
        rows = len(encoded.mask)
        self._session = session
        self._cross = encoded.cross
        self._mask = encoded.mask
        shape = (rows, _HEADS, capacity, _CACHE_HEAD_SIZE)
        self._cache = [np.zeros(shape, np.float32) for _ in _NAMES]
        self._rows = rows
        self._total_length = np.zeros((), np.int32)
        self._last_positions = np.zeros(rows, np.int32)
        self._tokens = np.zeros((rows, 1), np.int64)
        self._next_tokens = np.zeros((rows, 1), np.int64)
        self._step_binding: ort.IOBinding | None = None

    def begin(self, tokens: NDArray[np.int64], lengths: NDArray[np.int32]) -> NDArray[np.int64]:
        """Runs the first tokens of every row; see ``TokenPredictor``."""
        self._last_positions[:] = lengths - 1
        self._total_length[...] = tokens.shape[1]
        next_tokens = np.zeros(tokens.shape, np.int64)
        self._session.run_with_iobinding(self._bind(tokens, next_tokens))
        return next_tokens

    def step(self, tokens: NDArray[np.int64], positions: NDArray[np.int32]) -> NDArray[np.int64]:
        """Runs one more token of every row; see ``TokenPredictor``."""
        rows = self._rows
        self._tokens[:rows, 0] = tokens
        self._last_positions[:rows] = positions
        self._total_length[...] = positions.max() + 1
        if self._step_binding is None:
            self._step_binding = self._bind(self._tokens[:rows], self._next_tokens[:rows])
        self._session.run_with_iobinding(self._step_binding)
        return self._next_tokens[:rows, 0]

    def retire(self, row: int) -> None:
        """Drops a row; the last row takes its place."""
        self._rows -= 1
        self._step_binding = None
        if row < self._rows:
            for buffer in (*self._cross, *self._cache, self._mask, self._last_positions):
                buffer[row] = buffer[self._rows]

    def _bind(self, tokens: NDArray[np.int64], next_tokens: NDArray[np.int64]) -> ort.IOBinding:
        """Binds the buffers of the rows in use; the caller keeps ``tokens`` and ``next_tokens`` alive."""
        rows = self._rows
        binding = self._session.io_binding()
        binding.bind_cpu_input("tokens", tokens)
        binding.bind_cpu_input("last_positions", self._last_positions[:rows])
        binding.bind_cpu_input("total_length", self._total_length)
        binding.bind_cpu_input("frame_mask", self._mask[:rows])
        _bind_output(binding, "next_tokens", next_tokens)
        for name, cross, cache in zip(_NAMES, self._cross, self._cache, strict=True):
            binding.bind_cpu_input(f"cross_{name}", cross[:rows])
            binding.bind_cpu_input(f"past_{name}", cache[:rows])
            _bind_output(binding, f"present_{name}", cache[:rows])
        return binding


def _bind_output(binding: ort.IOBinding, name: str, buffer: NDArray[np.generic]) -> None:
    binding.bind_output(name, "cpu", 0, buffer.dtype.type, buffer.shape, buffer.ctypes.data)
