"""JSON Web Tokens (RFC 7519), verified by the keys of a JWKS file (RFC 7517)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jwt

from service.security.principal import Principal, PrincipalLimits
from service.security.watched_file import UnusableFileError, WatchedFiles, warn_if_writable

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Signatures by public keys alone: a shared secret in a JWKS file would let its readers make tokens (RFC 8725)."""

LEEWAY_SECONDS = 30
"""By how much the clocks of issuer and service may differ."""

_MAX_TIME = 1 << 40
_REASONS: dict[type[Exception], str] = {
    jwt.ExpiredSignatureError: "the JWT has expired",
    jwt.ImmatureSignatureError: "the JWT is not good yet",
    jwt.InvalidAudienceError: "the JWT is for another audience",
    jwt.InvalidIssuerError: "the JWT comes from another issuer",
    jwt.InvalidAlgorithmError: "the JWT is signed with an algorithm that is not allowed",
    jwt.InvalidSignatureError: "the signature of the JWT is wrong",
}


class JwtVerifier:
    """Verifies JWTs.

    Args:
        keys: a JWKS file, which is read anew when it changes.
        issuer: the claim ``iss`` that a JWT must have.
        audience: what must be among its ``aud``.
        limits: how much each of their holders may have.

    Raises:
        OSError: the file cannot be read.
        UnusableFileError: it holds no key that can be used.
    """

    def __init__(self, keys: Path, issuer: str, audience: str, limits: PrincipalLimits) -> None:
        self._issuer, self._audience = issuer, audience
        self._limits = limits
        self._keys = WatchedFiles([keys], lambda: _read_keys(keys))

    def find(self, token: str) -> tuple[Principal | None, str]:
        """Return whose token it is; None and why it is not good otherwise."""
        try:
            key = self._key_of(token)
            if key is None:
                return None, "the JWT is signed with a key that is unknown here"
            claims = self._claims(token, key)
        except jwt.MissingRequiredClaimError as error:
            return None, f"the JWT lacks the claim {error.claim!r}"
        except jwt.PyJWTError as error:
            known = (reason for kind, reason in _REASONS.items() if isinstance(error, kind))
            return None, next(known, "the JWT cannot be read")
        if not str(claims["sub"]).strip():
            return None, "the claim 'sub' of the JWT is empty"
        expires = float(min(int(claims["exp"]), _MAX_TIME)) + LEEWAY_SECONDS
        return Principal(str(claims["sub"]), "jwt", self._limits, self._watch(token), expires), ""

    def _watch(self, token: str) -> Callable[[], bool]:
        """Return what tells whether the key of a JWT is still there.

        One that expires in the middle of a call does not end it. It is verified again when the keys have changed:
        each time would take too long for thousands of secrets.
        """
        seen, good = self._keys.get(), True

        def holds() -> bool:
            nonlocal seen, good
            if (keys := self._keys.get()) is not seen:
                seen, good = keys, self._holds(token)
            return good

        return holds

    def _holds(self, token: str) -> bool:
        try:
            key = self._key_of(token)
            return key is not None and bool(self._claims(token, key, expires=False))
        except jwt.PyJWTError:
            return False

    def _claims(self, token: str, key: jwt.PyJWK, *, expires: bool = True) -> dict[str, Any]:
        claims: dict[str, Any] = jwt.decode(
            token,
            key.key,
            algorithms=[key.algorithm_name] if key.algorithm_name in ALGORITHMS else [],
            audience=self._audience,
            issuer=self._issuer,
            leeway=LEEWAY_SECONDS,
            options={"require": ["exp", "sub", "aud", "iss"], "verify_exp": expires},
        )
        return claims

    def _key_of(self, token: str) -> jwt.PyJWK | None:
        keys = self._keys.get()
        identifier = jwt.get_unverified_header(token).get("kid")
        if identifier is None:
            return keys[0] if len(keys) == 1 else None
        return next((key for key in keys if key.key_id == identifier), None)


def looks_like_jwt(token: str) -> bool:
    """Return whether a token has the three parts of a signed JWT."""
    return token.count(".") == 2


def _read_keys(path: Path) -> list[jwt.PyJWK]:
    """Return the public keys of a JWKS file.

    Raises:
        UnusableFileError: there is none.
    """
    try:
        warn_if_writable(path)
        found = jwt.PyJWKSet.from_json(path.read_text(encoding="utf-8")).keys
    except (jwt.PyJWTError, ValueError, AttributeError, TypeError) as error:
        raise UnusableFileError(f"{path} is no JWKS file: {error}") from error
    keys = [key for key in found if key.algorithm_name in ALGORITHMS]
    if not keys:
        raise UnusableFileError(f"{path} has no public key for one of {', '.join(ALGORITHMS)}: add one")
    return keys
