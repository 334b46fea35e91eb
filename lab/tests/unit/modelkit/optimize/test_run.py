"""The whole of `vivavoce optimize` on a tiny engine."""

from __future__ import annotations

import json
import sys
from dataclasses import replace

import onnx
import pytest
from transformers import BertModel

from engines.bert.network_files import network_file
from lab.tests.unit.modelkit.optimize.conftest import config, write_network
from modelkit.errors import EngineError, TrainingError
from modelkit.networks import SpanNetwork
from modelkit.optimize import run as running
from modelkit.optimize.options import OptimizeOptions
from modelkit.optimize.points import POINTS
from modelkit.optimize.run import choose_points, optimize
from modelkit.optimize.table import Result, choose, markdown
from modelkit.optimize.timing import BATCHES, Latency, Throughput
from vivavoce.cli import run as vivavoce


class Listener:
    """A display that keeps what it is told."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def say(self, text: str) -> None:
        self.said.append(text)

    def advance(self, progress: float, loss: float | None = None) -> None:
        assert 0 <= progress <= 1


@pytest.fixture
def options(engine, questions, tmp_path) -> OptimizeOptions:
    return OptimizeOptions(
        engine,
        (questions,),
        questions,
        tmp_path / "out",
        ("fused",),
        minutes=0.01,
        rows=64,
        limit=12,
        allowed_loss=1.0,
        threads=1,
    )


def test_results_are_kept_and_the_best_becomes_an_engine(options):
    first = optimize(options, Listener())
    assert [result.point for result in first.results] == ["eager", "fused"]
    assert first.best == "fused"
    eager, fused = first.results
    assert eager.scores == fused.scores
    assert eager.scores.keys() == {"f1", "exact_match", "f1_forced", "exact_match_forced"}
    assert fused.throughput.batch in BATCHES
    assert "`fused`" in (options.out / "table.md").read_text()
    assert network_file(options.out / "triton" / "qa_bert" / "1").stat().st_size == pytest.approx(
        fused.megabytes * 1e6, abs=1e5
    )
    assert json.loads((options.out / "card.json").read_text())["point"] == "fused"

    again = Listener()
    second = optimize(replace(options, points=("fused", "int8-scaled")), again)
    assert second.results[:2] == first.results
    assert [line.split(":")[0] for line in again.said] == ["int8-scaled", "int8-scaled"]


def test_times_are_measured_again_and_nothing_else(options, monkeypatch):
    first = optimize(options, Listener())
    never = Latency(1e6, 1e6, 1e6, 1.0, 1e-6)
    monkeypatch.setattr(running, "measure_latency", lambda *_: never)
    graph = (options.out / "points" / "fused" / "model.onnx").read_bytes()
    again = Listener()
    second = optimize(replace(options, time_again=True), again)
    assert [result.latency for result in second.results] == [never, never]
    assert [result.scores for result in second.results] == [result.scores for result in first.results]
    assert [line.split(":")[0] for line in again.said] == ["eager", "fused"]
    assert (options.out / "points" / "fused" / "model.onnx").read_bytes() == graph
    assert optimize(options, Listener()).results == second.results  # They are kept.


def test_a_trained_network_is_trained_once(options):
    first, second = Listener(), Listener()
    optimize(replace(options, points=("layers3",)), first)
    assert any("training for" in line for line in first.said)
    made = optimize(replace(options, points=("layers3", "layers3-int8"), minutes=30), second)
    assert not any("training for" in line for line in second.said)
    assert [line for line in second.said if "delete" in line] == [
        f"layers3: was trained for 0.01 minutes; delete {options.out / 'networks' / 'layers3'} to train it for 30"
    ]
    eager, small, smaller = made.results
    assert smaller.megabytes < small.megabytes < eager.megabytes


@pytest.mark.parametrize("point", ["qat", "sparse-int8", "layers3-narrow-int8"])
def test_every_way_of_training_ends_in_a_point(point, options, monkeypatch):
    monkeypatch.setattr(running, "BASELINE", point)
    options, points, again = replace(options, points=(point,)), options.out / "points", Listener()
    (result,) = optimize(options, Listener()).results
    assert result.point == point
    assert result.megabytes > 0
    points.rename(options.out / "before")
    assert optimize(options, again).results[0].scores == result.scores
    assert not any("training for" in line or "delete" in line for line in again.said)  # The network is loaded,
    graph, before = (folder / point / "model.onnx" for folder in (points, options.out / "before"))
    assert graph.read_bytes() == before.read_bytes()  # and is the same.


def test_a_network_that_drops_tokens_is_measured_beside_itself(options, network):
    write_network(options.engine, network, kept=(64,))
    results = optimize(replace(options, points=("lean", "pruned", "pruned-int8")), Listener()).results
    assert [result.point for result in results] == ["eager", "lean", "pruned", "pruned-int8"]
    nodes = [
        {node.op_type for node in onnx.load(options.out / "points" / result.point / "model.onnx").graph.node}
        for result in results[1:]
    ]
    assert ["TopK" in kinds for kinds in nodes] == [False, True, True]


def test_a_network_that_drops_no_tokens_is_not_made_to(options):
    with pytest.raises(EngineError, match="pruned-int8: the engine's network reads every token"):
        optimize(replace(options, points=("fused", "pruned-int8")), Listener())
    assert not options.out.exists()


@pytest.fixture
def of_three_layers(options) -> OptimizeOptions:
    write_network(options.engine, SpanNetwork(BertModel(config(3), add_pooling_layer=False)))
    return options


def test_an_engine_with_few_layers_is_not_made_to_have_more(of_three_layers, monkeypatch):
    eager, *_, narrow = POINTS
    by_name = {point.name: point for point in POINTS}
    monkeypatch.setattr(running, "POINTS", (eager, by_name["layers4-int8"], by_name["layers3"], narrow))
    made = optimize(replace(of_three_layers, points=()), Listener())
    assert [result.point for result in made.results] == ["eager"]


def test_fewer_layers_than_there_are_cannot_be_asked_for(of_three_layers):
    reason = (
        r"^pruned: the engine's network reads every .*; layers4-int8 and layers3-qat: .* network has only 3 layers$"
    )
    with pytest.raises(EngineError, match=reason):
        optimize(replace(of_three_layers, points=("layers3-qat", "layers4-int8", "pruned", "fused")), Listener())
    assert not of_three_layers.out.exists()


def test_an_engine_that_optimizing_did_not_write_is_not_replaced(options):
    (options.engine / "triton").mkdir()
    with pytest.raises(EngineError, match="already holds an engine"):
        optimize(replace(options, out=options.engine), Listener())
    assert not any((options.engine / "triton").iterdir())


def test_where_nothing_is_good_enough_no_engine_is_left(options):
    options = replace(options, points=("onnx",))
    assert optimize(options, Listener()).best == "onnx"
    listener = Listener()
    assert optimize(replace(options, allowed_loss=-1.0), listener).best is None
    assert not any((options.out / name).exists() for name in ("triton", "card.json"))
    assert len(listener.said) == 1
    assert "the engine of an earlier run" in listener.said[0]
    assert optimize(options, Listener()).best == "onnx"
    assert (options.out / "triton" / "qa_bert").exists()


def test_results_of_something_else_are_not_mixed_in(options):
    optimize(replace(options, points=("eager",)), Listener())
    with pytest.raises(TrainingError, match="another --limit and --rows: choose another --out"):
        optimize(replace(options, limit=11, rows=65), Listener())


def test_results_with_other_numbers_of_tokens_are_not_mixed_in(options, network):
    write_network(options.engine, network, kept=(64,))
    options = replace(options, points=("eager",))
    optimize(options, Listener())
    path = options.engine / "training" / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"kept_tokens": [48]}))
    with pytest.raises(TrainingError, match=r"another training/config\.json: choose another --out"):
        optimize(options, Listener())


def test_results_on_data_that_were_changed_are_not_mixed_in(options):
    options = replace(options, points=("eager",))
    optimize(options, Listener())
    fields = json.loads(options.evaluation.read_text())
    fields["data"][0]["title"] = "another bridge"
    options.evaluation.write_text(json.dumps(fields))
    with pytest.raises(TrainingError, match="another --out"):
        optimize(options, Listener())


def test_a_point_that_is_not_there():
    with pytest.raises(EngineError, match=r"no point int9: choose of eager, onnx, "):
        choose_points(("fused", "int9"))


def test_an_engine_that_was_not_trained_here(options, tmp_path, capsys, questions):
    (tmp_path / "empty").mkdir()
    arguments = ["--data", str(questions), "--eval", str(questions), "--out", str(tmp_path / "out")]
    assert vivavoce(["optimize", str(tmp_path / "empty"), *arguments]) == 1
    output = capsys.readouterr()
    assert output.out == ""
    assert "training" in output.err
    assert not (tmp_path / "out").exists()


def test_a_package_that_measuring_needs_is_named_with_what_installs_it(options, monkeypatch, capsys):
    for module in ("modelkit.optimize.run", "engines.bert.session", "engines.session"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    data = ["--data", str(options.data[0]), "--eval", str(options.evaluation), "--out", str(options.out)]
    assert vivavoce(["optimize", str(options.engine), *data]) == 1
    error = capsys.readouterr().err
    assert "Optimizing needs the package onnxruntime; " in error
    assert "'./lab[train]'`" in error


def test_the_command_prints_only_json_when_asked(options, capsys):
    data = ["--data", str(options.data[0]), "--eval", str(options.evaluation), "--out", str(options.out)]
    chosen = ["--points", "fused", "--limit", "12", "--threads", "1", "--json", "-"]
    code = vivavoce(["optimize", str(options.engine), *data, *chosen])
    assert code == 0
    fields = json.loads(capsys.readouterr().out)
    assert [point["point"] for point in fields["points"]] == ["eager", "fused"]
    assert fields["points"][1].keys() == {
        "point", "what", "servable", "scores", "megabytes", "latency", "throughput",
    }  # fmt: skip
    assert fields["points"][1]["latency"].keys() == {"p50", "p10", "p90", "original_p50", "speedup"}
    assert Result.from_json(json.dumps(fields["points"][1])).to_json() == fields["points"][1]


def result(name: str, f1: float, speedup: float, *, servable: bool = True) -> Result:
    latency = Latency(10.0, 9.0, 12.0, 10.0 * speedup, speedup)
    return Result(name, name, servable, {"f1": f1}, 1.0, latency, Throughput(4, 20.0, 2, 10.0))


def test_the_fastest_that_loses_little_is_chosen():
    results = [
        result("exact", 0.700, 1.2),
        result("small", 0.696, 2.0),
        result("smaller", 0.690, 4.0),
        result("restless", 0.700, 3.0, servable=False),
    ]
    assert choose(results, "f1", 0.70, 0.007).point == "small"
    assert choose(results, "f1", 0.70, 0.02).point == "smaller"
    assert choose(results[2:], "f1", 0.70, 0.007) is None


def test_the_table_has_a_line_a_point():
    lines = markdown([result("exact", 0.7, 1.2), result("small", 0.696, 2.0)], "small").splitlines()
    assert lines[0] == "| point | f1 | MB | latency, ms | times | rows/s (batch) | times |"
    assert lines[3] == "| **small (`small`)** | 69.6 | 1.0 | 10.0 (9.0 to 12.0) | 2.00 | 20.0 (4) | 2.00 |"
    assert markdown([], None) == ""
