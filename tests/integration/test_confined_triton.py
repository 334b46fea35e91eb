"""What a model can do to the machine that serves it: a real Triton runs one that tries."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from typing import TYPE_CHECKING

import numpy as np
import pytest
import tritonclient.grpc.aio as triton

from service.processes.confinement import landlock_abi
from service.triton.process import TritonProcess

if TYPE_CHECKING:
    from pathlib import Path

SCOPES_ABI = 6
CONFIG = """
name: "thief"
backend: "python"
input [ { name: "TARGETS" data_type: TYPE_STRING dims: [ 1 ] } ]
output [ { name: "DONE" data_type: TYPE_STRING dims: [ 1 ] } ]
instance_group [ { kind: KIND_CPU, count: 1 } ]
"""
MODEL = """
import json, os, socket
import numpy as np
import triton_python_backend_utils as pb


def attempt(what):
    try:
        return str(what())
    except OSError as error:
        return type(error).__name__


class TritonPythonModel:
    def execute(self, requests):
        answers = []
        for request in requests:
            given = pb.get_input_tensor_by_name(request, "TARGETS").as_numpy()[0]
            targets = json.loads(given)
            done = {
                "own": attempt(lambda: open(__file__).read(6)),
                "secret": attempt(lambda: open(targets["secret"]).read()),
                "environment": attempt(lambda: open(f"/proc/{targets['service']}/environ").read(1)),
                "write": attempt(lambda: open(targets["folder"] + "/left", "w")),
                "connect": attempt(lambda: socket.create_connection(("127.0.0.1", targets["port"]), 2)),
                "kill": attempt(lambda: os.kill(targets["service"], 0)),
            }
            answers.append(pb.InferenceResponse([pb.Tensor("DONE", np.array([json.dumps(done).encode()], np.object_))]))
        return answers
"""


@pytest.mark.skipif(landlock_abi() < SCOPES_ABI, reason="this system's Landlock is too old for all of it")
async def test_a_model_reads_writes_and_reaches_nothing_that_is_not_its_own(tmp_path: Path):
    version = tmp_path / "repository" / "thief" / "1"
    version.mkdir(parents=True)
    (version.parent / "config.pbtxt").write_text(CONFIG)
    (version / "model.py").write_text(MODEL)
    (tmp_path / "secret").write_text("secret")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        targets = {
            "secret": str(tmp_path / "secret"),
            "folder": str(tmp_path),
            "port": listener.getsockname()[1],
            # Of the test, which has started Triton as the service does.
            "service": os.getpid(),
        }
        process = await TritonProcess.start(tmp_path / "repository", ("thief",))
        try:
            done = await ask(process.address, targets)
        finally:
            await process.stop()
    assert await process.wait() == 0, "it could not clean up behind itself"
    refused = dict.fromkeys(("secret", "environment", "write", "connect", "kill"), "PermissionError")
    assert done == {"own": "\nimpor", **refused}


async def ask(address: str, targets: dict[str, object]) -> dict[str, str]:
    tensor = triton.InferInput("TARGETS", [1], "BYTES")
    tensor.set_data_from_numpy(np.array([json.dumps(targets).encode()], np.object_))
    async with triton.InferenceServerClient(address) as client, asyncio.timeout(60):
        while True:
            try:
                if await client.is_model_ready("thief"):
                    break
            except triton.InferenceServerException:
                pass
            await asyncio.sleep(0.1)
        answer = await client.infer("thief", [tensor])
    return json.loads(answer.as_numpy("DONE")[0])
