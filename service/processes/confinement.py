"""Confinement of a program to needed files, ports, capabilities and memory.

Linux's Landlock (landlock(7), ABI 1 to 7) takes the rest away, without privileges and for good, from this process and
from all that it starts. What a kernel does not know of it is left out.

Standard library only: it is used by scripts that run without any package.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import resource
import struct
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_RULE_PATH_BENEATH, _RULE_NET_PORT = 1, 2
_VERSION_FLAG = 1
_PR_SET_NO_NEW_PRIVS, _PR_CAPBSET_DROP = 38, 24
_CAP_DAC_READ_SEARCH = 2
"""Root reads files of every account, and so do the models that it serves; all else that root can do is dropped."""
_LAST_CAPABILITY = Path("/proc/sys/kernel/cap_last_cap")

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_REMOVE_DIR, _REMOVE_FILE, _MAKE_DIR = 1 << 4, 1 << 5, 1 << 7
_TRUNCATE, _IOCTL_DEV = 1 << 14, 1 << 15
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_SCRATCH = _READ_DIR | _MAKE_DIR | _REMOVE_DIR | _REMOVE_FILE
"""The C library's remove() tries to remove a folder as a file first."""
_RIGHTS_BY_ABI = (0, (1 << 13) - 1, (1 << 14) - 1, (1 << 15) - 1, (1 << 15) - 1, (1 << 16) - 1)
"""Rights to files that each ABI knows: it refuses those that it does not."""
_ABI_NETWORK, _ABI_SCOPES = 4, 6
_BIND_TCP, _CONNECT_TCP = 1 << 0, 1 << 1
_SCOPE_ABSTRACT_SOCKETS, _SCOPE_SIGNALS = 1 << 0, 1 << 1


@dataclass(frozen=True, slots=True)
class Confinement:
    """Rights of a confined program.

    Attributes:
        listed: folders whose names it may list, with all below them.
        readable: files and folders that it may read and execute, with all below them. What is not there is passed over.
        writable: those that it may also write, and in which it may make files.
        scratch: folders in which it may make folders, and list and remove what is there, but not write files.
        ports: TCP ports on which it may listen; it connects to none.
        memory_bytes: most memory of its own that each of its processes may have (``RLIMIT_DATA``); None for as much as
            there is.
    """

    listed: tuple[str, ...] = ()
    readable: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    scratch: tuple[str, ...] = ()
    ports: tuple[int, ...] = ()
    memory_bytes: int | None = None

    def to_json(self) -> str:
        """Return it as :meth:`from_json` reads it."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Confinement:
        """Read what :meth:`to_json` wrote."""
        given = json.loads(text)
        memory = given.pop("memory_bytes")
        return cls(**{name: tuple(items) for name, items in given.items()}, memory_bytes=memory)


def landlock_abi() -> int:
    """Return which version of Landlock this system has; 0 for none."""
    if not hasattr(os, "O_PATH"):
        return 0
    return max(0, _syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION_FLAG)))


def confine(limits: Confinement) -> None:
    """Confine this process to ``limits``. It must have one thread.

    Raises:
        OSError: the system refuses.
    """
    if limits.memory_bytes is not None:
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        most = limits.memory_bytes if hard == resource.RLIM_INFINITY else min(limits.memory_bytes, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    _drop_capabilities()
    _check(ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    if abi := landlock_abi():
        _restrict(limits, abi)


def _restrict(limits: Confinement, abi: int) -> None:
    handled = _RIGHTS_BY_ABI[min(abi, len(_RIGHTS_BY_ABI) - 1)]
    network = _BIND_TCP | _CONNECT_TCP if abi >= _ABI_NETWORK else 0
    scoped = _SCOPE_ABSTRACT_SOCKETS | _SCOPE_SIGNALS if abi >= _ABI_SCOPES else 0
    attributes = struct.pack("=QQQ", handled, network, scoped)
    size = 24 if scoped else 16 if network else 8
    rules = _syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(size), ctypes.c_uint32(0))
    _check(rules, "landlock_create_ruleset")
    try:
        for paths, rights in (
            (limits.listed, _READ_DIR),
            (limits.readable, _READ),
            (limits.writable, handled),
            (limits.scratch, _SCRATCH),
        ):
            _allow_paths(rules, paths, rights & handled)
        if network:
            for port in limits.ports:
                rule = struct.pack("=QQ", _BIND_TCP, port)
                _check(_add_rule(rules, _RULE_NET_PORT, rule), f"a rule for port {port}")
        _check(_syscall(_RESTRICT_SELF, ctypes.c_int(rules), ctypes.c_uint32(0)), "landlock_restrict_self")
    finally:
        os.close(rules)


def _allow_paths(rules: int, paths: Iterable[str], rights: int) -> None:
    for path in paths:
        try:
            file = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError as error:
            if error.errno in {errno.ENOENT, errno.ENOTDIR, errno.EACCES}:
                continue
            raise
        try:
            allowed = rights if Path(path).is_dir() else rights & _OF_FILES
            if allowed:
                _check(_add_rule(rules, _RULE_PATH_BENEATH, struct.pack("=Qi", allowed, file)), f"a rule for {path}")
        finally:
            os.close(file)


def _drop_capabilities() -> None:
    """Drop root's capabilities, except reading every file."""
    if os.geteuid() != 0 or not _LAST_CAPABILITY.exists():
        return
    libc = ctypes.CDLL(None, use_errno=True)
    for capability in range(int(_LAST_CAPABILITY.read_text()) + 1):
        # Who may not drop them, as in many containers, has few.
        if capability != _CAP_DAC_READ_SEARCH and libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0) != 0:
            return


def _add_rule(rules: int, kind: int, rule: bytes) -> int:
    return _syscall(_ADD_RULE, ctypes.c_int(rules), ctypes.c_int(kind), rule, ctypes.c_uint32(0))


def _syscall(number: int, *arguments: object) -> int:
    return int(ctypes.CDLL(None, use_errno=True).syscall(ctypes.c_long(number), *arguments))


def _check(result: int, what: str) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
