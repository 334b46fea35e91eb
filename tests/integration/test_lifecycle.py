"""Starts of the service that fail, and its place among the processes of the machine, as an operator meets them."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import psutil
import pytest

from service.processes.child_process import SERVE
from tests.integration.triton_processes import tritonserver

if TYPE_CHECKING:
    from pathlib import Path

    from tests.integration.conftest import Service


def test_the_models_leave_the_cores_to_the_service(full_service: Service):
    own, server = psutil.Process(full_service.process.pid).nice(), tritonserver(full_service.process)
    assert {child.nice() for child in (server, *server.children())} == {min(19, own + 5)}


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
