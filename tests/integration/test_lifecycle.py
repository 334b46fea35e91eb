"""The service as an operator meets it: a process with a Triton of its own, stopped, killed and bereaved."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import grpc
import psutil
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

import vivavoce
from service.processes.child_process import listening
from tests.integration.triton_processes import family, run_folder, stub, tritonserver

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SERVE = ["-m", "vivavoce", "serve", "--port", "0", "--max-conversations", "64"]
SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


async def until_gone(processes: list[psutil.Process]) -> None:
    _, alive = await asyncio.to_thread(psutil.wait_procs, processes, timeout=30)
    assert alive == []


async def until_health_is(address: str, wanted: int) -> None:
    async with asyncio.timeout(60), grpc.aio.insecure_channel(address) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        while (await stub.Check(health_pb2.HealthCheckRequest())).status != wanted:
            await asyncio.sleep(0.02)


async def test_a_signal_stops_the_service_and_its_triton(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for name in ("http_proxy", "https_proxy", "grpc_proxy"):
        # Triton is on this machine: never looked for behind a proxy.
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with listening(SERVE, tmp_path / "log") as (process, _):
        children, folder = family(process), run_folder(process)
        assert len(children) > 5
        process.send_signal(signal.SIGTERM)
        assert await asyncio.to_thread(process.wait, 30) == 0
        await until_gone(children)
        assert not folder.exists()
    said = (tmp_path / "log").read_text()
    assert "WARNING" not in said, said


async def test_an_open_conversation_is_told_of_the_shutdown(triton_address: str, tmp_path: Path):
    with listening([*SERVE, "--triton", triton_address], tmp_path / "log") as (process, address):

        async def wait_and_see():
            await asyncio.sleep(60)
            yield vivavoce.EndOfUtterance()

        async with vivavoce.connect(address) as client:
            came = []
            with pytest.raises(vivavoce.ServerUnavailable):
                async for event in client.converse(wait_and_see(), audio=None):
                    came.append(type(event))
                    if isinstance(event, vivavoce.Started):
                        process.send_signal(signal.SIGINT)
            assert came == [vivavoce.Started, vivavoce.GoingAway]
        assert await asyncio.to_thread(process.wait, 30) == 0


@pytest.fixture(scope="module")
def bereaved(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A service that loses its models, its Triton and in the end its life: each test leaves it serving but the last."""
    with listening(SERVE, tmp_path_factory.mktemp("bereaved") / "log") as running:
        yield running


def test_the_models_leave_the_cores_to_the_service(bereaved: tuple[subprocess.Popen[str], str]):
    process, _ = bereaved
    own, server = psutil.Process(process.pid).nice(), tritonserver(process)
    assert {child.nice() for child in (server, *server.children())} == {min(19, own + 5)}


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "hanging"])
async def test_a_model_whose_process_is_lost_comes_back_and_answers_what_it_was_asked(
    bereaved: tuple[subprocess.Popen[str], str], how: signal.Signals
):
    process, address = bereaved
    await until_health_is(address, SERVING)
    server = tritonserver(process)
    lost = stub(process, "intent_slot_bert")
    lost.send_signal(how)
    async with vivavoce.connect(address) as client:
        reply = await client.ask("turn off the lights in the bedroom", reply_budget_seconds=10)
        assert reply.intent.name == "iot_hue_lightoff"
        assert reply.status is vivavoce.ReplyStatus.COMPLETE
        await until_health_is(address, SERVING)
        assert tritonserver(process).pid == server.pid, "the other models go on"
        assert stub(process, "intent_slot_bert").pid != lost.pid
        reply = await client.ask("turn off the lights in the bedroom", reply_budget_seconds=30)
        assert reply.intent.name == "iot_hue_lightoff"


async def test_triton_that_is_lost_is_told_and_started_again(bereaved: tuple[subprocess.Popen[str], str]):
    process, address = bereaved
    await until_health_is(address, SERVING)
    lost = tritonserver(process)
    lost.kill()
    await until_health_is(address, NOT_SERVING)
    async with vivavoce.connect(address) as client:
        with pytest.raises(vivavoce.ServerUnavailable) as refused:
            await client.ask("turn on the lights")
        assert refused.value.retryable
    await until_health_is(address, SERVING)
    assert tritonserver(process).pid != lost.pid
    async with vivavoce.connect(address) as client:
        reply = await client.ask("turn off the lights in the bedroom", reply_budget_seconds=30)
    assert reply.intent.name == "iot_hue_lightoff"


async def test_a_service_that_is_killed_takes_its_triton_with_it(bereaved: tuple[subprocess.Popen[str], str]):
    process, _ = bereaved
    children, folder = family(process), run_folder(process)
    process.kill()
    await until_gone(children)
    assert not folder.exists()


def test_a_service_whose_models_cannot_be_loaded_says_why(tmp_path: Path):
    for name in ("asr", "intent_slot", "qa"):
        (tmp_path / name / "1").mkdir(parents=True)
        code = "raise RuntimeError('this model is broken')" if name == "asr" else "class TritonPythonModel: pass"
        (tmp_path / name / "1" / "model.py").write_text(code)
        (tmp_path / name / "config.pbtxt").write_text(
            'backend: "python" input [{name: "A" data_type: TYPE_FP32 dims: [1]}] '
            'output [{name: "B" data_type: TYPE_FP32 dims: [1]}]'
        )
    arguments = [sys.executable, *SERVE, "--model-repository", str(tmp_path)]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "vivavoce serve: Triton could not start" in done.stderr
    assert "this model is broken" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("exists", [True, False])
def test_triton_alone_says_what_it_lacks(tmp_path: Path, exists: bool):
    arguments = [sys.executable, "-m", "service.triton", str(tmp_path if exists else tmp_path / "missing")]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    (said,) = done.stderr.splitlines()
    assert said.startswith(f"the model repository {tmp_path} has no model asr" if exists else "there is no model repo")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--model-repository", "/nowhere"], "no model repository"),
        (["--host", "203.0.113.7", "--insecure"], "cannot listen"),
    ],
)
def test_a_service_that_cannot_start_says_why(arguments: list[str], reason: str):
    done = subprocess.run([sys.executable, *SERVE, *arguments], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert reason in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
