"""Keys, values and last frames that layers of the encoder keep of a stream."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from engines.asr.fastconformer.shape import Shape
    from engines.session import Session

    Floats = NDArray[np.float32]
    Cached = Sequence[Floats]
    """Keys, values and last frames of some layers, layers first, shapes by ``Shape.cached``."""


class Step(Protocol):
    """One step of the encoder on a device."""

    def run(self, inputs: Mapping[str, Floats]) -> list[Floats]:
        """Run the inputs of ``network.EncoderStep``, by name; return its outputs."""


class OnnxStep:
    """The step on onnxruntime or an accelerator."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def run(self, inputs: Mapping[str, Floats]) -> list[Floats]:
        """See :class:`Step`."""
        found: list[Floats] = self._session.run(None, dict(inputs))
        return found


class CachedLayers:
    """Layers of one graph, whose caches are held here.

    See :class:`engines.asr.fastconformer.encoder.Layers`. The graph may be one stage of the encoder.

    Args:
        shape: sizes of the encoder.
        step: computes the layers. Its last outputs are their new keys, values and last frames.
        layers: numbers of the layers, from 0; None for all.
    """

    def __init__(self, shape: Shape, step: Step, layers: Sequence[int] | None = None) -> None:
        self._shape = shape
        self._step = step
        self._numbers = range(shape.layers) if layers is None else layers
        self._sizes = shape.cached()
        # The caches of a batch, layers first, one set for each thread: 40 MB are not to be allocated for every step.
        self._batches = threading.local()

    def run(
        self, inputs: Mapping[str, Floats], cached: Sequence[Cached | None], keeps: Sequence[bool]
    ) -> tuple[list[Floats], list[Cached]]:
        """See :class:`engines.asr.fastconformer.encoder.Layers`."""
        found = self._step.run({**inputs, **self._gathered(cached)})
        own, made = found[: -len(self._sizes)], found[-len(self._sizes) :]
        after = [
            self._followed(before, [part[:, row] for part in made], keeps=kept)
            for row, (before, kept) in enumerate(zip(cached, keeps, strict=True))
        ]
        return own, after

    def _gathered(self, cached: Sequence[Cached | None]) -> dict[str, Floats]:
        """Return the caches of several streams as inputs of a step."""
        inputs: dict[str, Floats] = {}
        for place, (name, batch) in enumerate(self._batch(len(cached)).items()):
            for row, own in enumerate(cached):
                batch[:, row] = 0 if own is None else own[place]
            inputs |= {
                f"{name}_{number}": part[: len(cached)] for number, part in zip(self._numbers, batch, strict=True)
            }
        return inputs

    def _batch(self, rows: int) -> dict[str, Floats]:
        """Return arrays for the caches of a batch, kept by thread."""
        arrays: dict[str, Floats] = getattr(self._batches, "arrays", {})
        if not arrays or arrays["conv"].shape[1] < rows:
            count = len(self._numbers)
            arrays = {name: np.empty((count, rows, *sizes), np.float32) for name, sizes in self._sizes.items()}
            self._batches.arrays = arrays
        return arrays

    def _followed(self, before: Cached | None, made: Sequence[Floats], *, keeps: bool) -> Cached:
        """Return what the layers keep after a chunk: the last frames of both."""
        *attended, conv = made
        left, frames = self._shape.left_frames, self._shape.chunk_frames
        kept = []
        for place, new in enumerate(attended):
            if before is None:
                after = np.zeros((*new.shape[:2], left, new.shape[3]), np.float32)
            else:
                # Whole chunks are read once, so that their arrays go on in place: 5 MB are not to be allocated.
                after = before[place].copy() if keeps else before[place]
                after[:, :, : left - frames] = after[:, :, frames:]
            after[:, :, left - frames :] = new
            kept.append(after)
        return [*kept, conv.copy()]
