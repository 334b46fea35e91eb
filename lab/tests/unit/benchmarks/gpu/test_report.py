"""What the benchmark makes of its measurements; the measurements themselves run with ``--dry-run``."""

from __future__ import annotations

import json
import signal
import tarfile
from dataclasses import replace

import pytest
from google.protobuf import text_format
from tritonclient.grpc import model_config_pb2

pytest.importorskip("torch")

from benchmarks.gpu import __main__ as command
from benchmarks.gpu.callers import Load, Seen
from benchmarks.gpu.ceilings import ceiling, products
from benchmarks.gpu.chain import meets_goal
from benchmarks.gpu.correctness import check_everything
from benchmarks.gpu.plan import DRY, FULL, LOGIT_LIMITS, ChainGoal, Goal, choose_plan
from benchmarks.gpu.report import markdown, pack_results, write_report
from benchmarks.gpu.repository import Served, write_repository
from benchmarks.gpu.sheet import Sheet, read_error, read_rows
from benchmarks.gpu.throughput import summary
from engines.bert.gpu.network import random_state, read_network
from engines.bert.gpu.precision import Precision

LARGE = FULL.case("large")
DEVICE = {"gpu": "a card", "cpu": "some cores"}


def load(**other):
    return replace(Load("localhost:1", "random_large", 8, 1, 384, 1000, 384, 2.0), **other)


def test_all_phases_fit_into_eight_minutes_and_have_a_limit():
    assert set(FULL.limits) == set(FULL.phases)
    assert set(DRY.phases) < set(FULL.phases)
    assert set(DRY.limits) >= set(DRY.phases)
    assert sum(FULL.limits.values()) <= 480
    assert FULL.case("three_layers").goal == Goal(60_000, compute_ms=6.0)
    assert LARGE.goal == Goal(2_400, latency_ms=100.0)
    assert set(LOGIT_LIMITS) == set(Precision)


@pytest.mark.parametrize(
    ("limit", "left", "later", "seconds"),
    [(30, 580, 550, 30), (180, 400, 115, 285), (110, 400, 295, 110), (115, 90, 0, 90), (30, -1, 550, -1)],
    ids=["no more than its own", "what was left", "no less than its own", "what there is", "nothing"],
)
def test_a_phase_has_the_time_that_those_before_it_left(limit, left, later, seconds):
    assert command._seconds(limit, left, later) == seconds


def test_without_a_server_networks_are_measured_in_process_alone():
    assert choose_plan(dry_run=False, without_server=False) is FULL
    assert choose_plan(dry_run=True, without_server=False) is DRY
    plan = choose_plan(dry_run=False, without_server=True)
    assert plan.phases == tuple(name for name in FULL.phases if name not in ("server", "chain"))
    assert not any(case.instances for case in plan.cases)


@pytest.mark.parametrize(("answers", "latency", "met"), [(4800, 0.09, True), (4700, 0.09, False), (4800, 0.11, False)])
def test_a_goal_is_met_by_rate_and_latency_together(answers, latency, met):
    found = summary(LARGE, load(), Seen([latency] * answers, [20.0] * answers, 0.5, 384.0))
    assert found["rows_per_second"] == answers / 2
    assert found["latency_ms"] == {f"p{p}": 1000 * latency for p in (50, 95, 99)}
    assert found["goal_met"] is met
    assert found["tflops"] == pytest.approx(answers / 2 * LARGE.shape.flops(384) / 1e12, abs=0.01)


def test_rows_of_mixed_lengths_meet_no_goal_and_no_answers_are_an_error():
    assert "goal_met" not in summary(LARGE, load(shortest=48), Seen([0.01] * 9999, [1.0] * 9999, 0.5, 216.0))
    assert summary(LARGE, load(), Seen([], [], 0.5, 384.0)) == {"error": "no answer within 2 s"}


def latencies(reply=99.0, turn=400.0):
    return {"latency_ms": {"reply": {"n": 9, "p99": reply}, "turn": {"n": 9, "p95": turn}}}


HELD = {"errors": {}, "lost": 0, **latencies()}


@pytest.mark.parametrize(
    ("changes", "met"),
    [
        ({}, True),
        (latencies(reply=101.0), False),
        (latencies(turn=501.0), False),
        ({"latency_ms": {"reply": {"n": 0}, "turn": {"n": 0}}}, False),
        ({"errors": {"UNAVAILABLE": 1}}, False),
        ({"lost": 1}, False),
    ],
    ids=["held", "late replies", "late turns", "nobody was replied to", "error", "lost"],
)
def test_the_chain_meets_its_goal_with_every_reply(changes, met):
    assert meets_goal(HELD | changes, ChainGoal(100.0, 500.0)) is met


def test_an_interrupted_benchmark_ends_its_phase(tmp_path, monkeypatch):
    class Phase:
        pid = 4711

        def __init__(self, *_, **__) -> None:
            self._waits = iter([KeyboardInterrupt(), None])

        def wait(self, _=None) -> None:
            if (error := next(self._waits)) is not None:
                raise error

    ended = []
    monkeypatch.setattr(command.subprocess, "Popen", Phase)
    monkeypatch.setattr(command.os, "killpg", lambda *given: ended.append(given))
    with pytest.raises(KeyboardInterrupt):
        command._run("base", tmp_path / "base.json", 60, ["--dry-run"])
    assert ended == [(4711, signal.SIGKILL)]


