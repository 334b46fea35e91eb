"""Tensors and CUDA graphs in which one batch at a time is computed."""

from __future__ import annotations

import contextlib
import functools
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import torch

from engines.asr.gpu.decoder import Memory
from engines.asr.gpu.encoder import CROSS_SIZE, PackedAudio
from engines.asr.gpu.layout import frames_of, lay_out, room_of, sizes_of
from engines.asr.gpu.names import HEADS, LAYERS
from engines.asr.gpu.sizes import capacity
from engines.gpu.buckets import bucket_for
from engines.gpu.graphs import record

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray
    from torch import Tensor

    from engines.asr.gpu.decoder import Decoder
    from engines.asr.gpu.encoder import Encoder
    from engines.asr.gpu.sizes import Sizes


class EncoderRun:
    """Room for recordings that take so many frames, and the graph that encodes them."""

    def __init__(self, frames: int, rows: int, longest: int, device: torch.device) -> None:
        samples, first = sizes_of(frames)
        self.frames, self.rows = frames, rows

        def whole(size: int, dtype: torch.dtype = torch.int64) -> Tensor:
            return torch.zeros(size, dtype=dtype, device=device)

        self.audio = PackedAudio(
            whole(samples, torch.float32), whole(first), whole(rows + 1), whole(frames), whole(frames),
            whole(rows + 1, torch.int32), min(longest, frames),
        )  # fmt: skip
        self.audio.entries.fill_(1)
        self.graph: torch.cuda.CUDAGraph | None = None
        self.output: Tensor | None = None

    def compute(self, encoder: Encoder, recordings: Sequence[NDArray[np.float32]]) -> tuple[Tensor, NDArray[np.int32]]:
        """Return keys and values of the packed frames, and where each recording's begin."""
        layout = lay_out(recordings, self.frames, self.rows)
        parts = (layout.samples, layout.rows, layout.entries, layout.sources, layout.positions, layout.offsets)
        for target, source in zip(self.audio[:-1], parts, strict=True):
            target.copy_(torch.from_numpy(source))
        if self.graph is not None and self.output is not None:
            self.graph.replay()
            return self.output, layout.offsets
        longest = int(np.diff(layout.offsets).max())
        own = self.audio._replace(offsets=self.audio.offsets[: len(recordings) + 1], longest=longest)
        return encoder(own), layout.offsets


@dataclass(slots=True)
class DecoderRun:
    """A pass over so many tokens of every row, and the graph that computes it."""

    tokens: Tensor
    starts: Tensor
    graph: torch.cuda.CUDAGraph | None = None
    outputs: tuple[Tensor, Tensor | None] | None = None


@dataclass(slots=True)
class Batch:
    """Rows of one size: what they look at, and passes over them by tokens of a row.

    Attributes:
        rows: how many there are.
        frames: of each.
        memory: what they look at.
        runs: by the number of tokens.
    """

    rows: int
    frames: int
    memory: Memory
    runs: dict[int, DecoderRun] = field(default_factory=dict)

    def steps_for(self, tokens: int) -> int:
        """Return the smallest recorded pass of so many tokens a row, if there is one."""
        return min((steps for steps in self.runs if steps >= tokens), default=tokens)


