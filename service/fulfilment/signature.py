"""Signatures of webhooks by Standard Webhooks: HMAC-SHA256."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac

MIN_SECRET_BYTES = 16
ENCODED = "whsec_"
"""Prefix of a secret that is written in base64."""


def secret_of(text: str) -> bytes:
    """Read a secret: base64 behind ``whsec_``, else the text itself.

    Raises:
        ValueError: it is no base64, or too short; the message says what to do.
    """
    if text.startswith(ENCODED):
        try:
            secret = base64.b64decode(text.removeprefix(ENCODED), validate=True)
        except binascii.Error:
            raise ValueError(f"is no base64 behind {ENCODED}: write it anew") from None
    else:
        secret = text.encode()
    if len(secret) < MIN_SECRET_BYTES:
        raise ValueError(f"has {len(secret)} bytes: write {MIN_SECRET_BYTES} at least, such as `openssl rand -hex 32`")
    return secret


def signature_headers(secret: bytes, key: str, timestamp: int, body: bytes) -> dict[str, str]:
    """Return the headers that prove where a request comes from.

    Args:
        secret: known to both sides.
        key: idempotency key of the request.
        timestamp: Unix time in seconds.
        body: of the request.
    """
    signed = b".".join((key.encode(), str(timestamp).encode(), body))
    signature = base64.b64encode(hmac.digest(secret, signed, hashlib.sha256)).decode()
    return {"webhook-id": key, "webhook-timestamp": str(timestamp), "webhook-signature": f"v1,{signature}"}
