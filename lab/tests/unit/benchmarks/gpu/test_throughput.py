"""What is done with a network under load, beside a Triton that is none."""

from __future__ import annotations

import contextlib
import gc
import weakref
from dataclasses import replace

import pytest

pytest.importorskip("torch")

from benchmarks.gpu import throughput
from benchmarks.gpu.callers import Seen
from benchmarks.gpu.plan import DRY
from benchmarks.gpu.server import Batches
from benchmarks.gpu.sheet import Sheet, read_rows

CASE = DRY.case("large")


@pytest.fixture
def sheet(tmp_path):
    return Sheet(tmp_path / "large.json", "large")


@pytest.fixture
def collected_by_hand():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("collected_by_hand")
@pytest.mark.parametrize("fails", [False, True])
def test_each_precision_has_the_memory_to_itself(fails, sheet, monkeypatch):
    made, left = [], []

    class Session(throughput.GpuBertSession):
        def __init__(self, *given):
            left.append([session() for session in made])
            super().__init__(*given)
            made.append(weakref.ref(self))

    def engine_rate(session, case):
        if fails and len(made) == 1:
            raise RuntimeError("out of memory")
        return 100.0, 0.01

    monkeypatch.setattr(throughput, "GpuBertSession", Session)
    monkeypatch.setattr(throughput, "_engine_rate", engine_rate)
    monkeypatch.setattr(throughput, "_load_served", None)
    throughput.load_network(DRY, replace(CASE, instances=()), sheet)
    assert left == [[], [None]]
    assert [session() for session in made] == [None, None]


def test_float32_is_computed_once(sheet, monkeypatch):
    computed, given = [], []

    def reference(*network):
        computed.append(network)
        return reference_of(*network)

    async def load_served(plan, case, folder, served, checked, sheet):
        given.append((served.instances, len(checked.requests), len(checked.expected)))

    reference_of = throughput.reference
    monkeypatch.setattr(throughput, "reference", reference)
    monkeypatch.setattr(throughput, "_engine_rate", lambda *_: (100.0, 0.01))
    monkeypatch.setattr(throughput, "_load_served", load_served)
    throughput.load_network(DRY, replace(CASE, instances=(1, 2)), sheet)
    assert len(computed) == 1
    assert given == [(1, 9, 9), (2, 9, 9)]


async def test_rows_of_mixed_lengths_are_sent_by_as_many_callers_as_carried_most(sheet, tmp_path, monkeypatch):
    sent = []

    @contextlib.asynccontextmanager
    async def serving(*_):
        yield "localhost:1"

    async def check_served(*_):
        return {"relative": 0.0}

    async def count_batches(*_):
        return Batches(0, 0)

    def call(load):
        sent.append((load.callers, load.shortest))
        return Seen([0.01] * {2: 50, 4: 90, 8: 80}[load.callers], [1.0], 0.5, 32.0)

    for stand_in in (serving, check_served, count_batches, call):
        name = "_check_served" if stand_in is check_served else stand_in.__name__
        monkeypatch.setattr(throughput, name, stand_in)
    case = replace(CASE, callers=(2, 4, 8))
    served = throughput.Served(case.precisions[0], 1, "KIND_CPU", "cpu")
    await throughput._load_served(DRY, case, tmp_path, served, throughput._Checked([], []), sheet)
    assert sent == [(2, 32), (4, 32), (8, 32), (4, 4)]
    padded = [row["padded"] for row in read_rows(tmp_path / "large.json") if row["what"] == "served"]
    assert padded == [False, False, False, True]
