"""Debian's baresip and SIPp call the gateway; behind it is AudioSocket with fake models."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
import soundfile
from click.testing import CliRunner

from service.sip_cli import sip

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.unit.service.telephone.exchange import Exchange

SCENARIO = Path(__file__).with_name("caller.xml")
BARESIP, SIPP, KAMAILIO = map(shutil.which, ("baresip", "sipp", "kamailio"))
needs_baresip = pytest.mark.skipif(BARESIP is None, reason="apt-get install baresip-core")
needs_sipp = pytest.mark.skipif(SIPP is None, reason="apt-get install sip-tester")

CONFIG = """
module_path {modules}
module account.so
module g711.so
module aufile.so
module aubridge.so
module sndfile.so
module menu.so
sip_listen 127.0.0.1:0
net_interface 127.0.0.1
audio_source aufile,{said}
audio_player aubridge,none
audio_alert aubridge,none
snd_path {heard}
call_local_timeout 10
"""


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@contextlib.asynccontextmanager
async def answering(exchange: Exchange, port: int, *options: str) -> AsyncIterator[None]:
    """The command `vivavoce sip`, once it answers."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "vivavoce", "sip", "--listen", f"127.0.0.1:{port}"),
        *("--to", f"127.0.0.1:{exchange.server.port}", "--max-calls", "2", *options),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "VIVAVOCE_SIP_PASSWORD": "secret"},
    )
    assert process.stdout is not None
    try:
        assert b"answering" in await asyncio.wait_for(process.stdout.readline(), 20)
        yield
    finally:
        if process.returncode is None:
            process.terminate()
        await asyncio.wait_for(process.communicate(), 20)
    assert process.returncode == 0


@pytest.fixture
async def gateway(exchange: Exchange) -> AsyncIterator[int]:
    """The port on which the gateway answers."""
    port = free_port()
    async with answering(exchange, port):
        yield port


@contextlib.asynccontextmanager
async def registrar(folder: Path) -> AsyncIterator[int]:
    """The port of Kamailio."""
    port, config = free_port(), folder / "kamailio.cfg"
    config.write_text(Path(__file__).with_name("kamailio.cfg").read_text().replace("PORT", str(port)))
    assert KAMAILIO is not None
    process = await asyncio.create_subprocess_exec(
        *(KAMAILIO, "-f", str(config), "-DD", "-E", "-Y", str(folder)),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        await asyncio.sleep(1.0)
        yield port
    finally:
        process.terminate()
        await asyncio.wait_for(process.wait(), 20)


@contextlib.asynccontextmanager
async def softphone(folder: Path, port: int, seconds: int) -> AsyncIterator[Path]:
    """A softphone that calls, and keeps what it hears in a folder."""
    said, heard = folder / "said.wav", folder / "heard"
    heard.mkdir()
    soundfile.write(said, np.zeros(8_000 * 60), 8_000, subtype="PCM_16")
    modules = "/usr/lib/baresip/modules"
    (folder / "config").write_text(CONFIG.format(modules=modules, said=said, heard=heard))
    (folder / "accounts").write_text("<sip:caller@127.0.0.1>;regint=0\n")
    assert BARESIP is not None
    dial = f"/dial sip:100@127.0.0.1:{port}"
    process = await asyncio.create_subprocess_exec(
        BARESIP, "-f", str(folder), "-e", dial, "-t", str(seconds), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
    )
    try:
        yield heard
    finally:
        await asyncio.wait_for(process.communicate(), seconds + 10)


@needs_baresip
async def test_a_softphone_hears_the_agent(exchange: Exchange, gateway: int, tmp_path: Path):
    async with softphone(tmp_path, gateway, 4) as heard:
        async with asyncio.timeout(4):
            while "Hello." not in exchange.models.spoken_texts:
                await asyncio.sleep(0.05)
        exchange.models.words = "a latte please"
        await asyncio.sleep(0.5)
        exchange.voice.probability = 1.0
        await asyncio.sleep(0.8)
        exchange.voice.probability = 0.0
        async with asyncio.timeout(4):
            while "Which size?" not in exchange.models.spoken_texts:
                await asyncio.sleep(0.05)
    async with asyncio.timeout(10):
        while exchange.host.open_conversations.count:
            await asyncio.sleep(0.05)
    (recording,) = heard.glob("*-dec.wav")
    samples, _ = soundfile.read(recording)
    assert np.abs(samples).max() > 0.05


@pytest.mark.skipif(KAMAILIO is None or BARESIP is None, reason="apt-get install kamailio")
async def test_a_softphone_calls_the_account_of_a_registrar(exchange: Exchange, tmp_path: Path):
    async with (
        registrar(tmp_path) as port,
        answering(exchange, free_port(), "--register", f"sip:100@127.0.0.1:{port}"),
        softphone(tmp_path, port, 4),
        asyncio.timeout(6),
    ):
        while "Hello." not in exchange.models.spoken_texts:
            await asyncio.sleep(0.05)


@needs_sipp
async def test_sipp_calls_and_the_third_at_a_time_is_told_that_it_is_busy(exchange: Exchange, gateway: int):
    async def sipp(*options: str) -> tuple[int, str]:
        process = await asyncio.create_subprocess_exec(
            *(SIPP, "-sf", str(SCENARIO), f"127.0.0.1:{gateway}", "-i", "127.0.0.1", "-p", str(free_port())),
            *("-mp", str(free_port()), "-nostdin", "-timeout", "20", *options),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        output, _ = await asyncio.wait_for(process.communicate(), 60)
        return process.returncode, output.decode()

    # Nothing of SIP's, and nothing of anybody's, ends the gateway.
    chance = random.Random(1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        for number in range(2_000):
            junk = chance.randbytes(chance.randrange(1, 500))
            stranger.sendto(junk if number % 2 else b"INVITE sip:a SIP/2.0\r\n" + junk, ("127.0.0.1", gateway))
    status, output = await sipp("-m", "6", "-l", "2", "-d", "500")
    assert status == 0, output
    status, output = await sipp("-m", "3", "-l", "3", "-r", "100", "-d", "1500")
    assert status == 1
    async with asyncio.timeout(10):
        while exchange.host.open_conversations.count:
            await asyncio.sleep(0.05)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--to", "127.0.0.1:1"], "--listen or --register"),
        (["--to", "here", "--listen", "127.0.0.1"], "no address"),
        (["--to", "127.0.0.1:1", "--listen", "here"], "no address of this machine"),
        (["--to", "127.0.0.1:1", "--listen", "192.0.2.77:5060"], "calls cannot be answered"),
        (["--to", "127.0.0.1:1", "--register", "a@b"], "no account"),
    ],
)
def test_options_with_which_nobody_can_answer(options: list[str], told: str):
    result = CliRunner().invoke(sip, options)
    assert result.exit_code == 1
    assert told in result.output
