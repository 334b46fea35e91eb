"""The whole service under load, beside one that is none."""

from __future__ import annotations

import contextlib

import pytest

pytest.importorskip("torch")

from benchmarks.gpu import chain
from benchmarks.gpu.plan import DRY, FULL
from benchmarks.gpu.report import markdown
from benchmarks.gpu.sheet import Sheet, read_rows


def test_how_far_it_came_is_written_as_it_goes(tmp_path, monkeypatch):
    @contextlib.contextmanager
    def listening(*_):
        yield None, "localhost:1"

    def run_load(*_):
        raise RuntimeError("nobody answers")

    monkeypatch.setattr(chain, "_engine", lambda folder, *_: folder)
    monkeypatch.setattr(chain, "listening", listening)
    monkeypatch.setattr(chain, "run_load", run_load)
    with pytest.raises(RuntimeError, match="nobody answers"):
        chain.hold_conversations(DRY, Sheet(tmp_path / "chain.json", "chain"))
    rows = read_rows(tmp_path / "chain.json")
    assert [row["what"] for row in rows] == ["engines", "started"]
    text = markdown(FULL, {"gpu": "a card"}, {name: [] for name in FULL.phases} | {"chain": rows}, {})
    assert "at 64 conversations.\n\nNothing." in text