def test_a_sheet_is_whole_after_every_row_and_goes_on(tmp_path):
    path = tmp_path / "base.json"
    assert read_rows(path) == []
    assert read_error(path) == "it did not run"
    Sheet(path, "base").add(what="served", rows_per_second=3.0)
    assert read_error(path) is None
    Sheet.reopen(path, "base").fail("it was ended after 90 s")
    assert read_rows(path) == [{"what": "served", "rows_per_second": 3.0}]
    assert read_error(path) == "it was ended after 90 s"
    assert [file.name for file in tmp_path.iterdir()] == ["base.json"]


def test_the_report_shows_what_there_is_and_says_what_is_not(tmp_path):
    ceilings = Sheet(tmp_path / "ceilings.json", "ceilings")
    ceilings.add(what="8192 cubed", precision="fp8", tflops=1000.0)
    ceilings.add(what="8192 cubed", precision="fp8, one scale", tflops=1200.0)
    large = Sheet(tmp_path / "large.json", "large")
    large.add(what="served", precision="fp8", instances=2, callers=192, tflops=600.0, rows_per_second=2500.0,
              latency_ms={"p50": 70.0, "p95": 80.0, "p99": 90.5}, compute_ms={"p99": 30.0}, goal_met=True)  # fmt: skip
    write_report(tmp_path, FULL, DEVICE, "python -m benchmarks.gpu")
    text = (tmp_path / "results.md").read_text()
    assert "| fp8 | 2 | 192 | 2,500 | 70 | 90.5 | 30 | 50% | True |" in text
    assert "- base: it did not run" in text
    assert "Weights of the networks under load are random." in text
    whole = json.loads((tmp_path / "results.json").read_text())
    assert whole["phases"]["large"][0]["callers"] == 192
    assert whole["command"] == "python -m benchmarks.gpu"
    assert whole["weights"] == "random"


def test_the_results_lie_in_one_archive_too(tmp_path):
    for name in ("base.json", "base.log", "results.md", "base.new"):
        (tmp_path / name).write_text(name)
    for _ in range(2):
        pack_results(tmp_path)
        with tarfile.open(tmp_path / "results.tar") as archive:
            assert archive.getnames() == ["base.json", "base.log", "results.md"]
    assert not (tmp_path / "results.tar.new").exists()


def test_a_share_is_of_the_best_product_of_the_same_precision():
    rows = [{"precision": "fp8", "tflops": 3.0}, {"precision": "fp8, one scale", "tflops": 4.0},
            {"precision": "float16", "tflops": 2.0}, {"precision": "int8", "error": "none"}]  # fmt: skip
    assert [ceiling(rows, name) for name in ("fp8", "float16", "int8")] == [4.0, 2.0, None]


def test_a_ceiling_too_low_to_measure_gives_no_share():
    served = {"what": "in process", "precision": "fp8", "tflops": 1.0, "rows_per_second": 5.0}
    phases = {name: [] for name in FULL.phases} | {
        "ceilings": [{"what": "8 cubed", "precision": "fp8", "tflops": 0.0}],
        "large": [served],
    }
    assert "| fp8 | 5 | 1 |" in markdown(FULL, DEVICE, phases, {})


def test_products_of_every_precision_are_measured():
    torch = pytest.importorskip("torch")
    assert set(products(32, 64, 48, torch.device("cpu"))) == {"float16", "bfloat16", "fp8", "fp8, one scale", "int8"}


def test_wrong_ways_are_listed():
    rows = [{"what": "attention", "way": "padded", "type": "float16", "relative": 1e-4, "right": True},
            {"what": "network, span", "way": "chosen", "precision": "fp8", "relative": 0.9, "limit": 0.25}]  # fmt: skip
    phases = {name: rows if name == "correctness" else [] for name in FULL.phases}
    text = markdown(FULL, DEVICE, phases, {})
    assert "1 of 2 ways agree with float32" in text
    assert "| network, span | chosen |" in text
    assert "padded" not in text


def test_every_way_of_this_machine_is_right(tmp_path):
    sheet = Sheet(tmp_path / "correctness.json", "correctness")
    check_everything(DRY, sheet)
    rows = read_rows(tmp_path / "correctness.json")
    assert len(rows) >= 2 + 2 * 2 * len(Precision)
    assert all(row.get("right", row.get("relative", 9) <= row.get("limit", 0)) for row in rows)


def test_a_generated_repository_is_one_of_triton_and_names_its_weights_random(tmp_path):
    case = DRY.case("large")
    write_repository(tmp_path, case, random_state(case.shape), Served(Precision.FP8, 2, "KIND_GPU", "cuda:0"))
    config = text_format.Parse((tmp_path / "random_large" / "config.pbtxt").read_text(), model_config_pb2.ModelConfig())
    assert config.name == "random_large"
    assert config.max_batch_size == case.batch
    (group,) = config.instance_group
    assert (group.count, group.kind) == (2, model_config_pb2.ModelInstanceGroup.KIND_GPU)
    assert config.parameters["device"].string_value == "cuda"
    assert config.parameters["gpu_precision"].string_value == "fp8"
    shape, _ = read_network(tmp_path / "random_large" / "1" / "network.safetensors")
    assert shape == case.shape
