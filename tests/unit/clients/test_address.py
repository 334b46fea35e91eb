"""Addresses: which are on this machine, and where models are managed."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from typing import TYPE_CHECKING

import click
import pytest

import vivavoce
from service.grpc_server.admin_socket import default_path
from vivavoce._address import admin_target, check_socket, is_local
from vivavoce.cli.options import check_address

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("target", "local"),
    [
        ("localhost:50051", True),
        ("LOCALHOST:50051", True),
        ("127.0.0.1:50051", True),
        ("127.3.2.1", True),
        ("[::1]:50051", True),
        ("[::ffff:127.0.0.1]:50051", True),
        ("0.0.0.0:50051", True),
        ("[::]:50051", True),
        ("unix:/run/vivavoce.sock", True),
        ("unix:///run/vivavoce.sock", True),
        ("dns:///localhost:50051", True),
        ("ipv4:127.0.0.1:50051", True),
        ("ipv6:[::1]:50051", True),
        ("ipv6:%5B::1%5D:50051", True),
        ("192.0.2.7:50051", False),
        ("[2001:db8::1]:50051", False),
        ("localhost.example.org:50051", False),
        ("vivavoce:50051", False),
        ("dns:///127.example.org:50051", False),
        ("", False),
    ],
)
def test_this_machine_is_told_from_others(target: str, local: bool):
    assert is_local(target) is local


@pytest.mark.parametrize("address", ["localhost:50051", "[::1]:50051", "unix:/run/v.sock", "dns:///example.org:1"])
def test_addresses_are_taken(address: str):
    assert check_address(click.Context(click.Command("x")), click.Option(["--server"]), address) == address


@pytest.mark.parametrize(
    ("address", "cure"),
    [("::1:50051", "brackets"), ("localhost", "HOST:PORT"), ("localhost:65536", "HOST:PORT"), ("unix:", "unix:/PATH")],
)
def test_what_is_no_address_is_refused(address: str, cure: str):
    with pytest.raises(click.BadParameter, match=cure):
        check_address(click.Context(click.Command("x")), click.Option(["--server"]), address)


@pytest.mark.parametrize("runtime", [True, False])
def test_the_command_looks_where_the_service_has_its_socket(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, runtime: bool
):
    if runtime:
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    else:
        monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    assert admin_target("localhost:50077") == f"unix:{default_path('50077')}"


def test_a_socket_that_is_there_goes_before_one_that_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A service that was started where no desktop is has its socket in another folder."""
    with socket.socket(socket.AF_UNIX) as there:
        monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
        port = os.getpid() + 65_536
        path = default_path(str(port))
        path.parent.mkdir(mode=0o700, exist_ok=True)
        there.bind(str(path))
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
        try:
            assert admin_target(f"localhost:{port}") == f"unix:{path}"
        finally:
            path.unlink()


def test_a_socket_that_was_named_is_taken_and_another_machine_is_not():
    assert admin_target("unix:/run/admin.sock") == "unix:/run/admin.sock"
    with pytest.raises(vivavoce.InvalidRequest, match="on its own machine"):
        admin_target("192.0.2.7:50051")


def test_a_socket_that_is_not_there_is_told_with_the_cure(tmp_path: Path):
    with pytest.raises(vivavoce.ServerUnavailable, match="--no-admin"):
        check_socket(f"unix:{tmp_path}/none.sock")


def test_a_socket_of_another_user_is_told_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "admin.sock").touch()
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(vivavoce.AccessDenied, match="the user who runs the server"):
        check_socket(f"unix:{tmp_path}/admin.sock")


CALLS = """
import asyncio, sys, vivavoce
from service.grpc_server.probe import serves
from vivavoce._connection import open_channel, reach

async def connect(target):
    channel = open_channel(target)
    try:
        await reach(channel, target, 5.0)
    finally:
        await channel.close(None)

for target in sys.argv[1:]:
    asyncio.run(connect(target))
    assert serves(target)
"""

SERVER = """
import asyncio, sys, grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

async def main():
    server = grpc.aio.server()
    servicer = health.aio.HealthServicer()
    health_pb2_grpc.add_HealthServicer_to_server(servicer, server)
    await servicer.set("", health_pb2.HealthCheckResponse.SERVING)
    port = server.add_insecure_port("127.0.0.1:0")
    server.add_insecure_port(sys.argv[1])
    await server.start()
    print(port, flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await server.stop(None)

asyncio.run(main())
"""


@pytest.mark.parametrize("variable", ["http_proxy", "https_proxy", "grpc_proxy"])
def test_a_proxy_of_the_environment_is_not_asked_for_this_machine(tmp_path: Path, variable: str):
    with socket.socket() as dead:
        dead.bind(("127.0.0.1", 0))
        proxy = f"http://127.0.0.1:{dead.getsockname()[1]}"
        clean = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
        unix = f"unix:{tmp_path}/s.sock"
        server = subprocess.Popen(
            [sys.executable, "-c", SERVER, unix], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        try:
            port = server.stdout.readline().strip()
            targets = [f"127.0.0.1:{port}", f"localhost:{port}", unix]
            done = subprocess.run(
                [sys.executable, "-c", CALLS, *targets],
                env=clean | {variable: proxy},
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
            assert done.returncode == 0, done.stderr
        finally:
            server.communicate()
