"""Scheduling priority of the service over its models.

All of this is Linux's; elsewhere nothing is changed.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys

TURN_SECONDS = 1e-4
"""The shortest turn at a core that Linux gives; its own are one to three milliseconds."""

_BEHIND = 5
"""Niceness: processes of this get a third of what those of 0 get, where both want all of a core.

Where Linux shares the cores among sessions first (sched(7), "The autogroup feature"), niceness counts inside a session
alone. The session itself stays as others are: with a niceness of its own the models would get a third of what each
other program gets, and replies were late beside two or three of them (issue 51)."""
_ATTRIBUTES = struct.Struct("=IIQiIQQQ")
"""``struct sched_attr`` of sched_setattr(2): size, policy, flags, niceness, priority, runtime, deadline, period."""
_SCHED_SETATTR = {"x86_64": 314, "aarch64": 274}
"""Numbers of the system call, which few C libraries have a function for."""
_LIBC = ctypes.CDLL(None)
_REAL_TIME = {os.SCHED_FIFO, os.SCHED_RR} if sys.platform == "linux" else set[int]()


class RealTimeRefusedError(OSError):
    """The system gives no real-time priority to this process."""

    def __init__(self) -> None:
        super().__init__(
            "the system gives no real-time priority: grant CAP_SYS_NICE or `ulimit -r 1`, or leave out --real-time"
        )


def run_ahead() -> bool:
    """Ask for short time slices, for this thread and all that it starts.

    Since Linux 6.12 whoever asks for a shorter turn than the one that runs need not wait until that has had its own
    (Zijlstra, "sched/eevdf: Allow shorter slices to wakeup-preempt"). Older ones take no notice.

    Returns:
        Whether Linux has taken it in.
    """
    return _ask_for_turns(TURN_SECONDS)


def run_as_usual() -> bool:
    """Take :func:`run_ahead` back; return what that does."""
    return _ask_for_turns(0)


def run_in_real_time() -> None:
    """Ask for real-time priority, for this thread and all that it starts.

    The lowest real-time priority is enough: whatever runs without one gives way at once, and those who have it take
    turns (``SCHED_RR``, sched(7)). Takes CAP_SYS_NICE, or a limit RLIMIT_RTPRIO above 0.

    Raises:
        RealTimeRefusedError: the system does not allow it.
    """
    if sys.platform != "linux":
        raise RealTimeRefusedError
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(os.sched_get_priority_min(os.SCHED_RR)))
    except OSError as error:
        raise RealTimeRefusedError from error


def run_behind() -> None:
    """Give the calling process low priority and ordinary time slices."""
    if sys.platform == "linux" and os.sched_getscheduler(0) in _REAL_TIME:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    os.nice(_BEHIND)
    run_as_usual()


def _ask_for_turns(seconds: float) -> bool:
    """Ask for turns of this length, or of the usual one with 0."""
    if sys.platform != "linux":
        return False
    number = _SCHED_SETATTR.get(os.uname().machine)
    if number is None or os.sched_getscheduler(0) != os.SCHED_OTHER:
        # Whoever chose another policy, such as one for real time, is to keep it.
        return False
    niceness = os.getpriority(os.PRIO_PROCESS, 0)
    attributes = _ATTRIBUTES.pack(_ATTRIBUTES.size, os.SCHED_OTHER, 0, niceness, 0, round(seconds * 1e9), 0, 0)
    # Some sandboxes forbid it; it is no more than a wish.
    return bool(_LIBC.syscall(number, 0, attributes, 0) == 0)
