"""Options of the connection: server, encryption and credentials."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

import vivavoce
from vivavoce.cli.options import check_address

_C = TypeVar("_C", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Connection:
    """A server as a command's options name it.

    Attributes:
        address: `HOST:PORT` or `unix:/PATH`.
        tls: How the connection is encrypted; None for not at all.
        token: What proves who calls; "" for nothing.
    """

    address: str
    tls: vivavoce.Tls | None = None
    token: str = ""

    def connect(self) -> vivavoce.Client:
        """Make a client of the server.

        Raises:
            vivavoce.InvalidRequest: A token would be sent in the clear to another machine.
        """
        return vivavoce.connect(self.address, tls=self.tls or False, token=self.token)


def server_option(command: _C) -> _C:
    """Add the options of the connection; the command gets a `Connection`."""

    @functools.wraps(command)
    def connected(
        *args: object,
        server: str,
        tls: bool,
        ca: Path | None,
        cert: Path | None,
        key: Path | None,
        token: str,
        **options: object,
    ) -> object:
        if (cert is None) != (key is None):
            raise click.UsageError("Give both --cert and --key, or neither.", click.get_current_context())
        encrypted = vivavoce.Tls(ca=ca, cert=cert, key=key) if tls or ca or cert else None
        return command(*args, server=Connection(server, encrypted, token), **options)

    server = click.option(
        "--server",
        metavar="HOST:PORT",
        default=vivavoce.DEFAULT_TARGET,
        show_default=True,
        envvar="VIVAVOCE_SERVER",
        callback=check_address,
        help="Address of the server, or unix:/PATH.",
    )
    tls = click.option("--tls", is_flag=True, envvar="VIVAVOCE_TLS", help="Connect over TLS.")
    ca = _file("--ca", "VIVAVOCE_CA", "Connect over TLS, to a server whose certificate one of these has signed (PEM).")
    cert = _file("--cert", "VIVAVOCE_CERT", "Show this certificate (PEM).")
    key = _file("--key", "VIVAVOCE_KEY", "Its private key (PEM).")
    token = click.option(
        "--token",
        metavar="TOKEN",
        default="",
        envvar="VIVAVOCE_TOKEN",
        help="Prove who calls. Other users of this machine see flags: better set VIVAVOCE_TOKEN.",
    )
    return server(tls(ca(cert(key(token(connected))))))  # type: ignore[return-value]


def _file(flag: str, variable: str, text: str) -> Callable[[_C], _C]:
    return click.option(
        flag, metavar="FILE", type=click.Path(path_type=Path, dir_okay=False), envvar=variable, help=text
    )
