"""Becomes a program to which Linux refuses namespaces, as containers do: ``without_namespaces.py PROGRAM ARGUMENT…``.

A seccomp filter answers unshare(2) with EPERM, for the program and all that it starts.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import subprocess
import sys

_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 38, 22, 2
_LOAD_WORD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_UNSHARE = {"x86_64": 272, "aarch64": 97}


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def forbid_namespaces() -> None:
    """Has Linux refuse unshare(2) to this process from now on."""
    rules = b"".join(
        struct.pack("HBBI", *rule)
        for rule in (
            (_LOAD_WORD, 0, 0, 0),  # the number of the system call
            (_JUMP_IF_EQUAL, 0, 1, _UNSHARE[platform.machine()]),
            (_RETURN, 0, 0, _ERRNO | errno.EPERM),
            (_RETURN, 0, 0, _ALLOW),
        )
    )
    libc = ctypes.CDLL(None, use_errno=True)
    program = _Program(len(rules) // 8, rules)
    refused = libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(
        _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0
    )
    if refused:
        raise OSError(ctypes.get_errno(), "there is no seccomp here")


def namespaces_are_allowed() -> bool:
    """Whether this machine gives a process namespaces of its own."""
    # A new process: in one that is forked from this one gRPC may have threads, which Linux refuses them.
    code = "import sys; from service.processes.private_memory import why_not_isolated; sys.exit(why_not_isolated())"
    return subprocess.run([sys.executable, "-c", code], check=False, capture_output=True).returncode == 0


if __name__ == "__main__":
    forbid_namespaces()
    os.execv(sys.argv[1], sys.argv[1:])
