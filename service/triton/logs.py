"""Hands Triton's own log lines on to Python's logging, at their own level."""

from __future__ import annotations

import logging
import re

logger = logging.getLogger("vivavoce.triton")

_LINE = re.compile(r"^(?P<level>[IWEF])\d{4} [\d:.]+ \d+ (?P<place>[\w.]+:\d+)\] (?P<text>.*)$")
_LEVELS = {"I": logging.DEBUG, "W": logging.WARNING, "E": logging.ERROR, "F": logging.CRITICAL}

# What Triton says on every machine without a GPU: it looks for one, and finds none.
_NO_GPU = re.compile(r"CUDA|DCGM|GPU|cuda|Unable to (allocate pinned|destroy DcgmHandle)|memory manager")


def relay(line: str) -> None:
    """Logs one line of Triton's output.

    Triton's information is ours for debugging; a line that is not in its format comes from a Python model and is
    kept as a warning, since models are silent unless something is wrong.
    """
    line = line.rstrip()
    if not line:
        return
    match = _LINE.match(line)
    if match is None:
        level = logging.DEBUG if line[0] in "+|" else logging.WARNING
        logger.log(level, "%s", line)
        return
    level, text = _LEVELS[match["level"]], match["text"].strip('"')
    if level == logging.WARNING and _NO_GPU.search(text):
        level = logging.DEBUG
    logger.log(level, "%s", text)
