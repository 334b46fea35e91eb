"""What a Triton prints is read to its end, whatever it prints. A child of Python's stands for it."""

from __future__ import annotations

import asyncio
import logging
import sys
from typing import TYPE_CHECKING

from service.triton.process import TritonProcess

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


async def printing(code: str, directory: Path) -> TritonProcess:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, stdout=asyncio.subprocess.PIPE, start_new_session=True
    )
    return TritonProcess(process, (1, 2), directory, "vivavoce_test_")


async def test_a_long_line_does_not_stop_the_reading(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG, logger="vivavoce.triton")
    code = "print('+' * 200_000)\nfor number in range(5_000): print('+', number)\nprint('error: the end', end='')"
    triton = await printing(code, tmp_path)
    async with asyncio.timeout(30):
        assert await triton.wait() == 0
        await triton.stop()
    texts = [message for _, _, message in caplog.record_tuples]
    assert texts[1:] == [*(f"+ {number}" for number in range(5_000)), "error: the end"]
    assert set(texts[0]) == {"+"}
    assert 1_000 < len(texts[0]) < 100_000
    assert triton.reason == "error: the end"
