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
from service.triton.served_models import DEFAULT_MODEL_REPOSITORY
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


async def test_deadlines_are_durations_by_a_steady_clock():
    fake = FakeTriton()
    now = asyncio.get_running_loop().time
    async with serving(fake) as address:
        client, another = TritonClient(address, clock=lambda: 7.0), TritonClient(address, clock=lambda: 8.0)
        began = now()
        await client.infer("qa", [], due=began + 1.0)
        await client.infer("qa", [], due=began + 2.0)
        await another.infer("qa", [], due=began - 1.0)
        await another.infer("qa", [])
        took = now() - began
        await asyncio.gather(client.close(), another.close())
    *told, nothing = fake.parameters
    for parameters, most, sent in zip(told, (1.0, 2.0, -1.0), (7.0, 7.0, 8.0), strict=True):
        assert most - took <= parameters["useful_us"].int64_param / 1e6 <= most
        assert parameters["sent_us"].int64_param == 1e6 * sent
    senders = [parameters["sender"].string_param for parameters in told]
    assert senders[0] == senders[1] != senders[2]
    assert nothing == {}
