"""Callers in processes of their own, which begin together."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from benchmarks.gpu import callers
from benchmarks.gpu.callers import Load


def in_threads(work, shares):
    with ThreadPoolExecutor(len(shares)) as pool:
        return list(pool.map(lambda share: work(*share), shares))


def test_nobody_calls_before_everybody_is_ready(monkeypatch):
    events = []

    def request(load, rng):
        events.append("made")
        return [], 384.0

    async def call_all(load, count, requests):
        events.append(count)
        return [(0.05, 20.0)] * count

    monkeypatch.setattr(callers.os, "cpu_count", lambda: 6)
    monkeypatch.setattr(callers, "in_processes", in_threads)
    monkeypatch.setattr(callers, "_request", request)
    monkeypatch.setattr(callers, "_call_all", call_all)
    seen = callers.call(Load("localhost:1", "random_large", 40, 1, 384, 1000, 384, 2.0))
    assert events[:12] == ["made"] * 12
    assert sorted(events[12:]) == [13, 13, 14]
    assert seen.latencies == [0.05] * 40


def test_why_a_call_failed_is_told():
    with pytest.raises(RuntimeError, match=r"StatusCode\.UNAVAILABLE"):
        callers.call(Load("localhost:1", "random_large", 1, 1, 384, 1000, 384, 2.0))


def test_the_processes_of_the_callers_do_not_import_pytorch():
    code = "import benchmarks.gpu.phase, benchmarks.gpu.callers, sys; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
