"""Asynchronous serving of a network on a GPU inside Triton.

Triton's Python backend lets a model return before its requests are answered, and answer them later from another thread.
While the GPU computes one batch the next is packed and handed over, and a thread unpacks the one before.

Imports Triton's ``triton_python_backend_utils``, which exists only inside Triton.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from functools import partial
from typing import TYPE_CHECKING

import triton_python_backend_utils as pb_utils
from torch.utils.dlpack import from_dlpack

from engines.bert import serving
from engines.bert.gpu.network import read_network
from engines.bert.gpu.session import GpuBertSession, GpuOptions
from engines.gpu.device import NETWORK
from engines.session import HIDDEN

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    import numpy as np
    import numpy.typing as npt

    from engines.bert.gpu.session import Pending, Request

    Milliseconds = float | npt.NDArray[np.float32]
    _Started = tuple[Sequence[object], Pending, float, Sequence[Milliseconds]]

logger = logging.getLogger(__name__)

_AHEAD = 2
"""Batches handed over and not answered yet: one that the GPU computes, and one that waits for it. With more, requests
would wait here that could still be joined to a larger batch in Triton's queue."""


class OverlappedNetwork:
    """A network whose batches overlap.

    Args:
        version: folder of the model's version.
        parameters: of the model.
        device: PyTorch's name of where it runs.
    """

    def __init__(self, version: Path, parameters: Mapping[str, str], device: str) -> None:
        self._session = GpuBertSession(*read_network(version / NETWORK), GpuOptions.of(parameters, device))
        self._places = threading.Semaphore(_AHEAD)
        self._started: queue.SimpleQueue[_Started | None] = queue.SimpleQueue()
        self._answering = threading.Thread(target=self._answer, name="answering", daemon=True)
        self._answering.start()

    def execute(self, requests: Sequence[object]) -> None:
        """Start computing a batch once there is a place; answers follow by themselves."""
        senders, accepted, earlier = [], [], []
        for request in requests:
            sender = request.get_response_sender()  # type: ignore[attr-defined]
            try:
                if serving.is_overdue(request):
                    _send(sender, serving.overdue)
                    continue
                inputs = self._read(request)
            except Exception as error:  # noqa: BLE001 - whatever cannot be read, the others of the batch are served
                _send(sender, partial(serving.refusal, error))
            else:
                senders.append(sender)
                accepted.append(inputs)
                earlier.append(serving.earlier_ms(request))
        if accepted:
            self._start(senders, accepted, earlier)

    def close(self) -> None:
        """Answer what is under way, and end."""
        self._started.put(None)
        self._answering.join()

    def _read(self, request: object) -> Request:
        inputs = {
            name: serving.device_tensor(request, name.upper(), from_dlpack)
            if name == HIDDEN
            else serving.tensor(request, name.upper())
            for name in self._session.inputs
        }
        try:
            self._session.check(inputs)
        except ValueError as error:
            raise serving.BadRequestError(str(error)) from None
        return inputs

    def _start(self, senders: Sequence[object], requests: Sequence[Request], earlier: Sequence[Milliseconds]) -> None:
        self._places.acquire()
        began = time.perf_counter()
        try:
            pending = self._session.start(requests)
        except Exception as error:  # noqa: BLE001 - whatever a batch dies of, those after it are served
            self._places.release()
            _refuse(senders, error)
        else:
            self._started.put((senders, pending, began, earlier))

    def _answer(self) -> None:
        while (started := self._started.get()) is not None:
            senders, pending, began, earlier = started
            waiting = list(senders)
            try:
                try:
                    results = pending.wait()
                finally:
                    self._places.release()
                compute_ms = (time.perf_counter() - began) * 1000
                for sender, result, before in zip(senders, results, earlier, strict=True):
                    waiting.remove(sender)
                    _send(sender, partial(serving.network_response, result, compute_ms + before))
            except Exception as error:  # noqa: BLE001 - without this thread nobody would be answered any more
                _refuse(waiting, error)


def _refuse(senders: Sequence[object], error: Exception) -> None:
    """Tell every caller of a batch why it was not computed."""
    logger.error("a batch was not computed: %s", error)
    for sender in senders:
        _send(sender, partial(_failed, str(error)))


def _failed(reason: str) -> object:
    return pb_utils.InferenceResponse(error=pb_utils.TritonError(reason))


def _send(sender: object, make: Callable[[], object]) -> None:
    """Answer with what ``make`` makes; isolate one that fails."""
    try:
        sender.send(make(), flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)  # type: ignore[attr-defined]
    except Exception:
        logger.exception("a caller was not answered")
