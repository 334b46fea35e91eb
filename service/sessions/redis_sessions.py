"""Sessions in a shared Redis: one stream at a time over all replicas."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import secrets
import time
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import AuthenticationError, RedisError

from pipelines.dialog.session import DialogSession
from pipelines.dialog.sessions import DEFAULT_IDLE_SECONDS, check_id, session_in_use
from service.refusals import SessionsUnavailableError
from service.sessions.session_cipher import SessionsError
from service.sessions.session_saver import SessionSaver
from service.sessions.stored_session import Clocks, unpack

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from pipelines.dialog.agent.agent import Agent
    from pipelines.dialog.fulfilment import Fulfiller
    from service.sessions.session_cipher import SessionCipher

logger = logging.getLogger(__name__)

CALL_SECONDS = 1.0
"""How long Redis may take for one command, or for a connection."""
OPEN_SECONDS = 2.5
"""How long opening a session may take altogether."""
LEASE_SECONDS = 10.0
"""How long a session stays locked when the replica that has it open is gone."""
HAND_OVER_SECONDS = 1.0
"""How long a stream waits for another one that ends."""
MAX_CONNECTIONS = 32
_POLL_SECONDS = 0.1


class RedisSessions:
    """Keeps sessions in Redis; see :class:`pipelines.dialog.sessions.Sessions`.

    A session is read when a stream opens it, held in memory while the stream lasts, and stored after every change,
    which delays nothing. While Redis is away, streams that are open go on, and sessions cannot be opened.

    Args:
        url: ``redis://``, ``rediss://`` or ``unix://``.
        cipher: encrypts what is stored; None: the values of sensitive slots are left out.
        idle_seconds: how long a session is kept after its last stream.
        lease_seconds: how long a session stays locked when its replica is gone.
        wall_clock: Unix time, in seconds.
        clock: time in seconds, which never goes back.
        fulfillers: what carries out the fulfilments of agents, by the agent's name and that of the fulfilment.

    Raises:
        SessionsError: the URL cannot be read.
    """

    def __init__(
        self,
        url: str,
        cipher: SessionCipher | None = None,
        idle_seconds: float = DEFAULT_IDLE_SECONDS,
        lease_seconds: float = LEASE_SECONDS,
        wall_clock: Callable[[], float] = time.time,
        clock: Callable[[], float] = time.monotonic,
        fulfillers: Mapping[str, Mapping[str, Fulfiller]] | None = None,
    ) -> None:
        self._cipher, self._idle_seconds, self._lease_seconds = cipher, idle_seconds, lease_seconds
        self._clocks, self._fulfillers = Clocks(clock, wall_clock), fulfillers or {}
        self.shown = shown(url)
        try:
            pool = BlockingConnectionPool.from_url(
                url,
                max_connections=MAX_CONNECTIONS,
                timeout=CALL_SECONDS,
                socket_timeout=CALL_SECONDS,
                socket_connect_timeout=CALL_SECONDS,
                # Once anew, for a connection that the server has closed meanwhile.
                retry=Retry(NoBackoff(), 1),
            )
        except ValueError as error:
            raise SessionsError(
                f"the URL of the sessions at {self.shown} cannot be read: write redis://HOST:PORT/NUMBER, and special "
                "characters of a password as %XX"
            ) from error
        self._redis = Redis.from_pool(pool)

    async def check(self) -> None:
        """Check whether Redis answers; log it if not, as it may come later.

        Raises:
            SessionsError: it refuses the user or the password, or is not what the URL says.
        """
        try:
            async with asyncio.timeout(OPEN_SECONDS):
                await self._redis.ping()
        except (RedisError, OSError, TimeoutError) as error:
            if isinstance(error, AuthenticationError) or isinstance(error.__cause__, AuthenticationError):
                message = f"the Redis at {self.shown} refuses the user or the password: check both"
                raise SessionsError(message) from error
            logger.warning("sessions: the Redis at %s does not answer (%s)", self.shown, type(error).__name__)

    @contextlib.asynccontextmanager
    async def open(
        self, agent: Agent, session_id: str = "", parameters: Mapping[str, str] | None = None, owner: str = ""
    ) -> AsyncIterator[DialogSession]:
        """See ``Sessions``.

        Raises:
            SessionsUnavailableError: Redis does not answer.
        """
        session = DialogSession(agent, self._clocks.monotonic, self._fulfillers.get(agent.form.name, {}))
        if not session_id:
            session.begin(parameters)
            yield session
            return
        check_id(session_id)
        # Neither who the caller is nor the id, which may be a telephone number, stands in Redis.
        name = hashlib.sha256(repr((owner, agent.form.name, session_id)).encode()).hexdigest()
        key = f"vivavoce:session:{{{name}}}"
        token = secrets.token_hex(16)
        try:
            async with asyncio.timeout(OPEN_SECONDS):
                revision = await self._lock(key, token, session)
        except (RedisError, OSError, TimeoutError) as error:
            logger.warning("sessions: the Redis at %s does not answer (%s)", self.shown, type(error).__name__)
            raise SessionsUnavailableError from error
        if revision:
            session.resume(parameters)
        else:
            session.begin(parameters)
        bounds = (self._idle_seconds, self._lease_seconds)
        saver = SessionSaver(self._redis, key, token, revision, session, self._clocks, self._cipher, bounds)
        session.on_commit = saver.changed
        saver.start()
        try:
            yield session
        finally:
            session.on_commit = lambda: None
            await saver.close()

    async def close(self) -> None:
        """See ``Sessions``."""
        with contextlib.suppress(RedisError, OSError, TimeoutError):
            async with asyncio.timeout(CALL_SECONDS):
                await self._redis.aclose()

    async def _lock(self, key: str, token: str, session: DialogSession) -> str:
        """Lock a session for a stream, and read it.

        Returns:
            The revision that was read; "": there is none that can go on.

        Raises:
            InvalidInputError: another stream has it open.
        """
        lease = int(1000 * self._lease_seconds)
        waits_until = self._clocks.monotonic() + HAND_OVER_SECONDS
        while not await self._redis.set(f"{key}:lock", token, nx=True, px=lease):
            if self._clocks.monotonic() >= waits_until:
                raise session_in_use()
            await asyncio.sleep(_POLL_SECONDS)
        revision, data = await self._redis.hmget(key, "revision", "data")
        if not isinstance(revision, bytes) or not isinstance(data, bytes):
            return ""
        plain = self._cipher.decrypt(data, key.encode()) if self._cipher else data
        found = unpack(plain, session.agent, self._clocks) if plain is not None else None
        if found is None or found[1].ended:
            # It begins anew, in the place of what is there.
            return ""
        session.id, session.state = found
        return revision.decode()


def shown(url: str) -> str:
    """Return a URL without what may be a password."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "a URL that cannot be read"
    if "@" in parts.path:
        # Of a password with a slash in it.
        return "a URL that cannot be read"
    _, _, place = parts.netloc.rpartition("@")
    return f"{parts.scheme}://{place}{parts.path}"
