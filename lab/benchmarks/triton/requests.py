"""One request, timed from both ends."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import tritonclient.grpc.aio as triton

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from benchmarks.triton.inputs import InputSpec

TIMEOUT_SECONDS = 60.0


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
        client: a connection.
        model: its name.
        specs: its inputs.
    """

    def __init__(self, client: triton.InferenceServerClient, model: str, specs: Sequence[InputSpec]) -> None:
        self._client = client
        self._model = model
        self._types = {spec.name: spec.datatype for spec in specs}
        self._batched = all(spec.batched for spec in specs)

    async def send(self, values: Mapping[str, npt.NDArray[Any]], step: Step) -> Timed:
        """Sends one request and waits for its answer.

        Raises:
            tritonclient.utils.InferenceServerException: Triton refused it or cannot be reached.
        """
        began = time.monotonic()
        inputs = []
        for name, array in values.items():
            tensor = triton.InferInput(name, list(array.shape), self._types[name])
            tensor.set_data_from_numpy(array)
            inputs.append(tensor)
        packed = time.monotonic()
        result = await self._client.infer(
            self._model,
            inputs,
            sequence_id=step.sequence,
            sequence_start=step.start,
            sequence_end=step.end,
            client_timeout=TIMEOUT_SECONDS,
        )
        arrived = time.monotonic()
        outputs = {output.name: result.as_numpy(output.name) for output in result.get_response().outputs}
        ended = time.monotonic()
        items = len(next(iter(values.values()))) if self._batched else 1
        compute = float(outputs["COMPUTE_MS"].max()) / 1000 if "COMPUTE_MS" in outputs else 0.0
        return Timed(began, ended, packed - began, ended - arrived, items, compute)
