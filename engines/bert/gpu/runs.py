"""Runs over packed rows: one copy in, one CUDA graph, one copy out a result."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from engines.bert.gpu.encoder import Batch
from engines.gpu.buckets import bucket_for, token_buckets
from engines.gpu.graphs import record
from engines.session import NEXT_HIDDEN

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from torch import Tensor

    from engines.bert.gpu.packing import PackedRows

    Forward = Callable[[Batch], tuple[Tensor, ...]]


class Running:
    """A run that was started.

    Args:
        results: where its results arrive.
        event: when they have; None where they are there.
    """

    def __init__(self, results: Sequence[Tensor], event: torch.cuda.Event | None) -> None:
        self._results = results
        self._event = event

    def wait(self) -> Sequence[Tensor]:
        """Wait for the results: ``[tokens, …]`` or ``[rows, …]``."""
        if self._event is not None:
            self._event.synchronize()
        return self._results


class _Size:
    """Room for batches of up to so many tokens, and the graph that computes them.

    Attributes:
        block: ids, places and offsets one after another, int32, so that one copy brings them.
        batch: the same, apart.
    """

    def __init__(self, tokens: int, rows: int, longest: int, width: int, device: torch.device) -> None:
        self.tokens = tokens
        self.block = torch.zeros(2 * tokens + rows + 1, dtype=torch.int32, device=device)
        ids, places, offsets = self.block[:tokens], self.block[tokens : 2 * tokens], self.block[2 * tokens :]
        hidden = torch.zeros(tokens, width, device=device) if width else None
        self.batch = Batch(ids, places, offsets, longest, hidden)
        self.graph: torch.cuda.CUDAGraph | None = None
        self.outputs: tuple[Tensor, ...] = ()

    def fill(self, block: Tensor, hidden: Tensor | None) -> None:
        """Bring the inputs of a run."""
        self.block.copy_(block, non_blocking=True)
        if self.batch.hidden is not None and hidden is not None:
            self.batch.hidden[: len(hidden)].copy_(hidden)

    def capture(self, forward: Forward, stream: torch.cuda.Stream, first: torch.cuda.CUDAGraph | None) -> None:
        """Record the work for this size.

        Args:
            forward: the network.
            stream: that it will run on.
            first: graph whose memory for what is in between this one shares: one runs at a time.
        """
        rows = len(self.batch.offsets) - 1
        length = min(self.batch.longest, max(1, self.tokens // rows))
        self.batch.offsets.copy_((torch.arange(rows + 1, dtype=torch.int32) * length).clamp(max=self.tokens))
        self.graph, outputs = record(lambda: forward(self.batch), stream, first, f"a batch of {self.tokens} tokens")
        self.outputs = outputs or ()

    def compute(self, forward: Forward) -> tuple[Tensor, ...]:
        """Compute the results of what stands in ``block``."""
        if self.graph is None:
            return forward(self.batch)
        self.graph.replay()
        return self.outputs


class Runs:
    """Runs of one network, of a few sizes.

    Args:
        forward: the network.
        outputs: name of each of its results, and whether it has a value a token. A hidden state stays on the device.
        kinds: of token, by which positions are spread in ``Batch.places``.
        most_tokens: of a run.
        most_rows: of a run.
        longest: tokens of a row.
        width: of the hidden state that the network begins with; 0 where it begins with tokens.
        device: on a GPU every size is recorded as a CUDA graph, here.
    """

    def __init__(  # noqa: PLR0913 - a run has so many sizes
        self,
        forward: Forward,
        outputs: Mapping[str, bool],
        *,
        kinds: int,
        most_tokens: int,
        most_rows: int,
        longest: int,
        width: int = 0,
        device: torch.device,
    ) -> None:
        self._forward = forward
        self._per_token = tuple(outputs.values())
        self._kinds = kinds
        self.most_rows = most_rows
        self._hands_on = NEXT_HIDDEN in outputs
        self._on_gpu = device.type == "cuda"
        self._sizes = {n: _Size(n, most_rows, longest, width, device) for n in token_buckets(most_tokens)}
        self._buckets = tuple(self._sizes)
        self._stream = torch.cuda.Stream(device) if self._on_gpu else None
        if self._stream is not None:
            first = None
            # The largest first: the others fit into its memory.
            for size in sorted(self._sizes.values(), key=lambda size: -size.tokens):
                size.capture(forward, self._stream, first)
                first = first or size.graph

    @property
    def most_tokens(self) -> int:
        """Tokens of the largest run."""
        return self._buckets[-1]

    @torch.inference_mode()
    def start(self, rows: PackedRows, hidden: Tensor | None = None) -> Running:
        """Start a run; on a GPU it goes on while the caller does something else.

        Args:
            rows: no more than fit; see :meth:`engines.bert.gpu.packing.PackedRows.split`.
            hidden: of their tokens, on the device, where the network begins with it.
        """
        size = self._sizes[bucket_for(self._buckets, rows.tokens)]
        block = self._filled(rows, size.tokens)
        if self._stream is None:
            size.fill(block, hidden)
            return Running(self._cut(size.compute(self._forward), rows), None)
        with torch.cuda.stream(self._stream):
            size.fill(block, hidden)
            results = [self._fetched(output) for output in self._cut(size.compute(self._forward), rows)]
            # Blocking: a thread that waits must not keep a core busy.
            event = torch.cuda.Event(blocking=True)
            event.record(self._stream)
        return Running(results, event)

    def _filled(self, rows: PackedRows, tokens: int) -> Tensor:
        """Lay out the device's inputs, with empty rows and filler tokens at the end."""
        block = torch.zeros(2 * tokens + self.most_rows + 1, dtype=torch.int32, pin_memory=self._on_gpu)
        view = block.numpy()
        view[: rows.tokens] = rows.ids
        view[tokens : tokens + rows.tokens] = rows.positions * self._kinds + rows.segments
        view[2 * tokens : 2 * tokens + rows.rows + 1] = rows.offsets
        view[2 * tokens + rows.rows + 1 :] = rows.tokens
        return block

    def _cut(self, outputs: Sequence[Tensor], rows: PackedRows) -> list[Tensor]:
        return [
            output[: rows.tokens if per_token else rows.rows]
            for output, per_token in zip(outputs, self._per_token, strict=True)
        ]

    def _fetched(self, output: Tensor) -> Tensor:
        """Start the copy of a result into memory that the device can write by itself.

        For another stage it is copied on the device: the next run writes over it.
        """
        if self._hands_on:
            return output.clone()
        arrived = torch.empty(output.shape, dtype=output.dtype, pin_memory=True)
        return arrived.copy_(output, non_blocking=True)
