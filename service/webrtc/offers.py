"""Offers of clients in SDP (RFC 8866), checked before a port is opened."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

from aiortc.sdp import SessionDescription

from pipelines.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_OFFER_BYTES = 64 << 10
"""A browser's has 6 KiB with audio, and 15 with a camera."""
MAX_LINES = 1_000
MAX_CANDIDATES = 64
OPUS = "audio/opus"
_CANDIDATE = "a=candidate:"
_ADDRESS, _PROTOCOL, _CANDIDATE_FIELDS = 4, 2, 8


def checked_offer(text: str) -> str:
    """Return an offer that can be answered, without candidates of names.

    Raises:
        InvalidInputError: it is none, or offers what is not served.
    """
    if len(text.encode()) > MAX_OFFER_BYTES:
        raise _bad("OFFER_TOO_LARGE", f"the offer has over {MAX_OFFER_BYTES >> 10} KiB: offer one audio track")
    lines = text.splitlines()
    if not lines or lines[0].strip() != "v=0":
        raise _bad("MALFORMED_OFFER", "the offer is no SDP: send what createOffer() returns")
    if len(lines) > MAX_LINES:
        raise _bad("OFFER_TOO_LARGE", f"the offer has over {MAX_LINES:,} lines: offer one audio track")
    _check_kinds([line[2:].partition(" ")[0] for line in lines if line.startswith("m=")])
    candidates = [line for line in lines if line.startswith(_CANDIDATE)]
    if len(candidates) > MAX_CANDIDATES:
        raise _bad("OFFER_TOO_LARGE", f"the offer has over {MAX_CANDIDATES} candidates: send fewer")
    kept = "\r\n".join(line for line in lines if not line.startswith(_CANDIDATE) or _is_address(line)) + "\r\n"
    try:
        _check(SessionDescription.parse(kept))
    except InvalidInputError:
        raise
    except Exception as error:  # what the parser raises is whatever it stumbles over
        raise _bad("MALFORMED_OFFER", "the offer is no whole SDP: send what createOffer() returns") from error
    return kept


def _check_kinds(kinds: Sequence[str]) -> None:
    others = [kind for kind in kinds if kind not in {"audio", "application"}]
    if others:
        raise _bad("UNSUPPORTED_MEDIA", f"{others[0][:40]} is not served: offer one audio track and a data channel")
    if kinds.count("audio") != 1 or kinds.count("application") > 1:
        raise _bad("UNSUPPORTED_MEDIA", "the offer has not one audio track, or two data channels: offer one of each")


def _check(offer: SessionDescription) -> None:
    (audio,) = (media for media in offer.media if media.kind == "audio")
    codecs = [codec.mimeType.lower() for codec in audio.rtp.codecs]
    if OPUS not in codecs:
        there = ", ".join(dict.fromkeys(name.partition("/")[2][:20] for name in codecs[:8])) or "none"
        raise _bad("UNSUPPORTED_CODEC", f"the offer's codecs are not served ({there}): offer Opus")
    if len({media.rtp.muxId for media in offer.media}) < len(offer.media):
        raise _bad("MALFORMED_OFFER", "two parts of the offer have one name (a=mid): send what createOffer() returns")
    for media in offer.media:
        proves = media.dtls is not None and media.dtls.fingerprints
        if not proves or media.ice is None or not (media.ice.usernameFragment and media.ice.password):
            raise _bad("MALFORMED_OFFER", "the offer lacks a fingerprint, or ICE's name and password: send all of it")


def _is_address(line: str) -> bool:
    """Return whether a candidate is a UDP port of an address.

    Names of hosts are not looked up for callers.
    """
    fields = line.removeprefix(_CANDIDATE).split()
    if len(fields) < _CANDIDATE_FIELDS or fields[_PROTOCOL].lower() != "udp":
        return False
    try:
        ipaddress.ip_address(fields[_ADDRESS])
    except ValueError:
        return False
    return True


def _bad(reason: str, message: str) -> InvalidInputError:
    return InvalidInputError("sdp", reason, message)
