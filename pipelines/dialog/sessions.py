"""Dialog sessions by id, in memory; they outlive streams and expire."""

from __future__ import annotations

import time
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import msgspec
from msgspec.structs import replace

from pipelines.dialog.session import DialogSession
from pipelines.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping
    from contextlib import AbstractAsyncContextManager

    from pipelines.dialog.agent.agent import Agent
    from pipelines.dialog.fulfilment import Fulfiller

DEFAULT_IDLE_SECONDS = 1_800.0
MAX_SESSIONS = 10_000
"""Of one owner."""
MAX_BYTES = 64 << 20
"""Of the states of one owner's sessions."""
ALL_OWNERS = 4
"""All owners together have so many times as much; beyond it, the one that has most makes room."""
MAX_ID_CHARACTERS = 128


class Sessions(Protocol):
    """Sessions that streams open, one stream each at a time."""

    def open(
        self, agent: Agent, session_id: str = "", parameters: Mapping[str, str] | None = None, owner: str = ""
    ) -> AbstractAsyncContextManager[DialogSession]:
        """Open a session for a stream: the one of that id, or a new one.

        A session goes on where its last stream left it. One that has ended, or that the agent's files were changed
        under, begins anew.

        Args:
            agent: by which the dialog is held.
            session_id: chosen by the caller; "": the session ends with the stream.
            parameters: session parameters; of a session that goes on they are changed.
            owner: who the caller is: nobody opens the session of another one.

        Raises:
            InvalidInputError: the id is too long, or another stream has the session open.
        """

    async def close(self) -> None:
        """End when the service does."""


def check_id(session_id: str) -> None:
    """Check the id of a session.

    Raises:
        InvalidInputError: it is too long.
    """
    if len(session_id) > MAX_ID_CHARACTERS:
        message = f"the session's id has {len(session_id)} characters: {MAX_ID_CHARACTERS} are the most"
        raise InvalidInputError("config.session.id", "SESSION_ID_TOO_LONG", message)


def session_in_use() -> InvalidInputError:
    """Return what a stream is told that opens a session which another one has open."""
    message = "another stream has this session open: end that one, or choose another id"
    return InvalidInputError("config.session.id", "SESSION_IN_USE", message)


_SESSION_BYTES = 4_096
"""Of a session beside the texts in it."""

_Key = tuple[str, str, str]


@dataclass(slots=True)
class _Kept:
    session: DialogSession
    bytes: int = 0
    idle_since: float | None = None
    """When its last stream ended; None: one is open."""


@dataclass(slots=True)
class _Owner:
    """Sessions of one owner, least recently used first."""

    kept: dict[_Key, _Kept] = field(default_factory=dict)
    bytes: int = 0


class DialogSessions:
    """In-memory store; an owner's least recently used session goes first.

    See :class:`Sessions`. One owner's sessions never push out those of another who has fewer.

    Args:
        idle_seconds: how long one is kept after its last stream.
        max_sessions: how many of one owner are kept; one whose stream is open is never dropped.
        clock: time in seconds, which never goes back.
        fulfillers: what carries out the fulfilments of agents, by the agent's name and that of the fulfilment.
        max_bytes: what the states of one owner's sessions may have.
    """

    def __init__(
        self,
        idle_seconds: float = DEFAULT_IDLE_SECONDS,
        max_sessions: int = MAX_SESSIONS,
        clock: Callable[[], float] = time.monotonic,
        fulfillers: Mapping[str, Mapping[str, Fulfiller]] | None = None,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self._idle_seconds, self._max_sessions, self._clock = idle_seconds, max_sessions, clock
        self._max_bytes = max_bytes
        self._fulfillers = fulfillers or {}
        self._owners: dict[str, _Owner] = {}
        self._count = self._bytes = 0

    def __len__(self) -> int:
        return self._count

    @asynccontextmanager
    async def open(
        self, agent: Agent, session_id: str = "", parameters: Mapping[str, str] | None = None, owner: str = ""
    ) -> AsyncIterator[DialogSession]:
        """See ``Sessions``."""
        if not session_id:
            yield self._begun(agent, parameters)
            return
        check_id(session_id)
        self._expire()
        key = (owner, agent.form.name, session_id)
        found = self._owners[owner].kept.get(key) if owner in self._owners else None
        if found is not None and found.idle_since is None:
            raise session_in_use()
        if found is not None:
            self._drop(key)
        if found is None or found.session.state.ended or found.session.agent is not agent:
            kept = _Kept(self._begun(agent, parameters))
        else:
            kept = _Kept(found.session)
            kept.session.resume(parameters)
        self._keep(key, kept)
        try:
            yield kept.session
        finally:
            self._drop(key)
            kept.idle_since = self._clock()
            self._keep(key, kept)

    async def close(self) -> None:
        """See ``Sessions``."""

    def _begun(self, agent: Agent, parameters: Mapping[str, str] | None) -> DialogSession:
        session = DialogSession(agent, self._clock, self._fulfillers.get(agent.form.name, {}))
        session.begin(parameters)
        return session

    def _keep(self, key: _Key, kept: _Kept) -> None:
        """Keep a session as the one that was used last, and make room for it."""
        owner = self._owners.setdefault(key[0], _Owner())
        kept.bytes = _size(kept.session)
        owner.kept[key] = kept
        owner.bytes += kept.bytes
        self._count += 1
        self._bytes += kept.bytes
        while len(owner.kept) > self._max_sessions or owner.bytes > self._max_bytes:
            if not self._drop_oldest(owner):
                break
        while self._count > ALL_OWNERS * self._max_sessions or self._bytes > ALL_OWNERS * self._max_bytes:
            if not self._drop_oldest(max(self._owners.values(), key=lambda one: (one.bytes, len(one.kept)))):
                break

    def _drop(self, key: _Key) -> None:
        owner = self._owners[key[0]]
        size = owner.kept.pop(key).bytes
        owner.bytes -= size
        self._bytes -= size
        self._count -= 1
        if not owner.kept:
            del self._owners[key[0]]

    def _drop_oldest(self, owner: _Owner) -> bool:
        """Evict an owner's least recently used session; return whether one was idle."""
        oldest = next((key for key, kept in owner.kept.items() if kept.idle_since is not None), None)
        if oldest is not None:
            self._drop(oldest)
        return oldest is not None

    def _expire(self) -> None:
        oldest = self._clock() - self._idle_seconds
        for owner in list(self._owners.values()):
            for key, kept in list(owner.kept.items()):
                if kept.idle_since is None:
                    continue
                if kept.idle_since > oldest:
                    break
                self._drop(key)


def _size(session: DialogSession) -> int:
    # Turns that are held wait for a fulfilment: there are none once the stream has ended.
    return _SESSION_BYTES + len(msgspec.msgpack.encode(replace(session.state, held=())))
