"""A Triton that hangs or loses a model while nobody talks is at work again within 20 s, and nobody had to ask."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
import time
from typing import TYPE_CHECKING

import grpc
import psutil
import pytest
import tritonclient.grpc.aio as triton_client
from grpc_health.v1 import health_pb2, health_pb2_grpc

import vivavoce
from demo.manifest import utterances
from service.processes.child_process import SERVE, listening, start, stop, wait_for_address
from tests.integration.triton_processes import family, run_folder, stub, tritonserver

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator
    from pathlib import Path

ARGUMENTS = [*SERVE, "--max-conversations", "8"]
SERVING = health_pb2.HealthCheckResponse.SERVING


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """One service for all tests of this file, which mends what each has broken."""
    with listening(ARGUMENTS, tmp_path_factory.mktemp("service") / "log") as running:
        yield running


@pytest.fixture
async def address(service: tuple[subprocess.Popen[str], str]) -> str:
    """Where the service listens, which serves."""
    await until_it_answers(service[1], 60)
    return service[1]


async def until_it_answers(address: str, seconds: float) -> None:
    """Waits until the service has answered a question whole."""
    document = vivavoce.Document("The ferry leaves at nine.")
    async with asyncio.timeout(seconds), grpc.aio.insecure_channel(address) as channel:
        health = health_pb2_grpc.HealthStub(channel)
        while True:
            await asyncio.sleep(0.1)
            if (await health.Check(health_pb2.HealthCheckRequest())).status != SERVING:
                continue
            async with vivavoce.connect(address) as client:
                with contextlib.suppress(vivavoce.VivavoceError):
                    reply = await client.ask("when does the ferry leave", documents=[document], reply_budget_seconds=2)
                    if reply.status is vivavoce.ReplyStatus.COMPLETE:
                        return


async def until_lost(process: psutil.Process, seconds: float) -> None:
    """Waits until a process has ended, which nobody has asked anything."""
    async with asyncio.timeout(seconds):
        while process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
            await asyncio.sleep(0.05)


@pytest.mark.parametrize(
    ("model", "how"),
    [
        ("asr", signal.SIGSTOP),
        ("qa_bert", signal.SIGSTOP),
        ("intent_slot_tokenize", signal.SIGKILL),
        # Here in the middle, for one Triton has eight models mended at most.
        (None, signal.SIGSTOP),
        ("punctuation", signal.SIGKILL),
        ("tts", signal.SIGKILL),
    ],
)
async def test_what_hangs_or_ends_while_nobody_talks_is_mended(
    service: tuple[subprocess.Popen[str], str], address: str, model: str | None, how: signal.Signals
):
    server = tritonserver(service[0])
    victim = server if model is None else stub(service[0], model)
    victim.send_signal(how)
    began = time.monotonic()
    await until_lost(victim, 15)
    if model is not None:
        await until_loaded(service[0], model, victim, 20)
    noticed = time.monotonic() - began
    await until_it_answers(address, 20 - noticed)
    assert (tritonserver(service[0]).pid == server.pid) is (model is not None), "the others went on"


async def until_loaded(service: subprocess.Popen[str], model: str, before: psutil.Process, seconds: float) -> None:
    """Waits until another process runs a model than before."""
    async with asyncio.timeout(seconds):
        while True:
            with contextlib.suppress(psutil.Error):  # One of them may end meanwhile.
                living = [one for one in family(service) if one.status() != psutil.STATUS_ZOMBIE]
                if any(f"{model}_0_0" in one.cmdline() for one in living if one.pid != before.pid):
                    return
            await asyncio.sleep(0.1)


async def test_an_utterance_for_a_model_that_hangs_is_not_lost(
    service: tuple[subprocess.Popen[str], str], address: str
):
    (path,) = (utterance.path for utterance in utterances() if utterance.path.stem == "lights")
    recording = vivavoce.read_audio(path)
    stub(service[0], "asr").suspend()
    # Sent faster than it is said: the reply may fall due before it is known that the model hangs.
    async with vivavoce.connect(address) as client, asyncio.timeout(25):
        heard = [event async for event in client.converse(recording.chunks(), audio=recording.format)]
    notices = [event.code for event in heard if isinstance(event, vivavoce.Notice)]
    assert notices == [vivavoce.NoticeCode.MODEL_RECOVERED]
    (transcript,) = (event.text for event in heard if isinstance(event, vivavoce.Transcript) and event.is_final)
    assert "lights" in transcript
    await until_it_answers(address, 20)


async def test_a_text_for_a_voice_that_hangs_fails_and_the_next_is_spoken(
    service: tuple[subprocess.Popen[str], str], address: str
):
    async with vivavoce.connect(address) as client, asyncio.timeout(60):
        assert [chunk async for chunk in client.say("Good morning.")]
        stub(service[0], "tts").suspend()
        with pytest.raises(vivavoce.ServerUnavailable):
            async for _ in client.say("Good morning."):
                pass
        await until_it_answers(address, 20)
        while True:
            with contextlib.suppress(vivavoce.VivavoceError):
                assert [chunk async for chunk in client.say("Good morning.")]
                return
            await asyncio.sleep(0.2)


async def test_what_somebody_unloads_is_loaded_again(service: tuple[subprocess.Popen[str], str], address: str):
    server = tritonserver(service[0])
    async with triton_client.InferenceServerClient(f"unix:{run_folder(service[0])}/grpc:1") as client:
        for model in ("qa_bert", "asr", "intent_slot"):
            await client.unload_model(model)
            assert not await client.is_model_ready(model)
            async with asyncio.timeout(15):
                while not await client.is_model_ready(model):
                    await asyncio.sleep(0.1)
    await until_it_answers(address, 20)
    assert tritonserver(service[0]).pid == server.pid, "the others went on"


async def test_a_service_that_was_stopped_for_a_while_finds_its_triton_in_order(
    service: tuple[subprocess.Popen[str], str], address: str
):
    server = tritonserver(service[0])
    processes = [psutil.Process(service[0].pid), *family(service[0])]
    for process in processes:
        process.suspend()
    await asyncio.sleep(12)
    for process in processes:
        process.resume()
    await asyncio.sleep(6)
    await until_it_answers(address, 20)
    assert tritonserver(service[0]).pid == server.pid


async def test_a_triton_that_hangs_while_it_starts_is_started_again(tmp_path: Path):
    with (tmp_path / "log").open("wb") as log:
        process = start([sys.executable, *ARGUMENTS], log)
    try:
        async with asyncio.timeout(30):
            while len(family(process)) < 4:
                await asyncio.sleep(0.01)
        server = tritonserver(process)
        server.suspend()
        await until_lost(server, 15)
        assert await asyncio.to_thread(wait_for_address, process, 30)
        assert tritonserver(process).pid != server.pid
        assert "Triton is stopped" in (tmp_path / "log").read_text()
    finally:
        stop(process)
