"""Principal of a call."""

from __future__ import annotations

import contextlib
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PrincipalKind = Literal["anonymous", "token", "jwt", "certificate"]


class PrincipalLimits(Struct, frozen=True, forbid_unknown_fields=True):
    """Limits of a principal; None: unlimited.

    Attributes:
        conversations: conversations at a time.
        audio_seconds_per_minute: seconds of audio a minute, in all conversations together.
        typed_turns_per_second: typed turns, and texts to be spoken, a second.
        recording_bytes: bytes of recordings that are recognized at a time.
    """

    conversations: int | None = None
    audio_seconds_per_minute: float | None = None
    typed_turns_per_second: float | None = None
    recording_bytes: int | None = None

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ValueError(f"{name} is {value:g}: it must be above 0; leave it out for no limit")


NO_LIMITS = PrincipalLimits()


@dataclass(frozen=True, slots=True)
class Principal:
    """A caller as far as the service knows him.

    Attributes:
        name: of the token, of the JWT's subject, or of the certificate's subject.
        kind: how the caller proved who he is.
        limits: how much he may have.
        holds: returns whether the proof still holds, as long as a token is in its file; None: it does.
        expires: Unix time in seconds after which nothing new may be made of the proof; None: never.
    """

    name: str
    kind: PrincipalKind
    limits: PrincipalLimits = field(default=NO_LIMITS)
    holds: Callable[[], bool] | None = field(default=None, repr=False, compare=False)
    expires: float | None = field(default=None, compare=False)

    @property
    def key(self) -> str:
        """Tells principals apart: two kinds may have the same name."""
        return f"{self.kind}:{self.name}"


ANONYMOUS = Principal("anonymous", "anonymous")

_CURRENT: ContextVar[Principal] = ContextVar("principal", default=ANONYMOUS)


def current_principal() -> Principal:
    """Return the current call's principal; :data:`ANONYMOUS` outside of one."""
    return _CURRENT.get()


@contextlib.contextmanager
def acting_for(principal: Principal) -> Iterator[None]:
    """Make ``principal`` the current one while the body runs."""
    token = _CURRENT.set(principal)
    try:
        yield
    finally:
        _CURRENT.reset(token)
