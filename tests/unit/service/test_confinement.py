"""What a confined program can still do, and what it cannot."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from service.processes.bound_program import bound
from service.processes.confinement import Confinement, landlock_abi

if TYPE_CHECKING:
    from pathlib import Path

PYTHON = (sys.prefix, sys.base_prefix, "/usr", "/lib", "/lib64", "/proc", "/etc/ld.so.cache")
NETWORK_ABI = 4
SCOPES_ABI = 6

with_landlock = pytest.mark.skipif(landlock_abi() < 1, reason="this system has no Landlock")


def run(code: str, **left: object) -> str:
    """Runs a Python program that is confined; returns what it prints, its last error where it fails."""
    limits = Confinement(readable=(*PYTHON, *left.pop("readable", ())), **left)
    done = subprocess.run(
        bound([sys.executable, "-I", "-S", "-c", code], confinement=limits),
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    return done.stdout.strip() or done.stderr.strip().rpartition("\n")[2]


@with_landlock
def test_files_are_read_only_where_that_is_allowed(tmp_path: Path):
    for name in ("mine", "secret"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    read = f"print(open('{tmp_path}/%s/file').read())"
    assert run(read % "mine", readable=(str(tmp_path / "mine"),)) == "mine"
    assert run(read % "secret", readable=(str(tmp_path / "mine"),)).startswith("PermissionError")
    # A link from an allowed folder leads to no file beyond it.
    (tmp_path / "mine" / "link").symlink_to(tmp_path / "secret")
    assert run(read % "mine/link", readable=(str(tmp_path / "mine"),)).startswith("PermissionError")


@with_landlock
def test_files_are_written_only_where_that_is_allowed(tmp_path: Path):
    write = f"print(open('{tmp_path}/%s/new', 'w').write('x'))"
    for name in ("mine", "other"):
        (tmp_path / name).mkdir()
    assert run(write % "mine", writable=(str(tmp_path / "mine"),)) == "1"
    assert run(write % "other", readable=(str(tmp_path),)).startswith("PermissionError")
    assert [path.name for path in (tmp_path / "other").iterdir()] == []


@with_landlock
def test_folders_alone_are_made_in_a_scratch_folder(tmp_path: Path):
    code = f"import os; os.mkdir('{tmp_path}/a'); os.rmdir('{tmp_path}/a'); print('made')"
    assert run(code, scratch=(str(tmp_path),)) == "made"
    assert run(f"open('{tmp_path}/b', 'w')", scratch=(str(tmp_path),)).startswith("PermissionError")


@with_landlock
def test_names_are_listed_without_what_is_in_them(tmp_path: Path):
    (tmp_path / "secret").write_text("secret")
    assert run(f"import os; print(os.listdir('{tmp_path}'))", listed=(str(tmp_path),)) == "['secret']"
    assert run(f"open('{tmp_path}/secret')", listed=(str(tmp_path),)).startswith("PermissionError")


@pytest.mark.skipif(landlock_abi() < NETWORK_ABI, reason="this system's Landlock knows no network")
def test_it_listens_on_its_port_alone_and_connects_to_none():
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        listen = "import socket; socket.create_server(('127.0.0.1', %d)); print('listens')"
        assert run(listen % port, ports=(port,)) == "listens"
        assert run(listen % port).startswith("PermissionError")
        connect = f"import socket; socket.create_connection(('127.0.0.1', {listener.getsockname()[1]}))"
        assert run(connect, ports=(port,)).startswith("PermissionError")


@pytest.mark.skipif(landlock_abi() < SCOPES_ABI, reason="this system's Landlock keeps no signals back")
def test_it_cannot_end_who_started_it():
    assert run(f"import os; os.kill({os.getpid()}, 0)").startswith("PermissionError")


def test_memory_of_its_own_is_bounded():
    assert run("bytearray(1 << 29)", memory_bytes=1 << 28, listed=("/",), readable=("/",)) == "MemoryError"
    assert run("print(len(bytearray(1 << 26)))", memory_bytes=1 << 28, readable=("/",)) == str(1 << 26)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has capabilities to lose")
def test_root_is_left_with_reading_files():
    status = run("print(open('/proc/self/status').read())")
    rights = dict(line.split(":\t") for line in status.splitlines() if ":\t" in line)
    assert int(rights["CapPrm"], 16) in {0, 1 << 2}
    assert rights["NoNewPrivs"] == "1"


def test_what_is_not_there_is_passed_over(tmp_path: Path):
    assert run("print('runs')", writable=(str(tmp_path / "nothing"),)) == "runs"


def test_limits_come_back_from_json():
    limits = Confinement(("/a",), ("/b", "/c"), ("/d",), ("/e",), (8002,), 1 << 30)
    assert Confinement.from_json(limits.to_json()) == limits
