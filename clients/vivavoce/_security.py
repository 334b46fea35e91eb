"""Authentication of server and client."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import grpc

from vivavoce._address import is_local
from vivavoce._errors import InvalidRequest

if TYPE_CHECKING:
    from collections.abc import Callable

Token: TypeAlias = "str | Callable[[], str]"  # noqa: S105 - a type
"""A token, or what returns one: it is asked at each call, so that tokens that expire can be renewed."""


@dataclass(frozen=True, slots=True)
class Tls:
    """Encryption of a connection.

    Attributes:
        ca: File with the certificates that the server's must be signed by, PEM; None for those that gRPC trusts.
        cert: File with the client's own certificate, PEM, where the server asks for one.
        key: File with its private key, PEM.
        server_name: Name in the server's certificate where it is not that of the address.
    """

    ca: str | Path | None = None
    cert: str | Path | None = None
    key: str | Path | None = None
    server_name: str = ""

    def __post_init__(self) -> None:
        if (self.cert is None) != (self.key is None):
            raise InvalidRequest("A certificate needs its key; give both `cert` and `key`.", field="tls")


@dataclass(frozen=True, slots=True)
class Security:
    """Encryption and proof of one client."""

    tls: Tls | None = None
    token: Token = ""

    def credentials(self) -> grpc.ChannelCredentials | None:
        """Return what a channel is opened with; None for one in the clear.

        Raises:
            InvalidRequest: A file cannot be read.
        """
        tls = self.tls
        if tls is None:
            return None
        return grpc.ssl_channel_credentials(_read(tls.ca), _read(tls.key), _read(tls.cert))

    @property
    def metadata(self) -> tuple[tuple[str, str], ...]:
        """Returns the headers of a call.

        Raises:
            InvalidRequest: The token has characters that no header can have.
        """
        token = self.token() if callable(self.token) else self.token
        if not token:
            return ()
        if not (token.isascii() and token.isprintable() and " " not in token):
            raise InvalidRequest("A token has printable ASCII characters without spaces.", field="token")
        return (("authorization", f"Bearer {token}"),)


def check_security(target: str, tls: Tls | bool, token: Token) -> Security:
    """Return how a client talks to `target`.

    Raises:
        TypeError: An argument has another type.
        InvalidRequest: A token would be sent in the clear to another machine.
    """
    if not isinstance(tls, (Tls, bool)):
        raise TypeError(f"`tls` is True, False or a vivavoce.Tls, not {type(tls).__name__}.")
    if not isinstance(token, str) and not callable(token):
        raise TypeError(f"`token` is a str, or a function that returns one, not {type(token).__name__}.")
    chosen = (Tls() if tls else None) if isinstance(tls, bool) else tls
    if token and chosen is None and not is_local(target):
        message = f"A token for {target} would be sent in the clear; connect with `tls=True`, or to this machine."
        raise InvalidRequest(message, field="token")
    return Security(chosen, token)


def _read(path: str | Path | None) -> bytes | None:
    if path is None:
        return None
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise InvalidRequest(
            f"The file {path} cannot be read ({error.strerror}); check its name.", field="tls"
        ) from None
