"""Hands Triton's own log lines on to Python's logging, at their own level."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

logger = logging.getLogger("vivavoce.triton")

_LINE = re.compile(r"^(?P<level>[IWEF])\d{4} [\d:.]+ \d+ (?P<place>[\w.]+:\d+)\] ?(?P<text>.*)$")
_LEVELS = {"I": logging.DEBUG, "W": logging.WARNING, "E": logging.ERROR, "F": logging.CRITICAL}

_STOPPED = re.compile(r"Signal \(\d+\) received\.$")

# How the sentences begin that Triton says on every machine without a GPU: it looks for one, and finds none. Further on,
# the same words stand in the reason why a model that needs a GPU does not load.
_NO_GPU = re.compile(
    r"(CUDA|Pinned) memory pool disabled"
    r"|CUDA driver"
    r"|unable to create stream for \w+: CUDA driver version"
    r"|(CudaDriverHelper|CudaMemoryManager|PinnedMemoryManager) "
    r"|Cannot get CUDA device count"
    r"|unable to get number of CUDA devices"
    r"|Failed to (initialize|finalize) CUDA memory manager"
    r"|[Uu]nable to allocate pinned system memory"
    r"|failed to allocate pinned system memory"
    r"|failed to enable peer access"
    r"|Unable to (destroy|shutdown|stop) (DCGM|Dcgm)"
    r"|(DCGM unable to|Cannot find DCGM|error initializing DCGM|error polling GPU metrics|GPU metrics will not be) "
)


def relay(line: str) -> int:
    """Log one line of Triton's output; return the level that it was logged at.

    Triton's information is ours for debugging; a line that is not in its format comes from a Python model and is
    kept as a warning, since models are silent unless something is wrong.
    """
    match = _LINE.match(line)
    text = _text(line, match)
    level = _LEVELS[match["level"]] if match else _level_of_other(text)
    if match and level in {logging.WARNING, logging.ERROR} and _NO_GPU.match(text):
        level = logging.DEBUG
    logger.log(level, "%s", text)
    return level


def reason(lines: Sequence[str]) -> str:
    """Pick the complaint that says why Triton ended."""
    said = [line for line in lines if line.startswith("error:")] or lines
    return _text(said[-1], _LINE.match(said[-1])) if said else "it gave no reason"


def _text(line: str, match: re.Match[str] | None) -> str:
    return match["text"].strip('"') if match else line.rstrip()


def _level_of_other(text: str) -> int:
    """Return the level of other lines: tables and the shutdown are details."""
    if not text or text[0] in "+|" or _STOPPED.match(text):
        return logging.DEBUG
    return logging.ERROR if text.startswith("error:") else logging.WARNING
