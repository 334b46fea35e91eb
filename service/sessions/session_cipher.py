"""Encryption of stored sessions: AES-GCM, with a key from the environment."""

from __future__ import annotations

import base64
import binascii
import secrets
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

VARIABLE = "VIVAVOCE_SESSION_KEY"
KEY_BYTES = 32
_NONCE_BYTES = 12
_CURE = f"make one with `openssl rand -base64 {KEY_BYTES}`; several stand with commas between, the newest first"


class SessionsError(Exception):
    """Invalid configuration of sessions; the message names the cure, no secret."""


class SessionCipher:
    """Cipher with several keys: the first encrypts, each decrypts.

    Args:
        keys: of 32 bytes each, the newest first.
    """

    def __init__(self, *keys: bytes) -> None:
        # Where nothing is stored, nothing of it is loaded.
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415

        self._ciphers = [AESGCM(key) for key in keys]

    def encrypt(self, data: bytes, place: bytes) -> bytes:
        """Encrypt what is stored at a place, and bind it to that place."""
        nonce = secrets.token_bytes(_NONCE_BYTES)
        return nonce + self._ciphers[0].encrypt(nonce, data, place)

    def decrypt(self, data: bytes, place: bytes) -> bytes | None:
        """Decrypt; None: it is of another key or place, or was changed."""
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - as above

        for cipher in self._ciphers:
            try:
                return cipher.decrypt(data[:_NONCE_BYTES], data[_NONCE_BYTES:], place)
            except (InvalidTag, ValueError):
                continue
        return None


def read_cipher(environment: Mapping[str, str]) -> SessionCipher | None:
    """Read the keys from the environment; None: there are none.

    Raises:
        SessionsError: a key is not base64 of 32 bytes.
    """
    text = environment.get(VARIABLE, "").strip()
    if not text:
        return None
    keys = []
    for one in text.split(","):
        try:
            keys.append(base64.b64decode(one.strip(), validate=True))
        except (binascii.Error, ValueError) as error:
            raise SessionsError(f"{VARIABLE} is not base64: {_CURE}") from error
        if len(keys[-1]) != KEY_BYTES:
            raise SessionsError(f"a key in {VARIABLE} has {len(keys[-1])} bytes, not {KEY_BYTES}: {_CURE}")
    return SessionCipher(*keys)
