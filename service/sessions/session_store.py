"""Choice of the store of agents' sessions."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from service.sessions.session_cipher import SessionsError, read_cipher

if TYPE_CHECKING:
    import contextlib
    from collections.abc import Callable, Mapping

    from pipelines.dialog.fulfilment import Fulfiller
    from pipelines.dialog.sessions import Sessions
    from service.config import ServiceConfig

__all__ = ["SessionsError", "sessions_of"]


async def sessions_of(
    config: ServiceConfig, cleanup: contextlib.AsyncExitStack, environment: Mapping[str, str] = os.environ
) -> Callable[[Mapping[str, Mapping[str, Fulfiller]]], Sessions] | None:
    """Return the factory of a service's sessions; None: in memory.

    Args:
        config: how the service is run.
        cleanup: closes what is made.
        environment: holds the key that sessions are encrypted with.

    Raises:
        SessionsError: the URL, the key or the password will not do, or a package is missing.
    """
    if config.sessions is None or not config.agents:
        return None
    try:
        from service.sessions.redis_sessions import RedisSessions  # noqa: PLC0415 - needs an extra
    except ImportError as error:
        raise SessionsError('sessions in Redis need more packages: pip install "vivavoce-server[redis]"') from error
    url, cipher = config.sessions, read_cipher(environment)
    probe = RedisSessions(url, cipher)
    try:
        await probe.check()
    finally:
        await probe.close()

    def make(fulfillers: Mapping[str, Mapping[str, Fulfiller]]) -> Sessions:
        sessions = RedisSessions(url, cipher, fulfillers=fulfillers)
        cleanup.push_async_callback(sessions.close)
        return sessions

    return make
