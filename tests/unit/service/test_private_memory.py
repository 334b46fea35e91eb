"""Shared memory of one's own, in a process of its own."""

from __future__ import annotations

import ctypes
import os
import stat
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from service.processes.private_memory import SHARED_MEMORY, isolate, why_not_isolated
from tests.without_namespaces import forbid_namespaces, namespaces_are_allowed

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux's")

needs_namespaces = pytest.mark.skipif(not namespaces_are_allowed(), reason="this machine allows no namespaces")

NOBODY = 65_534
_PR_SET_DUMPABLE = 4


def become_nobody() -> None:
    """Takes on an account without privileges, where this one has some."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        # A program that is started by such an account is so anyway.
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0)


def holds(check: Callable[[], None]) -> bool:
    """Returns whether a check of this module holds in a new process."""
    arguments = ["-m", "tests.unit.service.test_private_memory", check.__name__]
    return subprocess.run([sys.executable, *arguments], check=False, timeout=60).returncode == 0


def check_isolation() -> None:
    who = os.getresuid(), os.getresgid()
    isolate()
    assert (os.getresuid(), os.getresgid()) == who
    found = SHARED_MEMORY.stat()
    assert stat.S_IMODE(found.st_mode) == 0o700
    assert (found.st_uid, found.st_gid) == (os.geteuid(), os.getegid())
    assert list(SHARED_MEMORY.iterdir()) == []
    (SHARED_MEMORY / "vivavoce_test").write_bytes(b"text")
    room = os.statvfs(SHARED_MEMORY)
    assert room.f_blocks * room.f_frsize >= 1 << 30


def check_isolation_without_privileges() -> None:
    become_nobody()
    check_isolation()


def check_refusal() -> None:
    forbid_namespaces()
    assert why_not_isolated() == "Operation not permitted"
    with pytest.raises(PermissionError):
        isolate()


@needs_namespaces
def test_a_process_has_shared_memory_of_its_own():
    assert holds(check_isolation)
    assert not (SHARED_MEMORY / "vivavoce_test").exists()


@needs_namespaces
def test_it_takes_no_privileges():
    assert holds(check_isolation_without_privileges)


def test_what_forbids_it_is_told():
    assert holds(check_refusal)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
