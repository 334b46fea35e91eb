"""Ctrl-C while something is under way that must not end anywhere."""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType, TracebackType
    from typing import Self


class Interruption:
    """Notes the first SIGINT instead of raising, so that work can end where it can be gone on with.

    A second SIGINT raises :class:`KeyboardInterrupt` at once, as does the end of the body after a first one that
    nobody asked about. Use it as a context manager. Signals come to the main thread alone: in another one nothing is
    ever noted, and neither where the caller handles SIGINT itself or ignores it.
    """

    def __init__(self) -> None:
        self._asked = self._handles = False

    @property
    def asked(self) -> bool:
        """Whether there was one."""
        return self._asked

    def __enter__(self) -> Self:
        in_main_thread = threading.current_thread() is threading.main_thread()
        self._handles = in_main_thread and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if self._handles:
            signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        if self._handles:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        if self._asked and kind is None:
            raise KeyboardInterrupt

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        self._asked = True
        signal.signal(signal.SIGINT, signal.default_int_handler)
