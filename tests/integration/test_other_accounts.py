"""What other accounts of the machine see of a service's Triton: nothing."""

from __future__ import annotations

import errno
import multiprocessing
import os
import re
import socket
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from tests.integration.triton_processes import family, run_folder, tritonserver
from tests.without_namespaces import namespaces_are_allowed

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

    from tests.integration.conftest import Service

NOBODY = 65_534
EXPOSED = "other accounts on this machine may look into Triton's shared memory"

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can take on another account")


@pytest.fixture(params=["full_service", "bare_service"], ids=["private memory", "without namespaces"])
def service(request: pytest.FixtureRequest, full_service: Service) -> subprocess.Popen:
    """The service that all tests share, and one where Linux gives no namespaces either."""
    found: Service = request.getfixturevalue(request.param)
    is_exposed = found is not full_service or not namespaces_are_allowed()
    assert (EXPOSED in found.log.read_text()) == is_exposed
    return found.process


def _answer(question: Callable[..., object], arguments: tuple[object, ...], answers: multiprocessing.Queue) -> None:
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    answers.put(question(*arguments))


def as_nobody(question: Callable[..., object], *arguments: object) -> object:
    """Returns what a function finds out in a process of another account."""
    # A fork would run gRPC's handlers, and this process has a server of it.
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    child = context.Process(target=_answer, args=(question, arguments, answers))
    child.start()
    answer = answers.get(timeout=60)
    child.join(30)
    return answer


def _why_not_connected(path: str) -> int:
    with socket.socket(socket.AF_UNIX) as caller:
        return caller.connect_ex(path)


def _readable(paths: list[str]) -> list[str]:
    found = []
    for path in paths:
        try:
            with Path(path).open("rb") as file:
                file.read(1)
        except OSError:
            continue
        found.append(path)
    return found


@as_root
def test_no_other_account_can_speak_with_triton(service: subprocess.Popen):
    (path,) = run_folder(service).glob("grpc:*")
    assert _why_not_connected(str(path)) == 0
    assert as_nobody(_why_not_connected, str(path)) == errno.EACCES


def test_triton_listens_on_no_port_but_one_that_tells_its_metrics(service: subprocess.Popen):
    servers = [tritonserver(service), *tritonserver(service).children(recursive=True)]
    assert len(servers) > 5
    connections = [connection for server in servers for connection in server.net_connections("inet")]
    wanted = re.findall(r"--metrics-port=(\d+)", " ".join(servers[0].cmdline()))
    assert bool(wanted) == ("--metrics-port" in service.args)
    assert {str(each.laddr.port) for each in connections if each.status == psutil.CONN_LISTEN} == set(wanted)
    assert {each.laddr.ip for each in connections} <= {"127.0.0.1"}


@as_root
def test_no_other_account_can_read_the_shared_memory(service: subprocess.Popen):
    server = tritonserver(service)
    folders = {Path("/dev/shm"), *(Path("/proc", str(process.pid), "root/dev/shm") for process in family(service))}
    segments = [str(path) for folder in folders for path in folder.glob(f"vivavoce_{run_folder(service).name[-8:]}_*")]
    assert len(segments) >= 8
    assert sorted(_readable(segments)) == sorted(segments)
    assert as_nobody(_readable, segments) == []
    mapped = [region.path for region in server.memory_maps(grouped=False) if "vivavoce_" in region.path]
    assert mapped, "Triton keeps its segments elsewhere"


def test_the_run_folder_is_the_users_alone(service: subprocess.Popen):
    assert stat.S_IMODE(run_folder(service).stat().st_mode) == 0o700
    assert psutil.Process(service.pid).uids().real == run_folder(service).stat().st_uid
