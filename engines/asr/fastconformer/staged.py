"""Stages of the encoder, each with the caches of its layers by stream."""

from __future__ import annotations

import itertools
import secrets
import time
from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from engines.asr.errors import LostStreamError
from engines.asr.fastconformer.caches import CachedLayers, OnnxStep
from engines.asr.fastconformer.names import CACHED, OUTPUTS
from engines.asr.fastconformer.shape import Shape

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from engines.asr.fastconformer.caches import Cached
    from engines.asr.stages import StagedNetwork
    from engines.session import Session

    Floats = NDArray[np.float32]

SOURCE, TARGET, KEEPS, RELEASED = CONTROLS = ("source", "target", "keeps", "released")
"""Inputs of a stage beside the tensors of its graph, ``[rows]`` but the last: number of each stream's caches before and
after the step, int64, 0 before its first chunk; whether those before are used again; and numbers that no step will name
again."""
OWN_OUTPUTS = OUTPUTS[: -len(CACHED)]
"""What a step gives beside its caches."""
_MAX_IDLE_SECONDS = 300.0
"""Sequences end earlier than this without audio: what is older belongs to a process that died."""


class LayerStage:
    """Some layers of the encoder, with the caches of all streams.

    Args:
        layers: computes them.
        clock: seconds, monotonic.
    """

    def __init__(self, layers: CachedLayers, clock: Callable[[], float] = time.monotonic) -> None:
        self._layers = layers
        self._clock = clock
        self._held: dict[int, tuple[float, Cached]] = {}

    def __len__(self) -> int:
        return len(self._held)

    def run(self, inputs: Mapping[str, NDArray[Any]]) -> list[Floats]:
        """Run a step; return the outputs of the graph without its caches.

        Raises:
            LostStreamError: caches that are named are not here.
        """
        sources, targets, keeps, released = (inputs[name].tolist() for name in CONTROLS)
        now = self._clock()
        idle = [number for number, (used, _) in self._held.items() if now - used > _MAX_IDLE_SECONDS]
        for number in (*released, *idle):
            self._held.pop(number, None)
        if not {number for number in sources if number} <= self._held.keys():
            raise LostStreamError
        before = [self._held[number][1] if number else None for number in sources]
        given = {name: values for name, values in inputs.items() if name not in CONTROLS}
        found, after = self._layers.run(given, before, keeps)
        for source, target, kept, cached in zip(sources, targets, keeps, after, strict=True):
            if not kept:
                self._held.pop(source, None)
            self._held[target] = now, cached
        return found


class _Caches:
    """The caches of one stream in all stages, which drop them when this is dropped."""

    __slots__ = ("_released", "number")

    def __init__(self, number: int, released: deque[int]) -> None:
        self.number = number
        self._released = released

    def __del__(self) -> None:
        self._released.append(self.number)


class StagedLayers:
    """The layers of the encoder in stages.

    See :class:`engines.asr.fastconformer.encoder.Layers`. A step has new numbers: where one of the stages fails, those
    before it have caches that no other step asks for, and the next step of the stream is told that it is lost.
    """

    def __init__(self, network: StagedNetwork) -> None:
        self._network = network
        # Several processes may ask the same stages.
        self._numbers = itertools.count(1 + secrets.randbits(62))
        self._released: deque[int] = deque()

    def run(
        self, inputs: Mapping[str, Floats], cached: Sequence[_Caches | None], keeps: Sequence[bool]
    ) -> tuple[list[Floats], list[_Caches]]:
        """See :class:`engines.asr.fastconformer.encoder.Layers`."""
        released = [self._released.popleft() for _ in range(len(self._released))]
        after = [_Caches(next(self._numbers), self._released) for _ in cached]
        controls = {
            SOURCE: np.array([0 if one is None else one.number for one in cached], np.int64),
            TARGET: np.array([one.number for one in after], np.int64),
            KEEPS: np.array(keeps, np.bool_),
            RELEASED: np.array(released, np.int64),
        }
        return self._network.run(OWN_OUTPUTS, {**inputs, **controls}), after


def layer_stage(card: Mapping[str, Any], session: Session) -> LayerStage:
    """Return a stage of the encoder.

    Args:
        card: of the stage: the sizes of the encoder, and the numbers of its ``layers``.
        session: computes it.
    """
    return LayerStage(CachedLayers(Shape.of(card), OnnxStep(session), card["layers"]))