class Room:
    """Computes one batch at a time.

    Args:
        encoder: the encoder, which all rooms share.
        decoder: likewise.
        sizes: of batches.
        device: on a GPU every size is recorded as a CUDA graph, here.
        dtype: of what is kept.
    """

    def __init__(
        self, encoder: Encoder, decoder: Decoder, sizes: Sizes, device: torch.device, dtype: torch.dtype
    ) -> None:
        self._encoder, self.decoder, self.sizes, self._device = encoder, decoder, sizes, device
        self._encoder_runs = {n: EncoderRun(n, sizes.rows[-1], sizes.longest, device) for n in sizes.encoder_frames}
        of_tokens = max(rows * capacity(frames) for rows, frames in sizes.batches)
        of_frames = max(rows * frames for rows, frames in sizes.batches)
        size = LAYERS * HEADS * CROSS_SIZE
        keys, values = (torch.zeros(size * of_tokens, dtype=dtype, device=device) for _ in range(2))
        cross = torch.zeros(2 * size * of_frames, dtype=dtype, device=device)
        heard = torch.ones(of_frames, dtype=torch.bool, device=device)
        self._batches = {
            (rows, frames): Batch(rows, frames, _memory(keys, values, cross, heard, rows, frames))
            for rows, frames in sizes.batches
        }
        self._stream = torch.cuda.Stream(device) if device.type == "cuda" else None
        if self._stream is not None:
            self._record(self._stream)

    @property
    def recorded(self) -> int:
        """Number of CUDA graphs."""
        passes = (run.graph for batch in self._batches.values() for run in batch.runs.values())
        graphs = [*(run.graph for run in self._encoder_runs.values()), *passes]
        return sum(graph is not None for graph in graphs)

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        """Compute what the body launches on the room's own stream."""
        with torch.inference_mode():
            if self._stream is None:
                yield
            else:
                with torch.cuda.stream(self._stream):
                    yield

    def encode(self, recordings: Sequence[NDArray[np.float32]]) -> Encoded:
        """Encode recordings of one run; the result is valid until the next call."""
        taken = sum(room_of(len(samples)) for samples in recordings)
        run = self._encoder_runs[bucket_for(tuple(self._encoder_runs), taken)]
        packed, offsets = run.compute(self._encoder, recordings)
        return Encoded(self, packed, offsets[: len(recordings)], [frames_of(len(samples)) for samples in recordings])

    def batch(self, rows: int, frames: int) -> Batch:
        """Return the smallest batch that holds so many rows of so many frames."""
        return self._batches[self.sizes.batch_for(rows, frames)]

    def run(self, batch: Batch, tokens: NDArray[np.int64], starts: NDArray[np.int64]) -> tuple[Tensor, Tensor | None]:
        """Run tokens of every row of a batch.

        Args:
            batch: the batch.
            tokens: ``[rows, steps]``.
            starts: ``[rows]``; position of the first of them.

        Returns:
            The most probable token after each, int64 ``[rows, steps]``, and the logits, float32 ``[rows, vocabulary]``,
            of a single step; valid until the next call.
        """
        assert tokens.shape[0] == batch.rows
        run = batch.runs.get(tokens.shape[1])
        if run is None or run.graph is None or run.outputs is None:
            given, begins = (torch.from_numpy(values).to(self._device) for values in (tokens, starts))
            return self._pass(DecoderRun(given, begins), batch)
        run.tokens.copy_(torch.from_numpy(tokens))
        run.starts.copy_(torch.from_numpy(starts))
        run.graph.replay()
        return run.outputs

    def _pass(self, run: DecoderRun, batch: Batch) -> tuple[Tensor, Tensor | None]:
        hidden = self.decoder(run.tokens, run.starts, batch.memory)
        if hidden.shape[1] > 1:
            return self.decoder.most_probable(hidden), None
        logits = self.decoder.logits(hidden[:, 0])
        return logits.argmax(1, keepdim=True), logits

    @torch.inference_mode()
    def _record(self, stream: torch.cuda.Stream) -> None:
        """Record all sizes; the largest first, so that the others fit into its memory."""
        first: torch.cuda.CUDAGraph | None = None
        for encoder_run in reversed(self._encoder_runs.values()):
            # One recording that fills the run as far as one may.
            encoder_run.audio.offsets[1:].fill_(encoder_run.audio.longest)
            work = functools.partial(self._encoder, encoder_run.audio)
            encoder_run.graph, encoder_run.output = record(work, stream, first, f"encoding {encoder_run.frames} frames")
            first = first or encoder_run.graph
        for batch in self._batches.values():
            for steps in self.sizes.steps_for(batch.rows, batch.frames):
                tokens = torch.zeros((batch.rows, steps), dtype=torch.int64, device=self._device)
                run = batch.runs[steps] = DecoderRun(tokens, tokens.new_zeros(batch.rows))
                title = f"{steps} steps of {batch.rows} rows"
                run.graph, run.outputs = record(functools.partial(self._pass, run, batch), stream, first, title)
                first = first or run.graph


@dataclass(frozen=True, slots=True)
class Encoded:
    """Recordings that were encoded.

    Attributes:
        room: where they are decoded.
        packed: keys and values of all frames, ``[frames, 12, 8, 40]``.
        offsets: where those of each recording begin.
        frames: how many each has.
    """

    room: Room
    packed: Tensor
    offsets: NDArray[np.int32]
    frames: Sequence[int]

    def fill(self, batch: Batch, beams: int) -> None:
        """Copy each row's encoded audio into a batch, ``beams`` rows an utterance."""
        rows = len(self.frames) * beams
        assert rows <= batch.rows
        begins, counts = np.zeros((2, batch.rows), np.int64)
        begins[:rows], counts[:rows] = np.repeat(self.offsets, beams), np.repeat(np.array(self.frames), beams)
        device = self.packed.device
        places = np.minimum(begins[:, None] + np.arange(batch.frames), len(self.packed) - 1)
        # A row that is not there looks at one frame: a softmax over nothing would be no number.
        heard = np.arange(batch.frames) < np.maximum(counts, 1)[:, None]
        batch.memory.heard.copy_(torch.from_numpy(heard)[:, None, None])
        cross = self.packed[torch.from_numpy(places).to(device)]
        batch.memory.cross.copy_(cross.permute(2, 0, 3, 1, 4))


def _memory(keys: Tensor, values: Tensor, cross: Tensor, heard: Tensor, rows: int, frames: int) -> Memory:
    """Return the beginning of each buffer in the shape of a batch."""

    def view(buffer: Tensor, *shape: int) -> Tensor:
        return buffer[: math.prod(shape)].view(shape)

    tokens = (LAYERS, rows, HEADS, capacity(frames), CROSS_SIZE)
    return Memory(
        view(keys, *tokens), view(values, *tokens), view(cross, 2 * LAYERS, rows, HEADS, frames, CROSS_SIZE),
        view(heard, rows, 1, 1, frames),
    )  # fmt: skip
