"""Shared memory of one's own, in a child of this process."""

from __future__ import annotations

import ctypes
import os
import stat
import sys
import traceback
from typing import TYPE_CHECKING

import pytest

from service.private_memory import SHARED_MEMORY, isolate, why_not_isolated
from tests.without_namespaces import forbid_namespaces

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux's")

needs_namespaces = pytest.mark.skipif(
    sys.platform == "linux" and why_not_isolated() is not None, reason="this machine allows no namespaces"
)

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


def in_a_child(check: Callable[[], None]) -> bool:
    """Returns whether a check holds in a child of this process's."""
    child = os.fork()
    if not child:
        status = 1
        try:
            check()
            status = 0
        except BaseException:  # noqa: BLE001 - nothing of the parent's may run here
            traceback.print_exc()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


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


@needs_namespaces
def test_a_process_has_shared_memory_of_its_own():
    assert in_a_child(check_isolation)
    assert not (SHARED_MEMORY / "vivavoce_test").exists()


@needs_namespaces
def test_it_takes_no_privileges():
    def check() -> None:
        become_nobody()
        check_isolation()

    assert in_a_child(check)


def test_what_forbids_it_is_told():
    def check() -> None:
        forbid_namespaces()
        assert why_not_isolated() == "Operation not permitted"
        with pytest.raises(PermissionError):
            isolate()

    assert in_a_child(check)
