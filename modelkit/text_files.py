"""Reads the text files that users give, and says what to do where they are none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from modelkit.errors import DataError

if TYPE_CHECKING:
    from pathlib import Path


def read_text(path: Path) -> str:
    """Reads a UTF-8 file; a byte order mark at its head is dropped.

    Raises:
        DataError: there is no such file, it is empty, or it is not UTF-8; the message names the line.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}): check its name") from error
    if not content.strip():
        raise DataError(f"{path} is empty: give a file that holds data")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DataError(f"{path}, line {line}: not UTF-8 (byte {error.start}): save the file as UTF-8") from error
