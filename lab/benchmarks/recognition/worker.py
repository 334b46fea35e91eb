"""A process in which one contender works, on so many cores and no more."""

from __future__ import annotations

import contextlib
import importlib
import multiprocessing
import os
import time
import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import psutil

if TYPE_CHECKING:
    from collections.abc import Sequence
    from multiprocessing.connection import Connection

    from numpy.typing import NDArray

    from benchmarks.recognition.contenders import Contender
    from benchmarks.recognition.systems import System

_STOP_SECONDS = 40


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of some utterances.

    Attributes:
        texts: what was recognized.
        seconds: how long it took.
        cpu_seconds: what all threads and child processes of the contender computed meanwhile.
    """

    texts: list[str]
    seconds: float
    cpu_seconds: float


@dataclass(frozen=True, slots=True)
class Failure:
    """Why there is no answer."""

    reason: str


class Worker:
    """A contender's process, from the side that asks."""

    def __init__(self, contender: Contender, cores: int) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._contender = contender
        self._process = context.Process(target=_work, args=(theirs, contender, cores), daemon=False)
        self._process.start()
        theirs.close()
        self._receive()

    def transcribe(self, utterances: Sequence[NDArray[np.float32]]) -> Answer:
        """Lets it recognize utterances that are all there at once.

        Raises:
            RuntimeError: it failed.
        """
        self._connection.send(list(utterances))
        return self._receive()

    def listen(self, utterance: NDArray[np.float32]) -> Answer:
        """Lets it hear one utterance piece by piece; the text is JSON, see ``LiveEngine.listen``.

        Raises:
            RuntimeError: it failed.
        """
        self._connection.send(utterance)
        return self._receive()

    @property
    def memory_bytes(self) -> int:
        """Resident memory of the process."""
        return int(psutil.Process(self._process.pid).memory_info().rss)

    def close(self) -> None:
        """Ends the process."""
        with contextlib.suppress(OSError):
            self._connection.send(None)
        self._process.join(_STOP_SECONDS)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._connection.close()

    def _receive(self) -> Answer:
        try:
            answer: Answer | Failure = self._connection.recv()
        except EOFError:
            answer = Failure("it ended by itself")
        if isinstance(answer, Answer):
            return answer
        raise RuntimeError(f"{self._contender.system} ({self._contender.setting}) failed: {answer.reason}")


def _work(connection: Connection, contender: Contender, cores: int) -> None:
    """Runs in the process: makes the system, says that it is ready, and answers until it is told to end."""
    # Inherited by every thread and process that the system begins, and what most runtimes count their threads by.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
    os.environ["OMP_NUM_THREADS"] = str(cores)
    with contextlib.suppress(KeyboardInterrupt):
        try:
            module, name = contender.factory.split(":")
            system: System = getattr(importlib.import_module(module), name)(**contender.options)
        except Exception:  # noqa: BLE001 - whatever it is, the other side tells it
            connection.send(Failure(traceback.format_exc()))
            return
        connection.send(Answer([], 0.0, 0.0))
        try:
            while (utterances := connection.recv()) is not None:
                connection.send(_timed(system, utterances))
        except Exception:  # noqa: BLE001 - likewise
            connection.send(Failure(traceback.format_exc()))
        finally:
            system.close()


def _timed(system: Any, utterances: Sequence[NDArray[np.float32]] | NDArray[np.float32]) -> Answer:  # noqa: ANN401
    family = [psutil.Process(), *psutil.Process().children(recursive=True)]
    computed = _cpu_seconds(family)
    began = time.perf_counter()
    texts = [system.listen(utterances)] if isinstance(utterances, np.ndarray) else system.transcribe(utterances)
    seconds = time.perf_counter() - began
    return Answer(texts, seconds, _cpu_seconds(family) - computed)


def _cpu_seconds(family: Sequence[psutil.Process]) -> float:
    return sum(sum(process.cpu_times()[:2]) for process in family)
