"""One batch in Moonshine's decoder, with bound inputs and outputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from engines.asr.search.ports import Candidates

if TYPE_CHECKING:
    from collections.abc import Sequence

    import onnxruntime as ort
    from numpy.typing import NDArray

    from engines.asr.search.ports import Boosted

_LAYERS = 6
_HEADS = 8
_CACHE_HEAD_SIZE = 48
_CROSS_HEAD_SIZE = 36
_SCORED, _NOT_SCORED = np.array(True), np.array(False)
_NAMES = [f"{kind}_{layer}" for layer in range(_LAYERS) for kind in ("key", "value")]


@dataclass(frozen=True, slots=True)
class EncodedBatch:
    """Output of the encoder, for the decoder.

    Attributes:
        cross: Keys and values of the six layers' cross attention, in turn; float32 ``[rows, 8, frames, 36]`` each.
        mask: int32 ``[rows, frames]``, 1 where a frame lies inside its row's length.
    """

    cross: Sequence[NDArray[np.float32]]
    mask: NDArray[np.int32]

    def copy(self) -> EncodedBatch:
        """Return a batch of its own: whoever decodes one moves its rows about."""
        return EncodedBatch([tensor.copy() for tensor in self.cross], self.mask.copy())

    @classmethod
    def merged(cls, parts: Sequence[tuple[Sequence[int], EncodedBatch]]) -> EncodedBatch:
        """Merge batches, padded to the longest; each comes with its new rows."""
        rows = sum(len(indices) for indices, _ in parts)
        frames = max(part.mask.shape[1] for _, part in parts)
        mask = np.zeros((rows, frames), np.int32)
        cross = [np.zeros((rows, _HEADS, frames, tensor.shape[3]), np.float32) for tensor in parts[0][1].cross]
        for indices, part in parts:
            mask[indices, : part.mask.shape[1]] = part.mask
            for whole, tensor in zip(cross, part.cross, strict=True):
                whole[indices, :, : tensor.shape[2]] = tensor
        return cls(cross, mask)


def silent_batch(frames: int) -> EncodedBatch:
    """Return a row of zeros, to try decoders on."""
    cross = [np.zeros((1, _HEADS, frames, _CROSS_HEAD_SIZE), np.float32) for _ in range(2 * _LAYERS)]
    return EncodedBatch(cross, np.ones((1, frames), np.int32))


class _Rows:
    """Rows of one batch, with the buffers of ``past`` and ``present``.

    All buffers are bound once and again only when a row retires; the rows in use are always the first ones, so that no
    copy is needed to shrink.
    """

    def __init__(self, session: ort.InferenceSession, encoded: EncodedBatch, capacity: int, beams: int) -> None:
        self.count = len(encoded.mask) * beams
        self.last_positions = np.zeros(self.count, np.int32)
        self.total_length = np.zeros((), np.int32)
        self._session = session
        self._encoded = encoded
        self._beams = beams
        self._cache = [np.zeros((self.count, _HEADS, capacity, _CACHE_HEAD_SIZE), np.float32) for _ in _NAMES]

    def bind(self, tokens: NDArray[np.int64]) -> ort.IOBinding:
        """Bind the buffers of the rows in use, which the caller keeps alive."""
        binding = self._session.io_binding()
        binding.bind_cpu_input("tokens", tokens)
        binding.bind_cpu_input("last_positions", self.last_positions[: self.count])
        binding.bind_cpu_input("total_length", self.total_length)
        utterances = self.count // self._beams
        binding.bind_cpu_input("frame_mask", self._encoded.mask[:utterances])
        for name, cross, cache in zip(_NAMES, self._encoded.cross, self._cache, strict=True):
            binding.bind_cpu_input(f"cross_{name}", cross[:utterances])
            binding.bind_cpu_input(f"past_{name}", cache[: self.count])
            _bind_output(binding, f"present_{name}", cache[: self.count])
        return binding

    def run(self, binding: ort.IOBinding) -> None:
        """Run the graph."""
        self._session.run_with_iobinding(binding)

    def copy(self, source: int, target: int, positions: int) -> None:
        """Copy the keys and values of a row's first positions."""
        for cache in self._cache:
            cache[target, :, :positions] = cache[source, :, :positions]

    def retire(self, utterance: int) -> None:
        """Drop an utterance with its rows; the last one takes its place."""
        self.count -= self._beams
        last = self.count // self._beams
        if utterance < last:
            for buffer in (*self._encoded.cross, self._encoded.mask):
                buffer[utterance] = buffer[last]
            to, of = (slice(i * self._beams, (i + 1) * self._beams) for i in (utterance, last))
            for buffer in (*self._cache, self.last_positions):
                buffer[to] = buffer[of]


