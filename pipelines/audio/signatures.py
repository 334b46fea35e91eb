"""Audio formats by their first bytes."""

from __future__ import annotations

import re
from typing import Final

from pipelines.audio.mpeg_frames import read_frame_header

MAX_SIGNATURE_BYTES: Final = 16
"""What tells every format but those that are frames alone, which need two of them."""

_DOT_ALL = re.DOTALL
_SIGNATURES: Final = (
    ("WAV", re.compile(rb"(RIFF|RF64|BW64)....WAVE", _DOT_ALL)),
    ("Wave64", re.compile(rb"riff\x2e\x91\xcf\x11")),
    ("FLAC", re.compile(rb"fLaC")),
    ("Ogg", re.compile(rb"OggS")),
    ("WebM", re.compile(rb"\x1a\x45\xdf\xa3")),
    ("MP4", re.compile(rb"....(ftyp|styp|moov)", _DOT_ALL)),
    ("AIFF", re.compile(rb"FORM....AIF[FC]", _DOT_ALL)),
    ("CAF", re.compile(rb"caff\x00\x01")),
    ("AMR", re.compile(rb"#!AMR")),
    ("AVI", re.compile(rb"RIFF....AVI ", _DOT_ALL)),
    ("Windows Media (ASF)", re.compile(rb"\x30\x26\xb2\x75\x8e\x66\xcf\x11")),
    ("Sun AU", re.compile(rb"\.snd\x00\x00")),
    ("MIDI", re.compile(rb"MThd\x00\x00\x00\x06")),
    ("Monkey's Audio", re.compile(rb"MAC [\x00-\xff]\x0f")),
    ("WavPack", re.compile(rb"wvpk....[\x00-\x20]\x04", _DOT_ALL)),
    ("Flash video", re.compile(rb"FLV\x01")),
    ("Speex without a container", re.compile(rb"Speex   1")),
    ("PDF", re.compile(rb"%PDF-")),
    ("a ZIP archive", re.compile(rb"PK\x03\x04")),
    ("gzip", re.compile(rb"\x1f\x8b\x08[\x00-\x1f]....[\x00\x02\x04]", _DOT_ALL)),
    ("a web page", re.compile(rb"<(!DOCTYPE html|html)", re.IGNORECASE)),
)


def name_of(begun: bytes, *, whole: bool) -> str | None:
    """Return the name of what audio is; "" where nothing tells.

    Args:
        begun: how it begins, without tags.
        whole: whether that is all of it.

    Returns:
        None where more must come first.
    """
    for name, signature in _SIGNATURES:
        if signature.match(begun):
            return name
    first = read_frame_header(begun)
    if first is not None:
        if len(begun) >= first.frame_bytes + 4:
            second = read_frame_header(begun[first.frame_bytes :])
            return first.name if second is not None and second.follows(first) else ""
        return "" if whole else None
    return "" if whole or len(begun) >= MAX_SIGNATURE_BYTES else None
