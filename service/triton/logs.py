"""Hands Triton's own log lines on to Python's logging, at their own level."""

from __future__ import annotations

import logging
import re

logger = logging.getLogger("vivavoce.triton")

_LINE = re.compile(r"^(?P<level>[IWEF])\d{4} [\d:.]+ \d+ (?P<place>[\w.]+:\d+)\] ?(?P<text>.*)$")
_LEVELS = {"I": logging.DEBUG, "W": logging.WARNING, "E": logging.ERROR, "F": logging.CRITICAL}

# What Triton says on every machine without a GPU: it looks for one, and finds none.
_NO_GPU = re.compile(
    r"CUDA|Cuda|cuda|DCGM|GPU|[Uu]nable to (allocate pinned|destroy DcgmHandle)|pinned memory|memory manager"
)


def relay(line: str) -> int:
    """Logs one line of Triton's output; returns the level that it was logged at.

    Triton's information is ours for debugging; a line that is not in its format comes from a Python model and is
    kept as a warning, since models are silent unless something is wrong.
    """
    match = _LINE.match(line)
    text = match["text"].strip('"') if match else line.rstrip()
    level = _LEVELS[match["level"]] if match else _level_of_other(text)
    if level in {logging.WARNING, logging.ERROR} and _NO_GPU.search(text):
        level = logging.DEBUG
    logger.log(level, "%s", text)
    return level


def _level_of_other(text: str) -> int:
    """Triton draws tables, and ends with ``error:`` when it cannot start."""
    if not text or text[0] in "+|":
        return logging.DEBUG
    return logging.ERROR if text.startswith("error:") else logging.WARNING
