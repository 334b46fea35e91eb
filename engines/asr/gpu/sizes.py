"""Batch sizes recorded as CUDA graphs, and the grouping of utterances."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engines.asr.moonshine.decoding import token_limit
from engines.asr.moonshine.features import SAMPLES_PER_ENCODER_FRAME
from engines.gpu.buckets import token_buckets

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_ROWS = (1, 2, 4, 8, 16, 32, 64)
_FRAMES = (128, 256, 448, 768, 1296, 2048)
"""3, 6, 11, 18, 31 and 49 seconds."""
_MORE_SAMPLES = 895 + SAMPLES_PER_ENCODER_FRAME
_DRAFTED = 16
"""Tokens of a short draft."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Bounds of a batch.

    Attributes:
        most_rows: of a batch.
        most_frames: that a batch takes, its rows and their frames rounded up: 7.5 kB each in half precision, and what
            the encoder computes at a time.
        longest: frames of an utterance.
        most_drafted: tokens that one pass runs, of all rows together.
    """

    most_rows: int = 64
    most_frames: int = 32768
    longest: int = 1292
    most_drafted: int = 8192

    def __post_init__(self) -> None:
        if self.longest > min(_FRAMES[-1], self.most_frames):
            raise ValueError(
                f"an utterance may have {self.longest} frames, and a batch {min(_FRAMES[-1], self.most_frames)}: "
                "lower max_utterance_seconds, or raise gpu_frames"
            )

    @classmethod
    def of(cls, parameters: Mapping[str, str]) -> Sizes:
        """Read the model's parameters ``gpu_rows``, ``gpu_frames`` and the longest audio.

        Raises:
            ValueError: one of them cannot be; the message names it.
        """

        def size(name: str, usual: int) -> int:
            text = parameters.get(name, str(usual))
            if not text.isdecimal() or not int(text):
                raise ValueError(f"{name} is {text!r}: set it to a whole number from 1 on, or leave it out for {usual}")
            return int(text)

        seconds = float(parameters["max_utterance_seconds"]) + 1
        longest = -(-round(seconds * 16_000) // SAMPLES_PER_ENCODER_FRAME)
        usual = cls()
        rows, frames = size("gpu_rows", usual.most_rows), size("gpu_frames", usual.most_frames)
        return cls(rows, frames, min(longest, _FRAMES[-1]))

    @property
    def rows(self) -> tuple[int, ...]:
        """Numbers of rows that are recorded."""
        return _up_to(_ROWS, self.most_rows)

    @property
    def frames(self) -> tuple[int, ...]:
        """Frames of a row that are recorded."""
        return _up_to(_FRAMES, self.longest)

    @property
    def batches(self) -> tuple[tuple[int, int], ...]:
        """Rows and frames of the batches that are recorded; the largest first."""
        pairs = [(rows, frames) for rows in self.rows for frames in self.frames if rows * frames <= self.most_frames]
        return tuple(sorted(pairs, key=lambda pair: -pair[0] * pair[1]))

    @property
    def encoder_frames(self) -> tuple[int, ...]:
        """Frames of the encoder's runs."""
        return token_buckets(max(self.most_frames // 2, self.longest + 1))

    def batch_for(self, rows: int, frames: int) -> tuple[int, int]:
        """Return the smallest batch that holds so many rows of so many frames."""
        return _at_least(self.rows, rows), _at_least(self.frames, frames)

    def steps_for(self, rows: int, frames: int) -> tuple[int, ...]:
        """Return for how many tokens a row a pass over a batch is recorded."""
        most = capacity(frames)
        return tuple(n for n in sorted({1, _DRAFTED, most}) if n <= most and rows * n <= self.most_drafted)

    def together(self, frames: Sequence[int], drafted: Sequence[int], beams: int = 1) -> Iterator[list[int]]:
        """Yield indices of utterances that are decoded together.

        Args:
            frames: of each utterance, with what packing rounds up.
            drafted: tokens of each that one pass runs.
            beams: rows of each.
        """
        group: list[int] = []
        for index in sorted(range(len(frames)), key=lambda i: -frames[i]):
            if group and not self._fits([*group, index], frames, drafted, beams):
                yield sorted(group)
                group = []
            group.append(index)
        if group:
            yield sorted(group)

    def _fits(self, group: Sequence[int], frames: Sequence[int], drafted: Sequence[int], beams: int) -> bool:
        if len(group) * beams > self.rows[-1]:
            return False
        rows, longest = self.batch_for(len(group) * beams, frames[group[0]])
        return (
            rows * longest <= self.most_frames
            and sum(frames[i] for i in group) <= self.encoder_frames[-1]
            and rows * max(drafted[i] for i in group) <= self.most_drafted
        )


def capacity(frames: int) -> int:
    """Return how many positions a row of so many frames may use, a multiple of 8."""
    return -(-(token_limit(frames * SAMPLES_PER_ENCODER_FRAME + _MORE_SAMPLES) + 1) // 8) * 8


def _up_to(sizes: tuple[int, ...], most: int) -> tuple[int, ...]:
    return sizes[: bisect_left(sizes, most) + 1]


def _at_least(sizes: tuple[int, ...], wanted: int) -> int:
    return sizes[bisect_left(sizes, wanted)]
