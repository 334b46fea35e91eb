"""File that is read again on change, for secrets."""

from __future__ import annotations

import logging
import stat
import time
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

logger = logging.getLogger(__name__)

_T = TypeVar("_T")

CHECK_SECONDS = 1.0
"""How often at most the file system is asked whether files have changed."""


def warn_if_writable(path: Path) -> None:
    """Warn of a file that others may write: they could let themselves in.

    Raises:
        OSError: there is no such file.
    """
    mode = path.stat().st_mode
    if mode & (stat.S_IWGRP | stat.S_IWOTH):
        logger.warning("%s may be written by others than its owner: chmod go-w %s", path, path)


class UnusableFileError(ValueError):
    """Unusable file; the message names it and the cure."""


class WatchedFiles(Generic[_T]):
    """Contents of watched files; an unusable change is logged and ignored.

    May be asked from several threads.

    Args:
        paths: the files.
        read: makes their value; raises OSError or UnusableFileError where that cannot be done.
        clock: monotonic, in seconds.

    Raises:
        OSError: a file cannot be read.
        UnusableFileError: what stands in one cannot be used.
    """

    def __init__(
        self, paths: Sequence[Path], read: Callable[[], _T], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._paths = tuple(paths)
        self._read = read
        self._clock = clock
        self._seen = self._states()
        self._checked = clock()
        self._value = read()

    def get(self) -> _T:
        """Return the present value."""
        if self._clock() - self._checked >= CHECK_SECONDS:
            self._checked = self._clock()
            self._look()
        return self._value

    def _look(self) -> None:
        try:
            states = self._states()
            if states == self._seen:
                return
            self._seen = states
            self._value = self._read()
        except (OSError, UnusableFileError) as error:
            logger.warning("%s changed and cannot be used, so what was there before counts on: %s", self._names, error)
        else:
            logger.info("%s changed and was read anew", self._names)

    def _states(self) -> list[tuple[int, int, int]]:
        found = (path.stat() for path in self._paths)
        return [(state.st_mtime_ns, state.st_ino, state.st_size) for state in found]

    @property
    def _names(self) -> str:
        return " and ".join(str(path) for path in self._paths)
