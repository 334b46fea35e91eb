"""A Triton that is not there, is not one, or is another one, and a clock that is off."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from pipelines.errors import ModelError
from pipelines.models.triton import TritonClient, TritonIntents
from service.processes.child_process import SERVE
from tests.fake_triton import FakeTriton, serving

if TYPE_CHECKING:
    from pathlib import Path


async def said_and_status(address: str) -> tuple[str, int]:
    """Runs a service until it ends; returns the last line that it said, and its exit status."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, *SERVE, "--triton", address),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(60):
        _, said = await process.communicate()
    return said.decode().splitlines()[-1], process.returncode or 0


async def test_a_server_of_something_else_ends_the_start():
    async with serving(None) as address:
        assert await said_and_status(address) == (
            f"vivavoce serve: what listens at {address} is a gRPC server, but no Triton: name Triton's gRPC address",
            1,
        )


async def test_another_contract_ends_the_start():
    fake = FakeTriton()
    fake.tensors["intent_slot"] = frozenset(("TEXT",))
    async with serving(fake) as address:
        said, status = await said_and_status(address)
    assert said.startswith(f"vivavoce serve: Triton at {address} has models with another contract (its model intent")
    assert status == 1


def test_a_triton_that_is_not_there_yet_is_waited_for(tmp_path: Path):
    log = tmp_path / "log"
    address = f"unix:{tmp_path}/grpc"
    with (
        log.open("wb") as file,
        subprocess.Popen([sys.executable, *SERVE, "--triton", address], stderr=file) as process,
    ):
        try:
            ends = time.monotonic() + 60
            while "there is no socket of Triton" not in log.read_text():
                assert time.monotonic() < ends
                time.sleep(0.05)
            assert process.poll() is None
            process.send_signal(signal.SIGHUP)
            assert process.wait(30) == 0
        finally:
            process.kill()


@pytest.mark.parametrize("by_seconds", [-86_400.0, 86_400.0])
async def test_clocks_that_differ_and_jump_make_no_request_late(triton_address: str, by_seconds: float):
    """What stands for a Triton on a machine with another clock is a service with another clock."""
    ahead = by_seconds
    triton = TritonClient(triton_address, clock=lambda: time.monotonic() + ahead)
    intents = TritonIntents(triton)
    now = asyncio.get_running_loop().time
    for _ in range(2):
        for _ in range(3):
            assert await intents.predict("hm", now() + 5.0)
        with pytest.raises(ModelError):
            await intents.predict("hm", now() - 1.0)
        ahead = 0.0
    await triton.close()
