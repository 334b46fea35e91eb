"""Short-lived client secrets, for pages in a browser.

They are known to this process alone: with several behind a balancer, a caller must come back to the same one.
"""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from pipelines.errors import ErrorKind
from service.refusals import ServiceError
from service.security.authentication import UnauthenticatedError
from service.security.principal import current_principal
from service.security.tokens import hash_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from service.security.principal import Principal

PREFIX = "ek_"
DEFAULT_SECONDS = 600
MIN_SECONDS, MAX_SECONDS = 10, 7_200
MAX_SECRETS = 4_096
MAX_OF_PRINCIPAL = 256
MAX_BYTES = 32 << 20
"""Of the sessions of all secrets."""
MAX_BYTES_OF_PRINCIPAL = 8 << 20
"""Likewise, of one principal."""


class TooManySecretsError(ServiceError):
    """A principal has very many secrets that have not expired."""

    kind = ErrorKind.EXHAUSTED
    reason = "TOO_MANY_SECRETS"

    def __init__(self) -> None:
        super().__init__("very many secrets have not expired yet: ask for shorter ones, or later", 10.0)


@dataclass(frozen=True, slots=True)
class ClientSecret:
    """A secret, without its value.

    Attributes:
        principal: whose calls it opens.
        expires: Unix time in seconds.
        packed: what was asked for when it was made, in MessagePack: as objects it takes twenty times the memory.
    """

    principal: Principal
    expires: float
    packed: bytes = field(repr=False)

    @property
    def session(self) -> dict[str, Any]:
        """Session that the secret was made for."""
        session: dict[str, Any] = msgspec.msgpack.decode(self.packed)
        return session


class ClientSecrets:
    """The secrets that have not expired, by their hashes.

    Args:
        now: Unix time in seconds.
    """

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self._known: OrderedDict[str, ClientSecret] = OrderedDict()

    def make(self, seconds: int, session: Mapping[str, Any]) -> tuple[str, ClientSecret]:
        """Make a secret for the current principal; return its value and record.

        Raises:
            TooManySecretsError: there are very many already.
        """
        self._forget_expired()
        principal = current_principal()
        packed = msgspec.msgpack.encode(session)
        own = [len(secret.packed) for secret in self._known.values() if secret.principal.key == principal.key]
        size = sum(len(secret.packed) for secret in self._known.values()) + len(packed)
        if len(own) >= MAX_OF_PRINCIPAL or sum(own) + len(packed) > MAX_BYTES_OF_PRINCIPAL:
            raise TooManySecretsError
        if len(self._known) >= MAX_SECRETS or size > MAX_BYTES:
            raise TooManySecretsError
        value = PREFIX + secrets.token_urlsafe(32)
        expires = self._now() + seconds
        # A secret that outlives the proof it was made with would be a way around its end.
        secret = ClientSecret(principal, min(expires, principal.expires or expires), packed)
        self._known[hash_of(value)] = secret
        return value, secret

    def find(self, value: str) -> ClientSecret:
        """Return a secret's record, valid until it or its token expires.

        Raises:
            UnauthenticatedError: it is unknown, or may be used no more.
        """
        secret = self._known.get(hash_of(value))
        if secret is None or not self._is_good(secret):
            raise UnauthenticatedError("the client secret is unknown here, or has expired: ask for a new one")
        return secret

    def _forget_expired(self) -> None:
        for key in [key for key, secret in self._known.items() if not self._is_good(secret)]:
            del self._known[key]

    def _is_good(self, secret: ClientSecret) -> bool:
        holds = secret.principal.holds
        return self._now() < secret.expires and (holds is None or holds())
