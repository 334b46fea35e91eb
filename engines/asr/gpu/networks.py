"""Moonshine's networks in PyTorch (``engines.asr.moonshine.networks.Networks``)."""

from __future__ import annotations

import contextlib
import logging
import queue
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch

from engines.asr.gpu.batches import BeamBatch, GreedyBatch
from engines.asr.gpu.decoder import Decoder
from engines.asr.gpu.encoder import ATTENTION_SIZE, Encoder
from engines.asr.gpu.layout import room_of
from engines.asr.gpu.names import HEAD_SIZE, HEADS
from engines.asr.gpu.room import Room
from engines.asr.gpu.sizes import Sizes
from engines.asr.gpu.weights import Weights
from engines.asr.moonshine.decoding import token_limit
from engines.gpu.choice import choose_attention

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from engines.asr.gpu.room import Encoded
    from engines.asr.serving.utterance import Utterance

logger = logging.getLogger(__name__)

_TYPES = {"float16": torch.float16, "bfloat16": torch.bfloat16, "float32": torch.float32}


@dataclass(frozen=True, slots=True)
class GpuOptions:
    """How the networks are run.

    Attributes:
        device: PyTorch's name of it; ``cpu`` computes the same without CUDA graphs, slowly.
        precision: of the products, one of ``float16``, ``bfloat16`` and ``float32``.
        rooms: batches that are under way at a time.
        threads: on the CPU, those that work on one batch.
        sizes: of a batch.
    """

    device: str = "cuda:0"
    precision: str = "float16"
    rooms: int = 1
    threads: int = 1
    sizes: Sizes = field(default_factory=Sizes)

    def __post_init__(self) -> None:
        if self.precision not in _TYPES:
            raise ValueError(f"gpu_precision is {self.precision!r}: set it to one of {', '.join(_TYPES)}")

    @classmethod
    def of(cls, parameters: Mapping[str, str], device: str) -> GpuOptions:
        """Reads the model's parameters; a batch for each of its workers is under way.

        Raises:
            ValueError: one of them cannot be; the message names it.
        """
        precision = parameters.get("gpu_precision", cls().precision)
        workers, threads = (int(parameters[name]) for name in ("workers", "threads"))
        return cls(device, precision, workers, threads, Sizes.of(parameters))


class GpuNetworks:
    """Encoder and decoder, and the rooms that they run in.

    Attributes:
        recorded: how many CUDA graphs there are.
    """

    @torch.inference_mode()
    def __init__(self, path: Path, options: GpuOptions) -> None:
        """Loads the networks, and records them where there is a GPU.

        Args:
            path: of the weights, see ``engines.build.moonshine_network``.
            options: how they are run.

        Raises:
            ValueError: the file holds something else.
        """
        weights = Weights.read(path)
        device, dtype = torch.device(options.device), _TYPES[options.precision]
        if device.type == "cuda":
            # Kernels of the Triton language run on the current device, wherever their tensors are.
            torch.cuda.set_device(device)
        else:
            torch.set_num_threads(options.threads)
        self._sizes = options.sizes
        name, attention = choose_attention(
            HEADS, ATTENTION_SIZE, dtype, self._sizes.encoder_frames[-1], self._sizes.longest, device
        )
        logger.info("recognition in %s on %s: attention %s", options.precision, device, name)
        encoder, decoder = Encoder(weights, attention, device, dtype), Decoder(weights, device, dtype)
        rooms = [Room(encoder, decoder, self._sizes, device, dtype) for _ in range(options.rooms)]
        self.recorded = sum(room.recorded for room in rooms)
        self._rooms: queue.SimpleQueue[Room] = queue.SimpleQueue()
        for room in rooms:
            self._rooms.put(room)

    def extend(self, utterances: Sequence[Utterance]) -> None:
        """Does nothing: all audio is read anew for every text, which on a GPU takes less time than keeping track."""

    def batches(self, utterances: Sequence[Utterance], beams: int) -> Iterator[list[int]]:
        """Yields indices of utterances that are decoded together; each has so many rows."""
        rooms = [room_of(len(utterance)) for utterance in utterances]
        drafted = [min(len(utterance.tokens), token_limit(len(utterance))) + 1 for utterance in utterances]
        return self._sizes.together(rooms, drafted, beams)

    @contextlib.contextmanager
    def encoded(self, utterances: Sequence[Utterance]) -> Iterator[Encoded]:
        """Encodes utterances into a room, which is theirs while the body runs."""
        room = self._rooms.get()
        try:
            with room.entered():
                yield room.encode([utterance.audio for utterance in utterances])
        finally:
            self._rooms.put(room)

    def drafts(
        self, encoded: Encoded, known: Sequence[Sequence[int]], limits: Sequence[int], news: int
    ) -> Sequence[Sequence[int]]:
        """Returns what is known: the decoder in 8 bits serves processors alone."""
        del encoded, limits, news
        return known

    def greedy(self, encoded: Encoded, limit: int) -> GreedyBatch:
        """Returns the decoder for rows that use so many positions at most."""
        return GreedyBatch(encoded, limit)

    def beams(self, encoded: Encoded, limit: int, width: int) -> BeamBatch:
        """Returns the decoder for so many beams of each utterance."""
        return BeamBatch(encoded, limit, width)

    def cross_queries(
        self, encoded: Encoded, tokens: NDArray[np.int64], lengths: NDArray[np.int32]
    ) -> list[NDArray[np.float32]]:
        """Returns what the cross attention of each layer looks for after each token, ``[rows, steps, 288]`` each."""
        del lengths
        room = encoded.room
        batch = room.batch(len(tokens), max(encoded.frames))
        encoded.fill(batch, 1)
        given = torch.zeros((batch.rows, tokens.shape[1]), dtype=torch.int64, device=encoded.packed.device)
        given[: len(tokens)] = torch.from_numpy(tokens)
        queries: list[torch.Tensor] = []
        room.decoder(given, given.new_zeros(batch.rows), batch.memory, queries)
        return [query[: len(tokens), :, :, :HEAD_SIZE].flatten(2).float().cpu().numpy() for query in queries]

    def cross_keys(self, encoded: Encoded, row: int) -> list[NDArray[np.float32]]:
        """Returns the cross attention's keys of each layer for one row, ``[8, frames, 36]`` each."""
        begin = int(encoded.offsets[row])
        keys = encoded.packed[begin : begin + encoded.frames[row], ::2, :, :HEAD_SIZE]
        return list(keys.permute(1, 2, 0, 3).float().cpu().numpy())
