"""What is found where Triton should be, on real sockets."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
from typing import TYPE_CHECKING

import pytest

from pipelines.models.shipped import SHIPPED
from pipelines.models.triton import TritonClient, diagnose, tensors
from pipelines.models.triton import diagnosis as module
from pipelines.models.triton.channel import is_local
from pipelines.models.triton.clock import TritonClock
from service.app import DEFAULT_MODEL_REPOSITORY
from tests.fake_triton import FakeTriton, serving

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


async def test_a_triton_is_found():
    async with serving(FakeTriton()) as address:
        assert await diagnose(address) is None


async def test_nobody_may_listen():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        found = await diagnose(address)
    assert found is not None
    assert found.text == f"nothing listens at Triton's address {address}: start Triton there, or check the address"
    assert not found.is_hopeless


async def test_a_server_of_something_else_is_not_waited_for():
    async with serving(None) as address:
        found = await diagnose(address)
    assert found is not None
    assert found.is_hopeless
    assert found.text == f"what listens at {address} is a gRPC server, but no Triton: name Triton's gRPC address"


async def test_a_server_that_says_that_it_is_something_else_is_not_waited_for():
    fake = FakeTriton()
    fake.name = "OpenVINO"
    async with serving(fake) as address:
        found = await diagnose(address)
    assert found is not None
    assert found.is_hopeless
    assert "is 'OpenVINO', not Triton" in found.text


async def said_by(answer: Callable[[asyncio.StreamWriter], None]) -> module.Diagnosis:
    """Returns what is found of a server that answers every connection so."""
    writers = []

    async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        answer(writer)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        found = await diagnose(f"127.0.0.1:{server.sockets[0].getsockname()[1]}")
        for writer in writers:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()
    assert found is not None
    return found


async def test_tritons_http_port_is_named():
    page = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"
    found = await said_by(lambda writer: writer.write(page))
    assert found.is_hopeless
    assert "speaks HTTP/1: name Triton's gRPC port (8001" in found.text


async def test_what_says_nothing_may_yet(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "_ANSWER_SECONDS", 0.2)
    found = await said_by(lambda _: None)
    assert not found.is_hopeless
    assert "does not answer as Triton does" in found.text


async def test_a_host_that_is_not_known_is_named(monkeypatch: pytest.MonkeyPatch):
    async def refuse(*_: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(asyncio, "open_connection", refuse)
    found = await diagnose("trition:8001")
    assert found is not None
    assert not found.is_hopeless
    assert found.text == (
        "the host of Triton's address trition:8001 is not known (Name or service not known): check its name"
    )


async def test_a_host_that_swallows_everything_is_told(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "_CONNECT_SECONDS", 0.0)
    found = await diagnose("127.0.0.1:9")
    assert found is not None
    assert "does not take connections" in found.text


async def test_sockets_are_told_apart(tmp_path: Path):
    found = await diagnose(f"unix:{tmp_path}/gone")
    assert found is not None
    assert found.text.startswith(f"there is no socket of Triton at unix:{tmp_path}/gone")
    (tmp_path / "file").touch()
    found = await diagnose(f"unix://{tmp_path}/file")
    assert found is not None
    assert found.text.startswith("nothing listens at Triton's address unix:")


async def test_a_socket_of_somebody_else_is_named(monkeypatch: pytest.MonkeyPatch):
    async def refuse(_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(asyncio, "open_unix_connection", refuse)
    found = await diagnose("unix:/tmp/closed/grpc")
    assert found is not None
    assert "is another user's" in found.text


@pytest.mark.parametrize("variable", ["http_proxy", "https_proxy", "grpc_proxy"])
async def test_the_loopback_is_never_behind_a_proxy(monkeypatch: pytest.MonkeyPatch, variable: str):
    for name in ("no_proxy", "no_grpc_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, "http://127.0.0.1:9")
    async with serving(FakeTriton()) as address:
        assert await diagnose(address) is None
        client = TritonClient(address)
        assert await client.unloaded(["asr", "x"]) == ["x"]
        await client.close()


@pytest.mark.parametrize(
    ("address", "local"),
    [
        ("unix:/run/triton", True),
        ("127.0.0.1:8001", True),
        ("127.9.9.9:8001", True),
        ("[::1]:8001", True),
        ("localhost:8001", True),
        ("192.0.2.1:8001", False),
        ("triton.example:8001", False),
        ("localhost.example:8001", False),
    ],
)
def test_what_is_local(address: str, local: bool):
    assert is_local(address) == local


def test_the_shipped_models_have_the_contract():
    for contract in SHIPPED:
        config = DEFAULT_MODEL_REPOSITORY / contract.role / "config.pbtxt"
        assert contract.tensors <= tensors(config.read_text())


async def test_deadlines_are_those_of_tritons_clock():
    fake = FakeTriton()
    fake.ahead_seconds = 3_600.0
    async with serving(fake) as address:
        client = TritonClient(address)
        due = asyncio.get_running_loop().time() + 1.0
        await client.infer("qa", [], due=due)
        # On a busy machine an answer may come before it is counted, which tells nothing.
        for _ in range(10):
            await client.compare_clocks("qa", lambda: client.infer("qa", [], due=due))
            if client.clock.ahead_seconds:
                break
        await client.infer("qa", [], due=due)
        await client.close()
    before, during, *_, after = fake.deadlines_us
    assert abs(before - during) < 1_000, "nothing is known of the clock before the answer"
    assert abs((after - before) / 1e6 - 3_600) < 5


async def test_an_answer_that_comes_before_it_is_counted_tells_no_wrong_clock():
    fake = FakeTriton()
    async with serving(fake) as address:
        client = TritonClient(address)
        await client.compare_clocks("qa", lambda: client.infer("qa", []))
        await asyncio.sleep(0.5)
        fake.late_readings = 3
        await client.compare_clocks("qa", lambda: client.infer("qa", []))
        assert client.clock.ahead_seconds == pytest.approx(0, abs=0.1)
        await client.close()


def test_a_clock_that_may_be_right_is_left_alone():
    clock = TritonClock()
    clock.compare(sent=100.0, told=100.2, received=100.5)
    assert clock.ahead_seconds == 0.0
    clock.compare(sent=100.0, told=101.2, received=100.4)
    assert clock.ahead_seconds == pytest.approx(1.0, abs=0.01)
    known = clock.ahead_seconds
    # A slow answer says less than what is known.
    clock.compare(sent=200.0, told=202.0, received=205.0)
    assert clock.ahead_seconds == known
    assert clock.deadline_us(1.0) == round(1e6 * (1.0 + known))
    clock.compare(sent=300.0, told=300.0, received=300.0)
    assert clock.ahead_seconds == pytest.approx(0.0, abs=0.001)
