"""The sessions of a service by id: they outlive streams and expire. Here they are kept in memory."""

from __future__ import annotations

import time
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from pipelines.dialog.session import DialogSession
from pipelines.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping
    from contextlib import AbstractAsyncContextManager

    from pipelines.dialog.agent.agent import Agent
    from pipelines.dialog.fulfilment import Fulfiller

DEFAULT_IDLE_SECONDS = 1_800.0
MAX_SESSIONS = 10_000
MAX_ID_CHARACTERS = 128


class Sessions(Protocol):
    """Sessions that streams open, one stream each at a time."""

    def open(
        self, agent: Agent, session_id: str = "", parameters: Mapping[str, str] | None = None, owner: str = ""
    ) -> AbstractAsyncContextManager[DialogSession]:
        """Opens a session for a stream: the one of that id, or a new one.

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
        """Ends when the service does."""


def check_id(session_id: str) -> None:
    """Checks the id of a session.

    Raises:
        InvalidInputError: it is too long.
    """
    if len(session_id) > MAX_ID_CHARACTERS:
        message = f"the session's id has {len(session_id)} characters: {MAX_ID_CHARACTERS} are the most"
        raise InvalidInputError("config.session.id", "SESSION_ID_TOO_LONG", message)


def session_in_use() -> InvalidInputError:
    """Returns what a stream is told that opens a session which another one has open."""
    message = "another stream has this session open: end that one, or choose another id"
    return InvalidInputError("config.session.id", "SESSION_IN_USE", message)


@dataclass(slots=True)
class _Kept:
    session: DialogSession
    idle_since: float | None = None
    """When its last stream ended; None: one is open."""


class DialogSessions:
    """Keeps sessions between streams in memory, the least recently used ones only while there is room.

    See :class:`Sessions`.

    Args:
        idle_seconds: how long one is kept after its last stream.
        max_sessions: how many are kept; one whose stream is open is never dropped.
        clock: time in seconds, which never goes back.
        fulfillers: what carries out the fulfilments of agents, by the agent's name and that of the fulfilment.
    """

    def __init__(
        self,
        idle_seconds: float = DEFAULT_IDLE_SECONDS,
        max_sessions: int = MAX_SESSIONS,
        clock: Callable[[], float] = time.monotonic,
        fulfillers: Mapping[str, Mapping[str, Fulfiller]] | None = None,
    ) -> None:
        self._idle_seconds, self._max_sessions, self._clock = idle_seconds, max_sessions, clock
        self._fulfillers = fulfillers or {}
        self._kept: dict[tuple[str, str, str], _Kept] = {}

    def __len__(self) -> int:
        return len(self._kept)

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
        kept = self._kept.pop(key, None)
        if kept is not None and kept.idle_since is None:
            self._kept[key] = kept
            raise session_in_use()
        if kept is None or kept.session.state.ended or kept.session.agent is not agent:
            kept = _Kept(self._begun(agent, parameters))
        else:
            kept.session.resume(parameters)
        kept.idle_since = None
        self._kept[key] = kept
        self._make_room()
        try:
            yield kept.session
        finally:
            kept.idle_since = self._clock()
            # The order is that of the last use.
            self._kept[key] = self._kept.pop(key)
            self._make_room()

    async def close(self) -> None:
        """See ``Sessions``."""

    def _begun(self, agent: Agent, parameters: Mapping[str, str] | None) -> DialogSession:
        session = DialogSession(agent, self._clock, self._fulfillers.get(agent.form.name, {}))
        session.begin(parameters)
        return session

    def _expire(self) -> None:
        oldest = self._clock() - self._idle_seconds
        for key, kept in list(self._kept.items()):
            if kept.idle_since is not None and kept.idle_since <= oldest:
                del self._kept[key]

    def _make_room(self) -> None:
        idle = [key for key, kept in self._kept.items() if kept.idle_since is not None]
        for key in idle[: max(0, len(self._kept) - self._max_sessions)]:
            del self._kept[key]
