"""Leases of loaded model versions: a version that nobody holds can be unloaded."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from pipelines.data.recognition import NO_OPTIONS

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Iterator

    import numpy as np
    import numpy.typing as npt

    from pipelines.data.recognition import Hypothesis, RecognitionOptions
    from pipelines.models.languages import Languages
    from pipelines.models.ports import Recognizer, SpeechSequence

ModelT = TypeVar("ModelT")


@dataclass(slots=True, eq=False)
class ServedVersion(Generic[ModelT]):
    """A loaded version of an engine.

    Attributes:
        number: which one.
        model: where its requests go.
        turns_begun: turns that began with it and used it.
        holders: turns, sequences and requests that use it now.
    """

    number: int
    model: ModelT
    turns_begun: int = 0
    holders: int = 0
    _unused: asyncio.Event = field(default_factory=asyncio.Event)

    def hold(self) -> None:
        """Count one more holder, until :meth:`release`."""
        self.holders += 1
        self._unused.clear()

    def release(self) -> None:
        """Count one holder less."""
        self.holders -= 1
        if not self.holders:
            self._unused.set()

    @contextlib.contextmanager
    def lease(self) -> Iterator[ModelT]:
        """Hold it while the body runs."""
        self.hold()
        try:
            yield self.model
        finally:
            self.release()

    async def until_unused(self) -> None:
        """Wait until it has no holders."""
        if self.holders:
            await self._unused.wait()


def leased(version: ServedVersion[ModelT]) -> ModelT:
    """Return a version's model, which each request holds until it is answered."""
    return cast("ModelT", _LeasedModel(version))


class _LeasedModel:
    """Stand-in for a model whose methods are coroutines and asynchronous generators."""

    def __init__(self, version: ServedVersion[Any]) -> None:
        self._version = version

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - of the model's own type
        attribute = getattr(self._version.model, name)
        if not callable(attribute):
            return attribute

        def request(*args: Any, **options: Any) -> Any:  # noqa: ANN401 - as the model takes them
            answer = attribute(*args, **options)
            comes_in_pieces: bool = inspect.isasyncgen(answer)
            return self._pieces(answer) if comes_in_pieces else self._answer(answer)

        return request

    async def _answer(self, answer: Awaitable[Any]) -> Any:  # noqa: ANN401 - as the model gives it
        with self._version.lease():
            return await answer

    async def _pieces(self, pieces: AsyncGenerator[Any, None]) -> AsyncGenerator[Any, None]:
        with self._version.lease():
            async with contextlib.aclosing(pieces):
                async for piece in pieces:
                    yield piece


class LeasedRecognizer:
    """A recognizer whose version is held by every open sequence."""

    def __init__(self, version: ServedVersion[Recognizer]) -> None:
        self._version = version

    @property
    def languages(self) -> Languages:
        """See ``pipelines.models.ports.Recognizer``."""
        return self._version.model.languages

    def open_sequence(self, options: RecognitionOptions = NO_OPTIONS) -> LeasedSequence:
        """See ``pipelines.models.ports.Recognizer``."""
        return LeasedSequence(self._version, options)


class LeasedSequence:
    """Sequence that holds its version from the first request to the last answer."""

    def __init__(self, version: ServedVersion[Recognizer], options: RecognitionOptions) -> None:
        self._sequence: SpeechSequence = version.model.open_sequence(options)
        self._version = version
        self._holds = False

    async def send(
        self, audio: npt.NDArray[np.float32], *, decode: bool, end: bool, due: float | None = None
    ) -> Hypothesis:
        """See ``pipelines.models.ports.SpeechSequence``."""
        if not self._holds:
            self._holds = True
            self._version.hold()
        try:
            return await self._sequence.send(audio, decode=decode, end=end, due=due)
        finally:
            if end:
                self._holds = False
                self._version.release()
