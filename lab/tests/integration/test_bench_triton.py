"""`vivavoce bench triton` with the shipped models, as a newcomer calls it, and by every way to a model of its own."""

from __future__ import annotations

import asyncio
import contextlib
import csv
import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from benchmarks.triton.connection import Connection, connect
from benchmarks.triton.inputs import InputSpec
from benchmarks.triton.requests import ModelClient, Step
from benchmarks.triton.shared_memory import SystemMemory, open_regions, shared_memory_of
from service.processes.child_process import stop
from service.triton.installation import TritonInstallation
from service.triton.process import free_port
from vivavoce import cli

if TYPE_CHECKING:
    from collections.abc import Iterator

SHORT = ("--window-seconds", "0.5", "--most-windows", "3", "--json")
CONFIG = """
name: "echo"
backend: "python"
max_batch_size: 4
input [ { name: "AUDIO" data_type: TYPE_FP32 dims: [ -1 ] }, { name: "TEXT" data_type: TYPE_STRING dims: [ 2 ] } ]
output [ { name: "DOUBLE" data_type: TYPE_FP32 dims: [ -1 ] }, { name: "SAID" data_type: TYPE_STRING dims: [ 2 ] } ]
instance_group [ { kind: KIND_CPU, count: 1 } ]
"""
MODEL = """
import triton_python_backend_utils as pb


class TritonPythonModel:
    def execute(self, requests):
        answers = []
        for request in requests:
            audio, text = (pb.get_input_tensor_by_name(request, name).as_numpy() for name in ("AUDIO", "TEXT"))
            answers.append(pb.InferenceResponse([pb.Tensor("DOUBLE", 2 * audio), pb.Tensor("SAID", text)]))
        return answers
"""


@pytest.mark.parametrize(
    ("model", "options", "sent"),
    [
        ("qa_bert", (), "INPUT_IDS [32], ATTENTION_MASK [32], TOKEN_TYPE_IDS [32]: made-up values"),
        ("intent_slot_bert", ("--shared-memory", "system"), "INPUT_IDS [32], ATTENTION_MASK [32]: made-up values"),
        ("asr", (), "AUDIO: 0.1 s of recorded speech a request, 30 requests a sequence (3 s)"),
    ],
)
def test_a_shipped_model_is_loaded_with_what_suits_it(
    model: str, options: tuple[str, ...], sent: str, triton_address: str, capsys: pytest.CaptureFixture[str]
):
    assert cli.run(["bench", "triton", model, "--triton", triton_address, *options, *SHORT]) == 0
    captured = capsys.readouterr()
    assert sent in captured.err
    (row,) = map(json.loads, captured.out.splitlines())
    assert row["model"] == model
    assert row["requests"] > 0
    assert row["parts_ms"]["compute_infer"] > 0


