"""Callers who mean no good, and what others notice of them: a real service, attacked from processes of their own."""

from __future__ import annotations

import asyncio
import contextlib
import re
import resource
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import grpc
import pytest
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

import vivavoce
from service.grpc_server.first_messages import FirstMessages
from service.grpc_server.listening import MAX_STREAMS_OF_CONNECTION, listen, server_options
from service.grpc_server.message_gate import MessageGate
from service.processes.child_process import listening
from tests.robustness.hostile.attacks import ASK
from tests.robustness.hostile.raw_http2 import HEADERS, Attacker, silent_connection

if TYPE_CHECKING:
    import socket
    from collections.abc import AsyncIterator, Iterator

SECONDS = 4.0
PATIENCE_SECONDS = 1.5
"""What others may wait at most: five times what the service is measured with, for machines that are busy otherwise."""
MAX_BYTES = 1 << 30
LIMITED = """
import resource, runpy, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (1024, int(sys.argv[1])))
sys.argv[:2] = ["vivavoce"]
runpy.run_module("vivavoce", run_name="__main__")
"""


@dataclass(frozen=True)
class Service:
    """A service that runs."""

    address: str
    pid: int
    log: Path

    def peak_bytes(self) -> int:
        """How much memory it has had at most."""
        status = Path(f"/proc/{self.pid}/status").read_text(encoding="ascii")
        return 1024 * int(re.search(r"VmHWM:\s+(\d+) kB", status)[1])


@contextlib.contextmanager
def served(triton: str, folder: Path, hard_limit: int) -> Iterator[Service]:
    """Serves with a soft limit of 1,024 files."""
    options = ["--max-conversations", "64", "--triton", triton]
    arguments = ["-c", LIMITED, str(hard_limit), "serve", "--port", "0", *options]
    with listening(arguments, folder / "log.txt") as (process, address):
        yield Service(address, process.pid, folder / "log.txt")


@pytest.fixture(scope="module")
def service(triton_address: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    with served(triton_address, tmp_path_factory.mktemp("service"), hard) as running:
        yield running


@contextlib.asynccontextmanager
async def attacked(address: str, attack: str, seconds: float = SECONDS) -> AsyncIterator[None]:
    """Attacks while the body runs, which must take less time than the attack does."""
    command = [sys.executable, "-m", "tests.robustness.hostile.attacks", address, attack, str(seconds)]
    process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        assert await process.stdout.readline() == b"attacking\n"
        yield
        assert process.returncode is None, "the attack ended before the others were done"
        _, said = await process.communicate()
        assert process.returncode == 0, said.decode()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def waits_of_others(address: str, seconds: float = SECONDS - 1) -> list[float]:
    """Asks and converses over a connection that was there before and over new ones; returns how long each turn took."""
    waits: list[float] = []
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds
    async with vivavoce.connect(address) as known:
        while loop.time() < until:
            began = loop.time()
            await known.ask("turn on the light")
            waits.append(loop.time() - began)
            began = loop.time()
            async with vivavoce.connect(address) as new:
                turns = [vivavoce.TypedTurn("turn off the light")]
                events = [event async for event in new.converse(turns, audio=None)]
            assert any(isinstance(event, vivavoce.Reply) for event in events)
            waits.append(loop.time() - began)
            await asyncio.sleep(0.05)
    return waits


@pytest.mark.parametrize(
    "attack", ["silent-streams", "rapid-resets", "half-messages", "gzip-bombs", "silent-connections"]
)
async def test_others_are_answered_while_the_service_is_attacked(service: Service, attack: str):
    async with attacked(service.address, attack):
        waits = await waits_of_others(service.address)
    assert len(waits) > 2
    assert max(waits) < PATIENCE_SECONDS
    assert service.peak_bytes() < MAX_BYTES
    assert service.log.stat().st_size < 1 << 20


async def test_others_are_answered_where_the_files_are_few(triton_address: str, tmp_path: Path):
    with served(triton_address, tmp_path, 1024) as service:
        async with attacked(service.address, "silent-connections"):
            waits = await waits_of_others(service.address)
    assert len(waits) > 2
    assert max(waits) < PATIENCE_SECONDS


def test_a_request_that_does_not_come_whole_is_refused_in_time_for_others(service: Service):
    """One connection has a share of the calls that may wait; the longest of them makes place."""
    attacker = Attacker.connected(service.address)
    try:
        first = attacker.open_call(ASK)
        for _ in range(40):
            attacker.open_call(ASK)
        frames = attacker.read(1.0)
        ended = {stream: data for kind, _, stream, data in frames if kind == HEADERS}
        assert b"too many calls wait" in ended[first]
        assert len(ended) > 20
    finally:
        attacker.close()


async def test_compressed_requests_are_refused_and_told_why(service: Service):
    async with grpc.aio.insecure_channel(service.address, compression=grpc.Compression.Gzip) as channel:
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(service=1000 * "x"))
    assert refused.value.code() is grpc.StatusCode.UNIMPLEMENTED
    assert "gzip" in refused.value.details()
    assert "gzip" not in service.log.read_text()


async def test_more_calls_than_a_connection_may_have_wait_for_their_turn(service: Service):
    async with grpc.aio.insecure_channel(service.address) as channel:
        await channel.channel_ready()
        stub = health_pb2_grpc.HealthStub(channel)
        checks = [stub.Check(health_pb2.HealthCheckRequest()) for _ in range(5 * MAX_STREAMS_OF_CONNECTION)]
        answers = await asyncio.gather(*checks)
    assert len(answers) == 5 * MAX_STREAMS_OF_CONNECTION


@pytest.mark.parametrize("speaks", [True, False])
async def test_connections_of_clients_that_hang_are_closed(speaks: bool):
    """With a hundredth of the time that the service gives them; they read nothing and acknowledge nothing."""
    gate = MessageGate(FirstMessages())
    server = grpc.aio.server(options=server_options(8, keepalive_ms=200, patience_ms=100), interceptors=[gate])
    health_pb2_grpc.add_HealthServicer_to_server(health.aio.HealthServicer(), server)
    address, _ = listen(server, "127.0.0.1", 0)
    await server.start()
    try:
        hung = Attacker.connected(address).connection if speaks else silent_connection(address)
        with hung:
            assert await asyncio.to_thread(_ends, hung)
    finally:
        await server.stop(None)


def _ends(connection: socket.socket) -> bool:
    """Reads until the other side closes; fails where that takes ten seconds."""
    connection.settimeout(10.0)
    with contextlib.suppress(ConnectionResetError):
        while connection.recv(1 << 16):
            pass
    return True
