"""Saving of an open session after every change, under its lock."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
from typing import TYPE_CHECKING

from redis.exceptions import RedisError

from service.sessions.stored_session import Clocks, pack

if TYPE_CHECKING:
    from redis.asyncio import Redis

    from pipelines.dialog.session import DialogSession
    from service.sessions.session_cipher import SessionCipher

logger = logging.getLogger(__name__)

CLOSE_SECONDS = 1.5
"""How long it is tried to store a session at the end of its stream."""
CALL_SECONDS = 1.5
"""How long Redis may take to store one."""
RETRY_SECONDS = 1.0
_CLOSING_RETRY_SECONDS = 0.2

_STORE = """
local holder = redis.call('GET', KEYS[2])
if holder and holder ~= ARGV[1] then return 0 end
if not holder then
    local stored = redis.call('HGET', KEYS[1], 'revision')
    if stored and stored ~= ARGV[2] and string.sub(stored, 1, #ARGV[1]) ~= ARGV[1] then return 0 end
end
if ARGV[4] ~= '' then redis.call('HSET', KEYS[1], 'revision', ARGV[3], 'data', ARGV[4]) end
redis.call('PEXPIRE', KEYS[1], ARGV[5])
if ARGV[7] == '1' then redis.call('DEL', KEYS[2]) else redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[6]) end
return 1
"""
"""Stores a state, unless another stream has the session or has gone on with it, and renews or frees the lock.

A lock that was lost with a Redis that began anew, or because it did not answer for longer than the lease, is taken
again. ``KEYS``: of the session and its lock. ``ARGV``: token of the stream; revision that it read; new revision; state,
or nothing to renew alone; milliseconds for which the session and the lock are kept; whether the stream ends.
"""


class SessionSaver:
    """Saver of a stream's states in order, skipping superseded ones.

    Args:
        redis: where it is stored.
        key: of the session.
        token: of the stream, in the lock.
        revision: that was read; "": the session began with the stream.
        session: what is stored.
        clocks: of this machine.
        cipher: encrypts it; None: sensitive values are left out.
        bounds: seconds for which the session is kept, and the lock.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - all that a session is stored with
        self,
        redis: Redis,
        key: str,
        token: str,
        revision: str,
        session: DialogSession,
        clocks: Clocks,
        cipher: SessionCipher | None,
        bounds: tuple[float, float],
    ) -> None:
        self._keys, self._token, self._revision = (key, f"{key}:lock"), token, revision
        self._session, self._clocks, self._cipher = session, clocks, cipher
        self._idle_seconds, self._lease_seconds = bounds
        self._store = redis.register_script(_STORE)
        self._wake = asyncio.Event()
        self._numbers = itertools.count()
        # A session that begins is stored with the stream's first change or its end, one that goes on as well.
        self._is_dirty = True
        self._loop = asyncio.get_running_loop()
        self._closes_at: float | None = None
        self._fails = False
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to store."""
        self._task = asyncio.create_task(self._run(), name="session saver")

    def changed(self) -> None:
        """Say that the session has changed."""
        self._is_dirty = True
        self._wake.set()

    async def close(self) -> None:
        """Store what is not stored yet and free the session, within a bound."""
        assert self._task is not None
        self._closes_at = self._loop.time() + CLOSE_SECONDS
        self._wake.set()
        # The task ends by itself, even where the stream is cut off while it waits here.
        await asyncio.wait((self._task,))

    async def _run(self) -> None:
        while True:
            is_last = self._closes_at is not None
            self._wake.clear()
            held = await self._attempt(is_last=is_last)
            if held is False or (held and is_last):
                return
            if self._closes_at is not None and not held:
                if self._loop.time() >= self._closes_at:
                    logger.warning("sessions: a session could not be stored at the end of its stream")
                    return
                await asyncio.sleep(_CLOSING_RETRY_SECONDS)
                continue
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._lease_seconds / 3 if held else RETRY_SECONDS):
                    await self._wake.wait()

    async def _attempt(self, *, is_last: bool) -> bool | None:
        """Store or renews once.

        Returns:
            Whether the session is still this stream's; None: Redis does not answer.
        """
        data, is_dirty = b"", self._is_dirty
        if is_dirty:
            self._is_dirty = False
            data = pack(self._session, self._clocks, sensitive=self._cipher is not None)
            if self._cipher is not None:
                data = self._cipher.encrypt(data, self._keys[0].encode())
        times = (int(1000 * self._idle_seconds), int(1000 * self._lease_seconds))
        revision = f"{self._token}:{next(self._numbers)}"
        arguments = (self._token, self._revision, revision, data, *times, int(is_last))
        try:
            async with asyncio.timeout(CALL_SECONDS):
                stored = await self._store(self._keys, arguments)
        except (RedisError, OSError, TimeoutError) as error:
            self._is_dirty = self._is_dirty or is_dirty
            if not self._fails:
                logger.warning("sessions: a session cannot be stored (%s), and goes on in memory", type(error).__name__)
            self._fails = True
            return None
        if self._fails:
            logger.warning("sessions: a session is stored again")
        self._fails = False
        if not stored:
            logger.warning("sessions: another stream has gone on with a session, so that this one is not stored")
        return bool(stored)
