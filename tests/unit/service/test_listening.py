"""Where the service listens, and how it says that it cannot."""

from __future__ import annotations

import contextlib
import os
import resource
import socket
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import grpc
import pytest

import vivavoce
from service.addresses import AddressInUseError, ListenError
from service.grpc_server import server_ports
from service.grpc_server.admin_socket import UnsafeFolderError, default_path, listen_for_admin
from service.grpc_server.doors import Doors
from service.grpc_server.server_ports import listen, raise_file_limit

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


def has_ipv6() -> bool:
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET6) as probe:
        probe.bind(("::1", 0))
        return True
    return False


needs_ipv6 = pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6")


@pytest.fixture
async def server() -> AsyncIterator[grpc.aio.Server]:
    server = grpc.aio.server()
    yield server
    await server.stop(None)


@contextlib.asynccontextmanager
async def listening_on(host: str, port: int = 0) -> AsyncIterator[str]:
    server = grpc.aio.server()
    address, _ = listen(server, host, port)
    await server.start()
    try:
        yield address
    finally:
        await server.stop(None)


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "localhost",
        "0.0.0.0",
        pytest.param("::1", marks=needs_ipv6),
        pytest.param("[::1]", marks=needs_ipv6),
        pytest.param("::", marks=needs_ipv6),
        "unix:{folder}/callers.sock",
    ],
)
async def test_the_address_that_is_told_is_one_to_connect_to(host: str, tmp_path: Path):
    async with listening_on(host.format(folder=tmp_path)) as address, vivavoce.connect(address) as client:
        with pytest.raises(vivavoce.Incompatible):  # It is connected; nothing is served there.
            await client.ask("hello")


@pytest.mark.parametrize(
    ("host", "said"),
    [
        ("no-such-host.invalid", "there is no host 'no-such-host.invalid': give --host"),
        ("192.0.2.7", "cannot listen on 192.0.2.7:.*: give --host an address that this machine has"),
        ("unix:/no/such/folder/s.sock", "there is no folder /no/such/folder"),
        ("unix:/tmp/" + 120 * "x", "too long for a Unix socket"),
    ],
)
async def test_where_nobody_can_listen_it_is_said_why(server: grpc.aio.Server, host: str, said: str):
    with pytest.raises(ListenError, match=said):
        listen(server, host, 0)


async def test_an_address_that_is_taken_is_told_as_such(server: grpc.aio.Server, tmp_path: Path):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        with pytest.raises(AddressInUseError, match="choose another --port"):
            listen(server, "127.0.0.1", other.getsockname()[1])
    host = f"unix:{tmp_path}/callers.sock"
    async with listening_on(host):
        with pytest.raises(AddressInUseError, match="choose another path"):
            listen(server, host, 0)


async def test_the_socket_of_a_service_that_was_killed_is_replaced_and_a_file_is_not(
    server: grpc.aio.Server, tmp_path: Path
):
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(tmp_path / "s.sock"))
    async with listening_on(f"unix:{tmp_path}/s.sock"):
        pass
    (tmp_path / "file").write_text("precious")
    with pytest.raises(ListenError, match="is there, and no socket"):
        listen(server, f"unix:{tmp_path}/file", 0)
    assert (tmp_path / "file").read_text() == "precious"


async def test_the_socket_for_models_is_its_users_alone(server: grpc.aio.Server, tmp_path: Path):
    path = tmp_path / "runtime" / "admin.sock"
    listen_for_admin(server, path, makes_folder=True)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("mode", [0o750, 0o707, 0o777])
async def test_a_folder_of_others_is_not_trusted(server: grpc.aio.Server, tmp_path: Path, mode: int):
    (tmp_path / "runtime").mkdir()
    (tmp_path / "runtime").chmod(mode)
    with pytest.raises(UnsafeFolderError, match="chmod 700"):
        listen_for_admin(server, tmp_path / "runtime" / "admin.sock", makes_folder=True)
    assert not (tmp_path / "runtime" / "admin.sock").exists()


async def test_a_link_to_a_folder_is_not_trusted(server: grpc.aio.Server, tmp_path: Path):
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (tmp_path / "runtime").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UnsafeFolderError):
        listen_for_admin(server, tmp_path / "runtime" / "admin.sock", makes_folder=True)


async def test_a_socket_that_was_asked_for_is_not_put_where_others_can_replace_it(
    server: grpc.aio.Server, tmp_path: Path
):
    os.chmod(tmp_path, 0o777)  # noqa: PTH101 - as a blocking call pathlib's is refused in a coroutine
    with pytest.raises(UnsafeFolderError, match="chmod go-w"):
        listen_for_admin(server, tmp_path / "admin.sock", makes_folder=False)


async def test_a_service_does_without_the_default_socket_where_it_cannot_be_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    path = default_path("0")
    path.parent.mkdir(mode=0o755)
    doors = Doors("127.0.0.1", 0)
    await doors.open_to_admin({}, None)
    assert "models cannot be managed" in caplog.text
    with pytest.raises(ListenError):
        await doors.open_to_admin({}, path.parent / "missing" / "admin.sock")
    await doors.close()


async def test_two_services_do_not_take_the_socket_from_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    first, second = Doors("127.0.0.1", 0), Doors("127.0.0.1", 0)
    await first.open_to_admin({}, None)
    await second.open_to_admin({}, None)
    assert caplog.text.count("models cannot be managed") == 1
    await first.close()
    assert not default_path("0").exists()
    await second.open_to_admin({}, None)
    assert default_path("0").is_socket()
    await second.close()


@pytest.mark.parametrize(("hard", "connections"), [(1024, 896), (128, 64), (1 << 20, 16_384), (-1, 16_384)])
def test_connections_are_bounded_by_the_files_that_there_are(
    monkeypatch: pytest.MonkeyPatch, hard: int, connections: int
):
    limits = [(64, hard)]
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits[-1])
    monkeypatch.setattr(resource, "setrlimit", lambda _, both: limits.append(both))
    assert raise_file_limit() == connections
    assert limits[-1] == (hard, hard)


def test_a_file_limit_that_cannot_be_raised_is_lived_with(monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: object) -> None:
        raise ValueError("not allowed to raise maximum limit")

    monkeypatch.setattr(resource, "getrlimit", lambda _: (1024, 4096))
    monkeypatch.setattr(resource, "setrlimit", refuse)
    assert raise_file_limit() == 896


@pytest.mark.skipif(not hasattr(socket, "TCP_DEFER_ACCEPT"), reason="Linux alone defers silent connections")
async def test_the_kernel_keeps_silent_connections(server: grpc.aio.Server):
    _, port = listen(server, "127.0.0.1", 0)
    await server.start()
    server_ports.defer_silent_connections(port)
    assert deferred_seconds(port) > 0


def deferred_seconds(port: int) -> int:
    """For how long the kernel keeps a connection to a port of this process on which nothing is said."""
    for path in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError), socket.socket(fileno=os.dup(int(path.name))) as candidate:
            listens = candidate.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
            if listens and candidate.getsockname()[1:2] == (port,):
                return candidate.getsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT)
    raise AssertionError("nobody listens")