def test_an_ensemble_tells_the_times_of_its_steps(
    triton_address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    table = ("--csv", str(tmp_path / "intents.csv"))
    assert cli.run(["bench", "triton", "intent_slot", "--triton", triton_address, *table, *SHORT]) == 0
    (row,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert set(row["steps_ms"]) >= {"intent_slot_tokenize", "intent_slot_bert"}
    assert all(parts["compute_infer"] > 0 for parts in row["steps_ms"].values())
    with (tmp_path / "intents.csv").open() as file:
        (line,) = csv.DictReader(file)
    assert float(line["p95 latency"]) == pytest.approx(1000 * row["latency_ms"]["p95"], abs=1)
    assert float(line["intent_slot_bert compute infer"]) > 0


def test_a_recognizer_has_no_request_rate(triton_address: str, capsys: pytest.CaptureFixture[str]):
    assert cli.run(["bench", "triton", "asr", "--triton", triton_address, "--request-rate", "5"]) == 1
    assert "use --concurrency" in capsys.readouterr().err


@pytest.fixture(scope="module")
def echo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """Yields the addresses, of gRPC and of HTTP, of a Triton with a model that gives back what it gets."""
    folder = tmp_path_factory.mktemp("echo")
    version = folder / "repository" / "echo" / "1"
    version.mkdir(parents=True)
    (version.parent / "config.pbtxt").write_text(CONFIG)
    (version / "model.py").write_text(MODEL)
    installation = TritonInstallation.find()
    installation.lay_out_backends(folder)
    port, http_port = free_port(), free_port()
    command = [str(installation.server), f"--model-repository={folder / 'repository'}", "--allow-metrics=false"]
    command += [f"--backend-directory={folder}", "--grpc-address=127.0.0.1", f"--grpc-port={port}"]
    command += ["--http-address=127.0.0.1", f"--http-port={http_port}", "--disable-auto-complete-config"]
    command += [f"--backend-config=python,shm-region-prefix-name=echo_{os.getpid()}_"]
    with (folder / "log.txt").open("wb") as log:
        process = subprocess.Popen(
            command, env={**os.environ, **installation.environment()}, stdout=log, stderr=log, text=True
        )
    try:
        grpc_address = f"127.0.0.1:{port}"
        asyncio.run(until_ready(grpc_address))
        yield grpc_address, f"127.0.0.1:{http_port}"
    finally:
        stop(process)


async def until_ready(address: str) -> None:
    connection = connect(address, "grpc")
    try:
        async with asyncio.timeout(60):
            ready = False
            while not ready:
                await asyncio.sleep(0.1)
                with contextlib.suppress(Exception):
                    ready = await connection.regions.is_model_ready("echo")
    finally:
        await connection.close()


SPECS = [InputSpec("AUDIO", "FP32", (-1,), batched=True), InputSpec("TEXT", "BYTES", (2,), batched=True)]


@pytest.mark.parametrize("protocol", ["grpc", "http"])
@pytest.mark.parametrize(("memory", "room"), [("none", 0), ("system", 0), ("system", 4_096)])
async def test_answers_are_the_same_by_every_way(echo: tuple[str, str], protocol: str, memory: str, room: int):
    address = echo[protocol == "http"]
    connection = connect(address, protocol)
    regions = open_regions(connection, address, memory, room)
    audio = np.linspace(-1, 1, 1_000, dtype=np.float32).reshape(2, 500)
    text = np.array([[b"wake me", b""], ["à sept heures".encode(), b"x" * 100]], np.object_)
    client = ModelClient(connection, "echo", SPECS, ["DOUBLE", "SAID"], regions)
    try:
        for _ in range(2):
            read, timed = await client.ask({"AUDIO": audio, "TEXT": text}, Step())
    finally:
        if regions is not None:
            await regions.close()
        await connection.close()
    assert timed.items == 2
    np.testing.assert_array_equal(read["DOUBLE"], 2 * audio)
    assert read["SAID"].tolist() == text.tolist()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--output-shared-memory-size", "8"), "raise --output-shared-memory-size"),
        (("--shape", "AUDIO:10"), None),
    ],
)
def test_outputs_that_find_no_room_are_told(
    echo: tuple[str, str], options: tuple[str, ...], told: str | None, capsys: pytest.CaptureFixture[str]
):
    command = ["bench", "triton", "echo", "--triton", echo[0], "--shared-memory", "system", *options, *SHORT]
    assert cli.run(command) == (told is not None)
    if told is not None:
        assert told in capsys.readouterr().err


@pytest.mark.skipif(Path("/dev/nvidia0").exists(), reason="there is a GPU here")
def test_memory_of_a_gpu_that_there_is_not(echo: tuple[str, str], capsys: pytest.CaptureFixture[str]):
    assert cli.run(["bench", "triton", "echo", "--triton", echo[0], "--shared-memory", "cuda", *SHORT]) == 1
    assert "use --shared-memory system" in capsys.readouterr().err


async def test_nothing_is_left_of_those_that_are_killed(echo: tuple[str, str]):
    """Neither files nor regions that Triton keeps open, once the next one has begun."""
    address, chance = echo[0], random.Random(1)
    command = [sys.executable, "-m", "vivavoce", "bench", "triton", "echo", "--triton", address]
    command += ["--shared-memory", "system", "--concurrency", "8", "--shape", "AUDIO:16000", "--json"]
    connection = connect(address, "grpc")
    memory = SystemMemory(address)
    killed = 0
    try:
        while killed < 5:
            process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.DEVNULL)
            while not await registered(connection):
                await asyncio.sleep(0.01)
                assert process.returncode is None
            await asyncio.sleep(chance.uniform(0, 0.05))
            process.kill()
            await process.wait()
            killed += 1
            async with asyncio.timeout(10):
                while await registered(connection):
                    await memory.sweep(connection)
        assert not list(shared_memory_of(address).glob("vivavoce_bench_*"))
    finally:
        await connection.close()


async def registered(connection: Connection) -> list[str]:
    return list((await connection.regions.get_system_shared_memory_status()).regions)
