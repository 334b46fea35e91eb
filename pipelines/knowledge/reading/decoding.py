"""Decodes the bytes of text files."""

from __future__ import annotations

import codecs
import re

from pipelines.knowledge.reading.parsed import UnreadableDocumentError

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_FALLBACK = "cp1252"
"""Encoding of texts that are not UTF-8 and do not say what they are, as browsers take it."""
_UNPRINTABLE = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_MAX_UNPRINTABLE_SHARE = 0.001


def decode(data: bytes, declared: str | None = None) -> str:
    """Decode a text file: byte order mark, UTF-8, declared, Windows-1252.

    Args:
        data: the file.
        declared: encoding that the file names itself; None: it names none.

    Raises:
        UnreadableDocumentError: the file is no text.
    """
    text = _decoded(data, declared)
    unprintable = len(_UNPRINTABLE.findall(text))
    if unprintable > _MAX_UNPRINTABLE_SHARE * len(text):
        raise UnreadableDocumentError(
            "NOT_TEXT", "it holds bytes that are no text: save it as plain text in UTF-8, or leave it out"
        )
    return _UNPRINTABLE.sub("", text)


def _decoded(data: bytes, declared: str | None) -> str:
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode(_known(declared), "replace")


def _known(declared: str | None) -> str:
    """Return Python's name of an encoding; the fallback for unknown ones."""
    try:
        name = codecs.lookup(declared or _FALLBACK).name
        "a".encode(name)
    except LookupError:
        return _FALLBACK
    return name
