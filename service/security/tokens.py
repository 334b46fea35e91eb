"""Token file: names, hashes, expiry and limits.

A token has 256 random bits, so that its plain SHA-256 tells nothing about it: what makes hashes of passwords slow
protects secrets that can be guessed (NIST SP 800-63B, section 5.1.2.2, on look-up secrets).
"""

from __future__ import annotations

import datetime as dt
import hashlib
import secrets
import tomllib
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from service.security.principal import NO_LIMITS, Principal, PrincipalLimits
from service.security.watched_file import UnusableFileError, WatchedFiles, warn_if_writable

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TOKEN_PREFIX = "vv_"  # noqa: S105 - no token: scanners for secrets find tokens by it
_HASH_DIGITS = 64


class TokenEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of a token file.

    Attributes:
        name: whose token it is.
        sha256: hexadecimal hash of the token.
        expires: when it stops being good; None for never. Without a zone it is UTC.
        limits: how much its holder may have; None for as much as everybody.
    """

    name: str
    sha256: str
    expires: dt.datetime | None = None
    limits: PrincipalLimits | None = None

    def __post_init__(self) -> None:
        if not self.name:
            raise ValueError("a token has no name: give it one")
        if len(self.sha256) != _HASH_DIGITS or not set(self.sha256) <= set("0123456789abcdef"):
            raise ValueError(
                f"sha256 of {self.name!r} is no hash of 64 hexadecimal digits: make one with `vivavoce token`"
            )


class _TokenList(Struct, frozen=True, forbid_unknown_fields=True):
    token: tuple[TokenEntry, ...] = ()


class TokenFile:
    """Tokens of a file, read again on change; removed ones are locked out.

    Args:
        path: a file in TOML, with a ``[[token]]`` table for each token.
        now: the time of day.
        limits: how much the holders of those tokens may have that say nothing of it.

    Raises:
        OSError: the file cannot be read.
        UnusableFileError: it is no list of tokens; the message names the place and the cure.
    """

    def __init__(
        self, path: Path, now: Callable[[], dt.datetime] | None = None, limits: PrincipalLimits = NO_LIMITS
    ) -> None:
        self._limits = limits
        self._now = now or (lambda: dt.datetime.now(dt.UTC))
        self._files = WatchedFiles([path], lambda: read_tokens(path))

    def find(self, token: str) -> tuple[Principal | None, str]:
        """Return whose token it is; None and why it is not good otherwise."""
        hashed = hash_of(token)
        entry = self._files.get().get(hashed)
        if entry is None:
            return None, "the token is unknown, or was withdrawn"
        if self._has_expired(entry):
            return None, "the token has expired"
        return Principal(entry.name, "token", entry.limits or self._limits, lambda: self._holds(hashed)), ""

    def _holds(self, hashed: str) -> bool:
        entry = self._files.get().get(hashed)
        return entry is not None and not self._has_expired(entry)

    def _has_expired(self, entry: TokenEntry) -> bool:
        return entry.expires is not None and self._now() >= _with_zone(entry.expires)


def read_tokens(path: Path) -> dict[str, TokenEntry]:
    """Return the entries of a token file by their hashes.

    Raises:
        OSError: it cannot be read.
        UnusableFileError: it is no list of tokens.
    """
    warn_if_writable(path)
    try:
        found = msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), _TokenList)
    except (msgspec.ValidationError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UnusableFileError(f"{path} is no token file: {error}; `vivavoce token NAME` writes an entry") from error
    entries = {entry.sha256: entry for entry in found.token}
    if len(entries) < len(found.token):
        raise UnusableFileError(f"{path} has the same token twice: make another one with `vivavoce token`")
    return entries


def hash_of(token: str) -> str:
    """Return the hash of a token, as token files have it."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def new_token() -> str:
    """Return a new token of 256 random bits."""
    return TOKEN_PREFIX + secrets.token_urlsafe(32)


def _with_zone(moment: dt.datetime) -> dt.datetime:
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=dt.UTC)
