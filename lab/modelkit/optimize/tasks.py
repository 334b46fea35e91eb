"""The two kinds of engines, as optimizing sees them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from engines.bert.tokenizing import SETTINGS
from modelkit.training.bases import CONFIG, TOKENIZER
from modelkit.training.checkpoint import NETWORK

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from engines.build.quantize import Feeds
    from modelkit.networks import EncoderNetwork
    from modelkit.sessions import Session

SAMPLES = 200
"""Inputs on which the ranges of activations are measured."""
TIMED = 24
"""Inputs on which latency is measured."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What a network is worth.

    Attributes:
        scores: shares from 0 to 1, by name.
        decoding: the fields of its ``Calibration`` or ``IntentLabels``, as JSON can hold them.
    """

    scores: Mapping[str, float]
    decoding: Mapping[str, object]


class Task(Protocol):
    """An engine to optimize, with its data."""

    @property
    def name(self) -> str:
        """``qa`` or ``nlu``."""

    @property
    def files(self) -> tuple[str, ...]:
        """Files of the engine on which results hang, by their paths in its directory; not every engine has them all."""

    @property
    def network(self) -> EncoderNetwork:
        """As it was trained, float32, in evaluation mode; it reads every token to the end."""

    @property
    def variants(self) -> Mapping[str, EncoderNetwork]:
        """Forms of the network that its training prepared it for, by the names that points call them."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the network's inputs."""

    @property
    def outputs(self) -> Mapping[str, bool]:
        """Names of the network's outputs, and whether each has a value or vector a token."""

    @property
    def criterion(self) -> str:
        """The score that a smaller network may lose little of."""

    def rows(self, count: int) -> list[Feeds]:
        """Gives inputs of one row each to train students on."""

    def samples(self) -> list[Feeds]:
        """Gives inputs without padding on which the ranges of activations are measured."""

    def timed(self) -> list[Feeds]:
        """Gives real inputs of one row each, as long as the engine takes them at a time."""

    def judge(self, session: Session) -> Judged:
        """Scores a network on data that was neither trained nor calibrated on."""

    def write(self, directory: Path, onnx: Path, decoding: Mapping[str, Any], card: Mapping[str, object]) -> None:
        """Writes an engine directory, given the ``decoding`` of what :meth:`judge` said of the network."""


def of_training(*more: str) -> tuple[str, ...]:
    """Names the files that say what a trained network computes, and ``more`` that training leaves beside them."""
    return tuple(f"training/{name}" for name in (NETWORK, CONFIG, TOKENIZER, SETTINGS, *more))
