"""JWTs: whose they are, and why they are not good."""

import base64
import json
import time
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from service.security.jwt import LEEWAY_SECONDS, JwtVerifier, looks_like_jwt
from service.security.principal import NO_LIMITS, Principal
from service.security.watched_file import UnusableFileError

KEYS = {
    "RS256": (rsa.generate_private_key(65537, 2048), jwt.algorithms.RSAAlgorithm),
    "ES256": (ec.generate_private_key(ec.SECP256R1()), jwt.algorithms.ECAlgorithm),
    "EdDSA": (ed25519.Ed25519PrivateKey.generate(), jwt.algorithms.OKPAlgorithm),
}


def jwk(algorithm: str) -> dict[str, Any]:
    key, kind = KEYS[algorithm]
    return json.loads(kind.to_jwk(key.public_key())) | {"kid": algorithm, "alg": algorithm, "use": "sig"}


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    path = tmp_path / "keys.json"
    path.write_text(json.dumps({"keys": [jwk(algorithm) for algorithm in KEYS]}))
    return path


@pytest.fixture
def verifier(keys: Path) -> JwtVerifier:
    return JwtVerifier(keys, "https://issuer.example", "vivavoce", NO_LIMITS)


def claims(**changes: object) -> dict[str, Any]:
    now = int(time.time())
    good = {"iss": "https://issuer.example", "aud": "vivavoce", "sub": "kiosk", "exp": now + 600, "iat": now}
    return {name: value for name, value in (good | changes).items() if value is not None}


def signed(algorithm: str = "RS256", kid: str | None = None, **changes: object) -> str:
    return jwt.encode(claims(**changes), KEYS[algorithm][0], algorithm, headers={"kid": kid or algorithm})


@pytest.mark.parametrize("algorithm", KEYS)
def test_a_good_jwt_tells_its_principal(verifier: JwtVerifier, algorithm: str):
    token = signed(algorithm, aud=["other", "vivavoce"])
    assert looks_like_jwt(token)
    assert verifier.find(token) == (Principal("kiosk", "jwt", NO_LIMITS), "")


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"exp": int(time.time()) - 60}, "the JWT has expired"),
        ({"nbf": int(time.time()) + 86_400}, "the JWT is not good yet"),
        ({"aud": "another"}, "the JWT is for another audience"),
        ({"iss": "https://another.example"}, "the JWT comes from another issuer"),
        ({"exp": None}, "the JWT lacks the claim 'exp'"),
        ({"sub": None}, "the JWT lacks the claim 'sub'"),
        ({"sub": ""}, "the claim 'sub' of the JWT is empty"),
        ({"sub": " "}, "the claim 'sub' of the JWT is empty"),
        ({"aud": None}, "the JWT lacks the claim 'aud'"),
        ({"kid": "unknown"}, "the JWT is signed with a key that is unknown here"),
        ({"kid": "ES256"}, "the JWT is signed with an algorithm that is not allowed"),
    ],
)
def test_why_a_jwt_is_not_good(verifier: JwtVerifier, changes: dict[str, Any], why: str):
    assert verifier.find(signed(**changes)) == (None, why)


def test_a_jwt_holds_as_long_as_its_key_is_there(verifier: JwtVerifier, keys: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("service.security.watched_file.CHECK_SECONDS", 0.0)
    soon = int(time.time()) - LEEWAY_SECONDS + 1
    principal, other = verifier.find(signed(exp=soon))[0], verifier.find(signed("ES256"))[0]
    assert principal is not None
    assert principal.holds is not None
    assert other is not None
    assert other.holds is not None
    assert principal.expires == soon + LEEWAY_SECONDS
    time.sleep(1.5)
    assert principal.holds(), "an open call outlives a JWT, which lasts minutes"
    keys.write_text(json.dumps({"keys": [jwk("ES256")]}))
    assert (principal.holds(), other.holds()) == (False, True)


def test_another_key_under_a_known_name_is_refused(verifier: JwtVerifier):
    other = rsa.generate_private_key(65537, 2048)
    token = jwt.encode(claims(), other, "RS256", headers={"kid": "RS256"})
    assert verifier.find(token) == (None, "the signature of the JWT is wrong")


def test_a_jwt_without_signature_is_refused(verifier: JwtVerifier):
    token = jwt.encode(claims(), "", "none", headers={"kid": "RS256"})
    assert verifier.find(token)[0] is None


def test_the_public_key_is_no_shared_secret(verifier: JwtVerifier, keys: Path):
    # The attack of RFC 8725, section 2.1: HMAC with what everybody knows.
    header, body = (
        base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()
        for part in ({"alg": "HS256", "kid": "RS256"}, claims())
    )
    secret = jwt.algorithms.HMACAlgorithm(jwt.algorithms.HMACAlgorithm.SHA256)
    signature = secret.sign(f"{header}.{body}".encode(), keys.read_bytes())
    token = f"{header}.{body}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"
    assert verifier.find(token) == (None, "the JWT is signed with an algorithm that is not allowed")


@pytest.mark.parametrize("token", ["a.b.c", "..", "é.é.é", "a" * 8000])
def test_what_is_no_jwt_is_refused(verifier: JwtVerifier, token: str):
    assert verifier.find(token) == (None, "the JWT cannot be read")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"keys": []}', '{"keys": [{"kty": "oct", "k": "c2VjcmV0"}]}'])
def test_a_file_without_public_keys_is_refused(tmp_path: Path, text: str):
    path = tmp_path / "keys.json"
    path.write_text(text)
    with pytest.raises(UnusableFileError, match=r"is no JWKS file|has no public key"):
        JwtVerifier(path, "issuer", "audience", NO_LIMITS)


def test_one_key_needs_no_name(tmp_path: Path):
    path = tmp_path / "keys.json"
    path.write_text(json.dumps({"keys": [jwk("ES256")]}))
    verifier = JwtVerifier(path, "https://issuer.example", "vivavoce", NO_LIMITS)
    token = jwt.encode(claims(), KEYS["ES256"][0], "ES256")
    assert verifier.find(token)[0] == Principal("kiosk", "jwt", NO_LIMITS)
