"""Private shared memory: a ``/dev/shm`` of this process's own.

Triton's Python backend makes its segments readable for every account, whatever the umask (boost::interprocess calls
fchmod). In a mount namespace of its own, with mode 0700, nobody else finds them, and they go with the last process.

Standard library only: it is used by scripts that run without any package.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - where Linux keeps POSIX shared memory

_CLONE_NEWNS, _CLONE_NEWUSER = 0x00020000, 0x10000000
_MS_NOSUID, _MS_NODEV, _MS_REC, _MS_PRIVATE = 0x2, 0x4, 0x4000, 0x40000
_MIN_BYTES = 1 << 30


def isolate() -> None:
    """Give this process and its children their own ``/dev/shm``. Single-threaded.

    Without CAP_SYS_ADMIN it takes a user namespace, in which user and group stay what they are.

    Raises:
        OSError: the system does not allow it, as in many containers.
    """
    # The user's part of the memory is bounded as it was, or by 1 GiB where that was less.
    size = _size_bytes()
    user, group = os.geteuid(), os.getegid()
    try:
        _call("unshare", _CLONE_NEWNS)
    except PermissionError:
        _call("unshare", _CLONE_NEWUSER | _CLONE_NEWNS)
        Path("/proc/self/setgroups").write_bytes(b"deny")
        Path("/proc/self/uid_map").write_bytes(b"%d %d 1" % (user, user))
        Path("/proc/self/gid_map").write_bytes(b"%d %d 1" % (group, group))
    # Else what is mounted here would be mounted for everybody.
    _call("mount", b"none", b"/", None, _MS_REC | _MS_PRIVATE, None)
    target, options = os.fsencode(SHARED_MEMORY), f"mode=0700,size={size}".encode()
    _call("mount", b"tmpfs", target, b"tmpfs", _MS_NOSUID | _MS_NODEV, options)


def why_not_isolated() -> str | None:
    """Try :func:`isolate` in a child; return why it fails, None if it works."""
    child = os.fork()
    if not child:
        try:
            isolate()
        except OSError as error:
            os._exit(error.errno or 255)
        except BaseException:  # noqa: BLE001 - nothing of the parent's may run here
            os._exit(255)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return None if status == 0 else os.strerror(status) if status > 0 else f"signal {-status}"


def close_to_others(path: Path) -> None:
    """Remove other accounts' rights to a segment of this user's, if there."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return
    try:
        found = os.fstat(file)
        if found.st_uid == os.geteuid() and found.st_mode & 0o077:
            os.fchmod(file, 0o600)
    finally:
        os.close(file)


def _size_bytes() -> int:
    """Return the size for ``/dev/shm``: the system's, at least 1 GiB."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        system = os.statvfs(SHARED_MEMORY)
        here = system.f_frsize * system.f_blocks
    except OSError:
        here = 0
    return max(here, min(_MIN_BYTES, memory // 2))


def _call(name: str, *arguments: object) -> None:
    """Call a function of the C library that returns 0 where it works."""
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
