"""What is known of the processor, and whether others use it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from service.admission import processor
from service.admission.processor import is_quiet, known_speakers, usable_cores

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("flags", "limit", "speakers"),
    [
        ("fpu avx avx2 sse", "max 100000", 16.0),
        ("fpu avx avx2 sse", "200000 100000", 8.0),
        ("fpu avx avx2 sse", None, 16.0),
        ("fpu avx avx2 sse", "nonsense", 16.0),
        ("fpu avx sse", "50000 100000", 0.5),
        (None, None, 4.0),
    ],
)
def test_what_a_processor_is_known_to_carry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flags: str | None, limit: str | None, speakers: float
):
    monkeypatch.setattr(processor.os, "sched_getaffinity", lambda _: {0, 1, 2, 3})
    for name, content in (("_CPU_INFO", flags and f"model name : x\nflags : {flags}\n"), ("_CPU_MAX", limit)):
        path = tmp_path / name
        if content:
            path.write_text(content)
        monkeypatch.setattr(processor, name, path)
    assert known_speakers() == speakers
    assert 0 < usable_cores() <= 4


@pytest.mark.parametrize(("used", "quiet"), [(0, True), (10, True), (60, False), (100, False)])
async def test_whether_others_compute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, used: int, quiet: bool):
    path = tmp_path / "stat"

    async def sleep(_: float) -> None:
        path.write_text(f"cpu  {1000 + used} 0 0 {5000 + 100 - used} 0 0 0 0 0 0\n")

    path.write_text("cpu  1000 0 0 5000 0 0 0 0 0 0\n")
    monkeypatch.setattr(processor, "_STAT", path)
    monkeypatch.setattr(processor.asyncio, "sleep", sleep)
    assert await is_quiet() == quiet
    path.write_text("nothing of the kind\n")
    monkeypatch.setattr(processor, "_STAT", tmp_path / "missing")
    assert await is_quiet()
