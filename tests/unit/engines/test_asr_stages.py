"""Stages of an encoder: what they hold of streams, and what asks them."""

from __future__ import annotations

import json
import sys
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from engines.asr.errors import LostStreamError
from engines.asr.fastconformer.staged import CONTROLS, KEEPS, RELEASED, SOURCE, TARGET, LayerStage, StagedLayers
from engines.asr.stage_loading import load_stage
from engines.asr.stages import Stage, StagedNetwork, staged_network

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

IDLE_SECONDS = 301


class Counting:
    """Layers that keep how many steps each stream has had."""

    def run(
        self, inputs: Mapping[str, np.ndarray], cached: Sequence[int | None], keeps: Sequence[bool]
    ) -> tuple[list[np.ndarray], list[int]]:
        assert not set(inputs) & set(CONTROLS)
        after = [1 + (one or 0) for one in cached]
        return [np.array(after)], after


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def network(*stages: LayerStage, broken: Sequence[int] = ()) -> StagedNetwork:
    """Stages that hand their count on; those that are broken fail."""

    def ask(model: str, inputs: Mapping[str, np.ndarray], outputs: Sequence[str]) -> dict[str, np.ndarray]:
        if int(model) in broken:
            raise RuntimeError("the process has ended")
        (found,) = stages[int(model)].run(inputs)
        return dict.fromkeys(outputs, found)

    outputs = ("encoded", "sub0_next", "sub1_next", "sub2_next")
    described = [Stage(str(number), ("mels", *CONTROLS), outputs) for number in range(len(stages))]
    return StagedNetwork(described, outputs, ask)


def step(layers: StagedLayers, cached: Sequence[object], *, keeps: bool = False) -> tuple[list[int], list[object]]:
    (encoded, *_), after = layers.run({"mels": np.zeros(1)}, cached, [keeps] * len(cached))
    return encoded.tolist(), after


def test_every_stage_holds_its_caches_and_drops_those_of_streams_that_are_gone():
    stages = LayerStage(Counting()), LayerStage(Counting())
    layers = StagedLayers(network(*stages))
    counts, streams = step(layers, [None, None])
    assert counts == [1, 1]
    counts, forks = step(layers, streams, keeps=True)
    assert (counts, [len(stage) for stage in stages]) == ([2, 2], [4, 4])
    del forks
    counts, streams = step(layers, streams)
    assert (counts, [len(stage) for stage in stages]) == ([2, 2], [2, 2])
    streams.pop()
    assert step(layers, streams)[0] == [3]
    assert [len(stage) for stage in stages] == [1, 1]


def test_a_stream_whose_caches_are_gone_is_begun_again():
    broken: list[int] = []
    stages = [LayerStage(Counting()), LayerStage(Counting())]
    layers = StagedLayers(network(*stages, broken=broken))
    _, streams = step(layers, [None])
    broken.append(1)
    with pytest.raises(RuntimeError, match="has ended"):
        step(layers, streams)
    broken.clear()
    with pytest.raises(LostStreamError, match="must specify the START flag"):
        step(layers, streams)
    assert step(layers, [None])[0] == [1]


def test_caches_of_a_recognizer_that_died_do_not_stay():
    clock = Clock()
    stage = LayerStage(Counting(), clock)
    given = {SOURCE: [0], TARGET: [5], KEEPS: [False], RELEASED: []}
    stage.run({name: np.array(values) for name, values in given.items()})
    clock.now = IDLE_SECONDS
    given[TARGET] = [6]
    stage.run({name: np.array(values) for name, values in given.items()})
    assert len(stage) == 1


@pytest.fixture
def triton(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = ModuleType("triton_python_backend_utils")
    module.Tensor = lambda name, values: (name, values)
    module.get_output_tensor_by_name = lambda response, name: SimpleNamespace(as_numpy=lambda: response.outputs[name])
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return module


@pytest.mark.parametrize(
    ("message", "kind"),
    [("the sequence must specify the START flag", LostStreamError), ("Model 'b' is not ready.", RuntimeError)],
)
def test_what_a_stage_refuses_is_told(triton: ModuleType, message: str, kind: type[Exception]):
    asked = []

    def request(model_name: str, **given: object) -> SimpleNamespace:
        asked.append(model_name)
        error = SimpleNamespace(message=lambda: message)
        failed = SimpleNamespace(has_error=lambda: model_name == "b.2", error=lambda: error)
        failed.outputs = {"next_hidden_state": np.ones(1)}
        return SimpleNamespace(exec=lambda: failed)

    triton.InferenceRequest = request
    card = {
        "stages": [
            {"inputs": ["x"], "outputs": ["next_hidden_state"]},
            {"inputs": ["hidden_state"], "outputs": ["y"]},
        ],
        "outputs": ["y"],
    }
    encoder = staged_network(card, {"stages": "a.2,b.2"})
    with pytest.raises(kind, match=message):
        encoder.run(None, {"x": np.zeros(1)})
    assert asked == ["a.2", "b.2"]
    with pytest.raises(ValueError, match=r"describes 2 stages, and config.pbtxt names a: split the engine again"):
        staged_network(card, {"stages": "a"})
    assert staged_network({}, {}) is None


def test_outside_of_triton_stages_are_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "triton_python_backend_utils", None)
    with pytest.raises(ValueError, match="which Triton alone computes: serve the engine, or take the one"):
        staged_network({"stages": [{"inputs": [], "outputs": []}], "outputs": []}, {"stages": "a"})


@pytest.mark.parametrize(
    ("kind", "count", "says"),
    [
        ("GPU", 1, "on a GPU by an accelerator alone: set its accelerator to cuda or tensorrt"),
        ("CPU", 2, "holds the caches of its streams in one process: set its instances to 1"),
    ],
)
def test_a_stage_that_cannot_be_served_so_is_refused(tmp_path: Path, kind: str, count: int, says: str):
    (tmp_path / "recognizer.json").write_text('{"kind": "fastconformer", "layers": [0]}')
    config = json.dumps({"instance_group": [{"count": count}]})
    with pytest.raises(ValueError, match=says):
        load_stage(tmp_path, {"model_instance_kind": kind, "model_config": config}, 1)
