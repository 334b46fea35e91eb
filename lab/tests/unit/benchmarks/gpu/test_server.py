"""A Triton of the benchmark's own."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

import pytest

from benchmarks.gpu.server import StartError, serving
from service.triton import process
from service.triton.run_folder import RunFolder

if TYPE_CHECKING:
    from pathlib import Path


async def test_why_triton_did_not_come_up_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    stack = contextlib.ExitStack()

    async def start(*_: object, **__: object) -> process.TritonProcess:
        said = "echo 'error: creating server: no such model'; exit 1"
        server = await asyncio.create_subprocess_exec(
            "sh", "-c", said, stdout=asyncio.subprocess.PIPE, start_new_session=True
        )
        run = RunFolder.open()
        stack.callback(run.close)
        return process.TritonProcess(server, run, tmp_path / "gone")

    monkeypatch.setattr(process.TritonProcess, "start", start)
    refused = pytest.raises(StartError, match=r"^Triton did not serve base: error: creating server: no such model$")
    with stack, refused:
        async with serving(tmp_path, "base"):
            pytest.fail("it came up")
