"""Rows of one batch as greedy decoding and the beam search see them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from engines.asr.moonshine.vocabulary import END_TOKEN
from engines.asr.search.ports import Candidates

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from torch import Tensor

    from engines.asr.gpu.room import Encoded
    from engines.asr.search.ports import Boosted

_CANDIDATES = 16
"""Tokens that are considered after each row, besides the end, as on the CPU."""


class _Rows:
    """Rows that are left: retired rows stay in place, and are computed for nothing."""

    def __init__(self, encoded: Encoded, limit: int, beams: int) -> None:
        self._room, self._beams = encoded.room, beams
        self._batch = self._room.batch(len(encoded.frames) * beams, max(encoded.frames))
        assert limit <= self._batch.memory.keys.shape[3]
        encoded.fill(self._batch, beams)
        self._places = np.arange(len(encoded.frames) * beams)

    def _run(self, tokens: NDArray[np.int64], starts: NDArray[np.int64]) -> tuple[Tensor, Tensor | None]:
        """Run ``[rows, steps]`` tokens of the remaining rows; see ``Room.run``."""
        steps = self._batch.steps_for(tokens.shape[1])
        padded = np.full((self._batch.rows, steps), END_TOKEN, np.int64)
        padded[self._places, : tokens.shape[1]] = tokens
        positions = np.zeros(self._batch.rows, np.int64)
        positions[self._places] = starts
        return self._room.run(self._batch, padded, positions)

    def _retire(self, utterance: int) -> None:
        """Drop the rows of an utterance; those of the last take their place."""
        size = self._beams
        self._places[utterance * size : (utterance + 1) * size] = self._places[-size:]
        self._places = self._places[:-size]


class GreedyBatch(_Rows):
    """The rows of one batch (``engines.asr.moonshine.decoding.TokenPredictor``)."""

    def __init__(self, encoded: Encoded, limit: int) -> None:
        """Take the encoded rows, and the most positions a row may use."""
        super().__init__(encoded, limit, beams=1)

    def begin(self, tokens: NDArray[np.int64], lengths: NDArray[np.int32]) -> NDArray[np.int64]:
        """Run the first tokens of every row; see ``TokenPredictor``."""
        del lengths  # What lies beyond them is run for nothing, and overwritten.
        following, _ = self._run(tokens, np.zeros(len(tokens), np.int64))
        predicted: NDArray[np.int64] = following.cpu().numpy()[self._places, : tokens.shape[1]]
        return predicted

    def step(self, tokens: NDArray[np.int64], positions: NDArray[np.int32]) -> NDArray[np.int64]:
        """Run one more token of every row; see ``TokenPredictor``."""
        following, _ = self._run(tokens[:, None], positions.astype(np.int64))
        predicted: NDArray[np.int64] = following.cpu().numpy()[self._places, 0]
        return predicted

    def retire(self, row: int) -> None:
        """Drop a row; the last row takes its place."""
        self._retire(row)


class BeamBatch(_Rows):
    """Beams of a batch of utterances (``engines.asr.search.ports.CandidateScorer``)."""

    def __init__(self, encoded: Encoded, limit: int, beams: int) -> None:
        """Take the encoded utterances, the most positions of a row, and the rows of each."""
        super().__init__(encoded, limit, beams)
        self._copies: list[tuple[int, int]] = []

    def begin(self, tokens: NDArray[np.int64], lengths: NDArray[np.int32], boosted: Sequence[Boosted]) -> Candidates:
        """Run the first tokens of every row; see ``CandidateScorer``."""
        if tokens.shape[1] > 1:
            # All but the last are run first: rows whose last token comes earlier overwrite what is beyond it.
            self._run(tokens[:, :-1], np.zeros(len(tokens), np.int64))
        last = (lengths - 1).astype(np.int64)
        return self._candidates(tokens[np.arange(len(tokens)), last], last, boosted)

    def step(self, tokens: NDArray[np.int64], positions: NDArray[np.int32], boosted: Sequence[Boosted]) -> Candidates:
        """Run one more token of every row; see ``CandidateScorer``."""
        return self._candidates(tokens, positions.astype(np.int64), boosted)

    def copy(self, source: int, target: int, positions: int) -> None:
        """Let row ``target`` continue row ``source``, together with all others."""
        del positions
        self._copies.append((int(self._places[source]), int(self._places[target])))

    def retire(self, utterance: int) -> None:
        """Drop an utterance with its rows; the last one takes its place."""
        self._retire(utterance)

    def _candidates(
        self, tokens: NDArray[np.int64], positions: NDArray[np.int64], boosted: Sequence[Boosted]
    ) -> Candidates:
        self._copy_rows()
        _, logits = self._run(tokens[:, None], positions)
        assert logits is not None
        device = logits.device
        logits = logits[torch.from_numpy(self._places).to(device)]
        biased = logits
        if most := max(len(own) for own, _ in boosted):
            places, bonuses = np.zeros((len(boosted), most), np.int64), np.zeros((len(boosted), most), np.float32)
            for row, (row_tokens, row_bonuses) in enumerate(boosted):
                places[row, : len(row_tokens)], bonuses[row, : len(row_tokens)] = row_tokens, row_bonuses
            given = (torch.from_numpy(values).to(device) for values in (places, bonuses))
            biased = logits.scatter_add(1, *given)
        best = biased.topk(_CANDIDATES, 1).indices
        best = torch.cat((best, best.new_full((len(best), 1), END_TOKEN)), 1)
        scores = logits.gather(1, best) - logits.logsumexp(1, keepdim=True)
        return Candidates(best.cpu().numpy(), scores.cpu().numpy())

    def _copy_rows(self) -> None:
        """Copy beams between rows; no row is both copied and overwritten."""
        if not self._copies:
            return
        keys, values = self._batch.memory.keys, self._batch.memory.values
        sources, targets = (torch.tensor(rows, device=keys.device) for rows in zip(*self._copies, strict=True))
        for cache in (keys, values):
            cache[:, targets] = cache[:, sources]
        self._copies.clear()
