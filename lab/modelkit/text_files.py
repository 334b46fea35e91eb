"""Reads the text files that users give, and says what to do where they are none."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING

from modelkit.errors import DataError

if TYPE_CHECKING:
    from pathlib import Path


def read_text(path: Path, *, name: str | None = None) -> str:
    """Reads a UTF-8 file; a byte order mark at its head is dropped.

    Args:
        path: the file.
        name: what the messages call it; the path if None. A member unpacked from an archive has a name of its own.

    Raises:
        DataError: there is no such file, it is empty, or it is not UTF-8; the message names the line.
    """
    shown = str(path) if name is None else name
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"{shown} cannot be read ({error.strerror}): check its name") from error
    encoded = content.removeprefix(codecs.BOM_UTF8)
    try:
        text = encoded.decode("utf-8")
    except UnicodeDecodeError as error:
        line = encoded.count(b"\n", 0, error.start) + 1
        start = len(content) - len(encoded) + error.start
        raise DataError(f"{shown}, line {line}: not UTF-8 (byte {start}): save the file as UTF-8") from error
    if not text.strip():
        raise DataError(f"{shown} is empty: give a file that holds data")
    return text
