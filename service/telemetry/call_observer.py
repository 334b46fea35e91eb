"""Call observers: calls of every API, for metrics and traces."""

from __future__ import annotations

import contextlib
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from service.security.principal import PrincipalKind


@dataclass(frozen=True, slots=True)
class Refusal:
    """A call that ended with an error.

    Attributes:
        code: gRPC's name of the status, such as ``RESOURCE_EXHAUSTED``.
        reason: one word for programs, such as ``NOT_READY``.
        principal_kind: how the caller proved who he is; ``anonymous`` where he did not.
    """

    code: str
    reason: str
    principal_kind: PrincipalKind


class CallObserver:
    """Observer of calls, by default without effect; no method waits or raises."""

    def serving(self, method: str, metadata: Mapping[str, str]) -> contextlib.AbstractContextManager[object]:  # noqa: ARG002
        """Return what is entered while a call is served.

        Args:
            method: its full name, such as ``/vivavoce.v1.ConversationService/Converse`` or
                ``POST /v1/audio/speech``.
            metadata: what the caller sent ahead, without binary values.
        """
        return contextlib.nullcontext()

    def refused(self, refusal: Refusal) -> None:
        """Take the error of a call."""


class CallObservers(CallObserver):
    """Several observers as one, told in their order."""

    def __init__(self, observers: Sequence[CallObserver]) -> None:
        self._observers = tuple(observers)

    @contextlib.contextmanager
    def serving(self, method: str, metadata: Mapping[str, str]) -> Iterator[None]:
        """See :class:`CallObserver`."""
        with contextlib.ExitStack() as entered:
            for observer in self._observers:
                entered.enter_context(observer.serving(method, metadata))
            yield

    def refused(self, refusal: Refusal) -> None:
        """See :class:`CallObserver`."""
        for observer in self._observers:
            observer.refused(refusal)


_CURRENT: ContextVar[CallObserver] = ContextVar("call_observer", default=CallObserver())  # noqa: B039 - has no state


def current_call_observer() -> CallObserver:
    """Return the current call's observer; outside of one, a no-op."""
    return _CURRENT.get()


@contextlib.contextmanager
def telling(observer: CallObserver) -> Iterator[None]:
    """Make ``observer`` the current one while the body runs."""
    token = _CURRENT.set(observer)
    try:
        yield
    finally:
        _CURRENT.reset(token)
