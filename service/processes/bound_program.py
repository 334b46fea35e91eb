"""Program bound to its parent's life: ``bound_program.py PARENT PROGRAM …``.

The kernel is asked for that here, in the process that will be the program, and not by a function between fork and exec:
for such a one gRPC's own handlers of a fork run too, and end one child in ten while calls are under way.

A script of the standard library's, so that no more than a bare Python has to come up, wherever it is run.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from service.processes.confinement import Confinement

_PR_SET_PDEATHSIG = 1
_BEHIND, _PRIVATE_MEMORY, _CONFINED = "--behind", "--private-memory", "--confined"
_NOT_FOUND = 127
"""The exit status that shells give where there is no such program."""


def bound(
    command: Sequence[str],
    *,
    behind: bool = False,
    private_memory: bool = False,
    confinement: Confinement | None = None,
) -> list[str]:
    """Return the command that becomes ``command``, bound to the calling thread.

    Args:
        command: the program and its arguments.
        behind: whether it gets the cores after others: see ``service.processes.scheduling.run_behind``.
        private_memory: whether it gets shared memory of its own: see ``service.processes.private_memory.isolate``.
        confinement: what it is left with; None for everything.
    """
    flags = [*([_BEHIND] if behind else []), *([_PRIVATE_MEMORY] if private_memory else [])]
    if confinement is not None:
        flags += [_CONFINED, confinement.to_json()]
    return [sys.executable, "-I", "-S", __file__, str(os.getpid()), *flags, *command]


def die_with(parent: int) -> None:
    """Ask the kernel for SIGTERM when the parent dies (Linux only).

    Ends the process at once where the parent, which has this process id, died before the kernel was asked.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        os._exit(1)


def _main(parent: str, *command: str) -> None:
    sys.path.insert(0, str(Path(__file__).parent.parent.parent))
    if command[0] == _BEHIND:
        command = command[1:]
        from service.processes.scheduling import run_behind  # noqa: PLC0415 - found only now

        run_behind()
    if command[0] == _PRIVATE_MEMORY:
        command = command[1:]
        from service.processes.private_memory import isolate  # noqa: PLC0415

        try:
            isolate()
        except OSError as error:
            sys.exit(f"there is no shared memory for {command[0]} alone: {error.strerror}")
    if command[0] == _CONFINED:
        _, limits, *rest = command
        command = tuple(rest)
        from service.processes.confinement import Confinement, confine  # noqa: PLC0415

        try:
            confine(Confinement.from_json(limits))
        except OSError as error:
            sys.exit(f"{command[0]} cannot be confined: {error.strerror}; --no-confine does without")
    # A change of namespaces takes back what the kernel was asked for.
    die_with(int(parent))
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):
        # Python ignores them for itself, and what is ignored stays so in the program that it becomes.
        signal.signal(ignored, signal.SIG_DFL)
    try:
        os.execvp(command[0], command)  # noqa: S606 - the caller's own command
    except OSError as error:
        sys.stderr.write(f"{command[0]} cannot be started: {error.strerror}\n")
        sys.exit(_NOT_FOUND)


if __name__ == "__main__":
    _main(*sys.argv[1:])
