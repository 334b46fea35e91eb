"""Paths of certificates and keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """The files of TLS.

    Attributes:
        cert: the service's certificate and those above it, PEM.
        key: its private key, PEM, not encrypted.
        client_ca: certificates of those who sign callers' certificates, PEM; None where callers need none.
    """

    cert: Path
    key: Path
    client_ca: Path | None = None

    @property
    def paths(self) -> tuple[Path, ...]:
        """All files."""
        return (self.cert, self.key) if self.client_ca is None else (self.cert, self.key, self.client_ca)
