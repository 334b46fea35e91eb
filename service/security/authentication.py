"""Authentication of a call by token, JWT or certificate."""

from __future__ import annotations

from typing import Protocol

from pipelines.errors import ErrorKind
from service.refusals import ServiceError
from service.security.jwt import looks_like_jwt
from service.security.principal import Principal, PrincipalLimits

MAX_TOKEN_LENGTH = 4096
"""gRPC itself takes headers of 8 KiB together."""
_SCHEME = "bearer "


class UnauthenticatedError(ServiceError):
    """The caller did not prove who he is."""

    kind = ErrorKind.UNAUTHENTICATED
    reason = "UNAUTHENTICATED"


class _Source(Protocol):
    def find(self, token: str) -> tuple[Principal | None, str]:
        """Return whose token it is; None and why it is not good otherwise."""


class Authenticator:
    """Decides who calls.

    Args:
        tokens: those of a file; None for none.
        jwts: verifies JWTs; None where there are none.
        certificates: whether a caller's certificate, which TLS has verified, is proof enough.
        limits: how much those may have who have no limits of their own.
    """

    def __init__(
        self,
        tokens: _Source | None = None,
        jwts: _Source | None = None,
        *,
        certificates: bool = False,
        limits: PrincipalLimits | None = None,
    ) -> None:
        self._tokens, self._jwts = tokens, jwts
        self._certificates = certificates
        self._limits = limits or PrincipalLimits()

    @property
    def required(self) -> bool:
        """True if callers must authenticate."""
        return bool(self._tokens or self._jwts or self._certificates)

    def authenticate(self, authorization: str | None, certificate_name: str | None) -> Principal:
        """Return who calls.

        Args:
            authorization: the call's ``authorization`` header; None where it has none.
            certificate_name: name in the caller's certificate; None where he showed none.

        Raises:
            UnauthenticatedError: he did not prove it; the message says what to send.
        """
        if not self.required:
            return Principal("anonymous", "anonymous", self._limits)
        if self._tokens or self._jwts:
            if authorization is not None:
                return self._of_token(authorization)
            if not (self._certificates and certificate_name):
                raise UnauthenticatedError("no token came: send the header `authorization: Bearer TOKEN` with the call")
        if certificate_name is None:
            raise UnauthenticatedError("no certificate came: connect over TLS with one that this server trusts")
        return Principal(certificate_name, "certificate", self._limits)

    def _of_token(self, authorization: str) -> Principal:
        if not authorization.lower().startswith(_SCHEME):
            raise UnauthenticatedError("the header `authorization` is not of the form `Bearer TOKEN`")
        token = authorization[len(_SCHEME) :].strip()
        if not token or len(token) > MAX_TOKEN_LENGTH:
            raise UnauthenticatedError(f"the token has no characters, or over {MAX_TOKEN_LENGTH:,}: send yours")
        source = self._jwts if self._jwts and (looks_like_jwt(token) or not self._tokens) else self._tokens
        assert source is not None
        principal, why = source.find(token)
        if principal is None:
            raise UnauthenticatedError(f"{why}: ask the operator of this server for a new one")
        return principal
