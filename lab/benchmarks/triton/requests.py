"""One request, timed from both ends."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from benchmarks.triton.connection import Connection
    from benchmarks.triton.inputs import InputSpec
    from benchmarks.triton.shared_memory import Regions


@dataclass(frozen=True, slots=True)
class Timed:
    """When a request was made, and how long its parts took, in seconds.

    Attributes:
        began: moment of the monotonic clock; with a request rate, when it was due.
        ended: likewise.
        send: packing the inputs, and what it was late before that.
        receive: unpacking the outputs.
        items: items in its batch.
        compute: what the model says that it computed (COMPUTE_MS); 0 where it says nothing.
    """

    began: float
    ended: float
    send: float
    receive: float
    items: int
    compute: float = 0.0

    @property
    def total(self) -> float:
        """Latency as the caller sees it."""
        return self.ended - self.began


@dataclass(frozen=True, slots=True)
class Step:
    """A request's place in its sequence; ``sequence`` 0 means that it belongs to none."""

    sequence: int = 0
    start: bool = False
    end: bool = False


class ModelClient:
    """Sends requests to one model.

    Args:
        connection: to its Triton.
        model: its name.
        specs: its inputs.
        outputs: names of its outputs.
        regions: shared memory for inputs and outputs; None for messages.
    """

    def __init__(
        self,
        connection: Connection,
        model: str,
        specs: Sequence[InputSpec],
        outputs: Sequence[str] = (),
        regions: Regions | None = None,
    ) -> None:
        self._connection = connection
        self._model = model
        self._types = {spec.name: spec.datatype for spec in specs}
        self._batched = all(spec.batched for spec in specs)
        self._outputs = outputs
        self._regions = regions

    async def send(self, values: Mapping[str, npt.NDArray[Any]], step: Step) -> Timed:
        """Sends one request and waits for its answer; errors as of `ask`."""
        _, timed = await self.ask(values, step)
        return timed

    async def ask(
        self, values: Mapping[str, npt.NDArray[Any]], step: Step
    ) -> tuple[dict[str, npt.NDArray[Any]], Timed]:
        """Sends one request; returns its outputs, too, which shared memory may hold until the next request.

        Raises:
            tritonclient.utils.InferenceServerException: Triton refused it or cannot be reached.
        """
        began = time.monotonic()
        placed = None if self._regions is None else await self._regions.place(values, self._types, self._outputs)
        try:
            inputs = []
            for name, array in values.items():
                tensor = self._connection.tensor(name, array.shape, self._types[name])
                if placed is None:
                    tensor.set_data_from_numpy(array)
                else:
                    placed.write(name, tensor)
                inputs.append(tensor)
            wanted = None if placed is None else placed.wanted(self._connection)
            packed = time.monotonic()
            result = await self._connection.infer(self._model, inputs, wanted, step)
            arrived = time.monotonic()
            outputs = {}
            for name, (datatype, shape) in self._connection.shapes(result).items():
                outputs[name] = (
                    result.as_numpy(name) if placed is None or not wanted else placed.read(name, datatype, shape)
                )
            ended = time.monotonic()
            compute = float(outputs["COMPUTE_MS"].max()) / 1000 if "COMPUTE_MS" in outputs else 0.0
        finally:
            if placed is not None:
                placed.give_back()
        items = len(next(iter(values.values()))) if self._batched else 1
        return outputs, Timed(began, ended, packed - began, ended - arrived, items, compute)