class DecoderBatch:
    """The rows of one batch (``engines.asr.moonshine.decoding.TokenPredictor``)."""

    def __init__(self, session: ort.InferenceSession, encoded: EncodedBatch, capacity: int) -> None:
        """Take the decoder's session, the encoded rows, and the most positions."""
        self._rows = _Rows(session, encoded, capacity, beams=1)
        self._tokens = np.zeros((self._rows.count, 1), np.int64)
        self._next_tokens = np.zeros((self._rows.count, 1), np.int64)
        self._step_binding: ort.IOBinding | None = None

    def begin(self, tokens: NDArray[np.int64], lengths: NDArray[np.int32]) -> NDArray[np.int64]:
        """Run the first tokens of every row; see ``TokenPredictor``."""
        self._rows.last_positions[:] = lengths - 1
        self._rows.total_length[...] = tokens.shape[1]
        next_tokens = np.zeros(tokens.shape, np.int64)
        self._rows.run(self._bind(tokens, next_tokens))
        return next_tokens

    def step(self, tokens: NDArray[np.int64], positions: NDArray[np.int32]) -> NDArray[np.int64]:
        """Run one more token of every row; see ``TokenPredictor``."""
        rows = self._rows.count
        self._tokens[:rows, 0] = tokens
        self._rows.last_positions[:rows] = positions
        self._rows.total_length[...] = positions.max() + 1
        if self._step_binding is None:
            self._step_binding = self._bind(self._tokens[:rows], self._next_tokens[:rows])
        self._rows.run(self._step_binding)
        return self._next_tokens[:rows, 0]

    def retire(self, row: int) -> None:
        """Drop a row; the last row takes its place."""
        self._rows.retire(row)
        self._step_binding = None

    def _bind(self, tokens: NDArray[np.int64], next_tokens: NDArray[np.int64]) -> ort.IOBinding:
        rows, steps = tokens.shape
        binding = self._rows.bind(tokens)
        _ask(binding, np.tile(np.arange(steps), (rows, 1)), scored=False)
        _bind_output(binding, "next_tokens", next_tokens)
        return binding


class DraftBatch(DecoderBatch):
    """Rows in the 8-bit decoder, which predicts greedily and scores nothing."""

    def _bind(self, tokens: NDArray[np.int64], next_tokens: NDArray[np.int64]) -> ort.IOBinding:
        binding = self._rows.bind(tokens)
        _bind_output(binding, "next_tokens", next_tokens)
        return binding


class BeamBatch:
    """Beams of a batch of utterances (``engines.asr.search.ports.CandidateScorer``)."""

    def __init__(self, session: ort.InferenceSession, encoded: EncodedBatch, capacity: int, beams: int) -> None:
        """Take the session, encoded utterances, most positions and rows of each."""
        self._rows = _Rows(session, encoded, capacity, beams)
        self._tokens = np.zeros((self._rows.count, 1), np.int64)
        self._step_binding: ort.IOBinding | None = None

    def begin(self, tokens: NDArray[np.int64], lengths: NDArray[np.int32], boosted: Sequence[Boosted]) -> Candidates:
        """Run the first tokens of every row; see ``CandidateScorer``."""
        self._rows.last_positions[:] = lengths - 1
        self._rows.total_length[...] = tokens.shape[1]
        asked = (lengths - 1).astype(np.int64)[:, None]
        return self._run(self._bind(tokens, asked), boosted)

    def step(self, tokens: NDArray[np.int64], positions: NDArray[np.int32], boosted: Sequence[Boosted]) -> Candidates:
        """Run one more token of every row; see ``CandidateScorer``."""
        rows = self._rows.count
        self._tokens[:rows, 0] = tokens
        self._rows.last_positions[:rows] = positions
        self._rows.total_length[...] = positions.max() + 1
        if self._step_binding is None:
            self._step_binding = self._bind(self._tokens[:rows], np.zeros((rows, 1), np.int64))
        return self._run(self._step_binding, boosted)

    def copy(self, source: int, target: int, positions: int) -> None:
        """Let row ``target`` continue the first ``positions`` of row ``source``."""
        self._rows.copy(source, target, positions)

    def retire(self, utterance: int) -> None:
        """Drop an utterance with its rows; the last one takes its place."""
        self._rows.retire(utterance)
        self._step_binding = None

    def _bind(self, tokens: NDArray[np.int64], asked: NDArray[np.int64]) -> ort.IOBinding:
        binding = self._rows.bind(tokens)
        _ask(binding, asked, scored=True)
        return binding

    def _run(self, binding: ort.IOBinding, boosted: Sequence[Boosted]) -> Candidates:
        most = max(len(tokens) for tokens, _ in boosted)
        tokens = np.zeros((len(boosted), 1, most), np.int64)
        bonuses = np.zeros(tokens.shape, np.float32)
        for row, (row_tokens, row_bonuses) in enumerate(boosted):
            tokens[row, 0, : len(row_tokens)] = row_tokens
            bonuses[row, 0, : len(row_bonuses)] = row_bonuses
        binding.bind_cpu_input("boosted_tokens", tokens)
        binding.bind_cpu_input("bonuses", bonuses)
        for name in ("candidates", "log_probabilities"):
            binding.bind_output(name)
        self._rows.run(binding)
        # Outputs stand in the order in which they were bound for the first time.
        candidates, log_probabilities = (output.numpy()[:, 0] for output in binding.get_outputs()[-2:])
        return Candidates(candidates, log_probabilities)


def cross_queries(
    session: ort.InferenceSession, encoded: EncodedBatch, tokens: NDArray[np.int64], lengths: NDArray[np.int32]
) -> list[NDArray[np.float32]]:
    """Return cross-attention queries per layer, float32 ``[rows, steps, 288]``.

    Args:
        session: the decoder.
        encoded: the encoded rows.
        tokens: ``[rows, steps]``, from the start token on; what lies beyond a row's length is ignored.
        lengths: ``[rows]``, at least 1.
    """
    rows = _Rows(session, encoded, tokens.shape[1], beams=1)
    rows.last_positions[:] = lengths - 1
    rows.total_length[...] = tokens.shape[1]
    binding = rows.bind(tokens)
    # Only the token after the first is predicted: the graph wants to be asked for something.
    _ask(binding, np.zeros((rows.count, 1), np.int64), scored=False)
    for layer in range(_LAYERS):
        binding.bind_output(f"cross_query_{layer}")
    rows.run(binding)
    return [output.numpy() for output in binding.get_outputs()[-_LAYERS:]]


def _ask(binding: ort.IOBinding, asked: NDArray[np.int64], *, scored: bool) -> None:
    """Bind the steps to predict after, ``[rows, asked]``, without boosts."""
    binding.bind_cpu_input("asked", asked)
    binding.bind_cpu_input("scored", _SCORED if scored else _NOT_SCORED)
    binding.bind_cpu_input("boosted_tokens", np.zeros((*asked.shape, 0), np.int64))
    binding.bind_cpu_input("bonuses", np.zeros((*asked.shape, 0), np.float32))


def _bind_output(binding: ort.IOBinding, name: str, buffer: NDArray[np.generic]) -> None:
    binding.bind_output(name, "cpu", 0, buffer.dtype.type, buffer.shape, buffer.ctypes.data)
