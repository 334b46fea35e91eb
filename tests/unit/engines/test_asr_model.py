"""The Triton model ``asr``, beside a stand-in for Triton."""

from __future__ import annotations

import importlib.util
import sys
from collections import defaultdict
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from engines.asr.errors import InvalidHintsError

MODEL = Path(__file__).parents[3] / "model_repository" / "asr" / "1" / "model.py"
FLAGS = ("READY", "START", "END", "DECODE")


class MetricFamily:
    """As Triton's: metrics of one name and the same labels are one, and counters only grow."""

    GAUGE, COUNTER = "gauge", "counter"
    held: defaultdict[tuple[str, tuple[tuple[str, str], ...]], float]

    def __init__(self, name: str, description: str, kind: str) -> None:
        self.name = name
        self.kind = kind

    def Metric(self, labels: dict[str, str]) -> SimpleNamespace:  # noqa: N802 - Triton's own name
        key = (self.name, tuple(labels.items()))

        def increment(value: float) -> None:
            if self.kind == self.COUNTER and value < 0:
                raise RuntimeError("counters can only be incremented by non-negative values")
            self.held[key] += value

        def put(value: float) -> None:
            self.held[key] = value

        return SimpleNamespace(increment=increment, set=put, value=lambda: self.held[key])


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    triton = ModuleType("triton_python_backend_utils")
    MetricFamily.held = defaultdict(float)
    triton.MetricFamily = MetricFamily
    triton.get_input_tensor_by_name = lambda request, name: request.get(name)
    monkeypatch.setitem(sys.modules, triton.__name__, triton)
    spec = importlib.util.spec_from_file_location("asr_model", MODEL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def engine(open_sequences: int = 0, decoded: int = 0, thinned: int = 0) -> SimpleNamespace:
    partials = SimpleNamespace(decoded=decoded, thinned=thinned, load=SimpleNamespace(share=0.5))
    return SimpleNamespace(open_sequences=open_sequences, partials=partials)


def request(**inputs: object) -> dict[str, SimpleNamespace]:
    given = {"CORRID": 7, "AUDIO": [[0.0]], **dict.fromkeys(FLAGS, False), "READY": True, **inputs}
    return {name: SimpleNamespace(as_numpy=lambda value=value: np.array(value)) for name, value in given.items()}


def test_instances_that_share_a_metric_count_in_it_together(model: ModuleType) -> None:
    first, second = model._Metrics({"model": "asr"}), model._Metrics({"model": "asr"})
    first.show(engine(decoded=5))
    second.show(engine(decoded=2))
    first.show(engine(decoded=6, thinned=1))
    held = {name: value for (name, _), value in MetricFamily.held.items()}
    assert held["vivavoce_asr_partials_decoded_total"] == 8
    assert held["vivavoce_asr_partials_thinned_total"] == 1


def test_every_instance_has_metrics_of_its_own(model: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "MoonshineRecognizer", lambda folder, threads: None)
    parameters = {"partial_interval_seconds": "0.4", "max_utterance_seconds": "30", "threads": "1"}
    config = {
        "parameters": {key: {"string_value": value} for key, value in parameters.items()},
        "sequence_batching": {"max_sequence_idle_microseconds": "60000000"},
    }
    for instance, held in (("asr_0_0", 3), ("asr_0_1", 0)):
        triton_model = model.TritonPythonModel()
        triton_model.initialize(
            {
                "model_config": model.json.dumps(config),
                "model_repository": "",
                "model_name": "asr",
                "model_version": "1",
                "model_instance_name": instance,
            }
        )
        triton_model._metrics.show(engine(held))
    told = {labels: value for (name, labels), value in MetricFamily.held.items() if name.endswith("open_sequences")}
    assert sorted(told.values()) == [0, 3]
    assert {dict(labels)["instance"] for labels in told} == {"asr_0_0", "asr_0_1"}


def test_hints_out_of_bounds_are_refused_by_the_engine(model: ModuleType) -> None:
    read = model._read(request(START=True, PHRASE_HINTS=[[b"x", b"y"]], PHRASE_BOOSTS=[[1.0]]))
    assert isinstance(read.refusal, InvalidHintsError)
    assert (read.sequence_id, read.start, read.hints) == (7, True, ())


def test_a_place_of_a_sequence_that_sends_nothing_is_no_request(model: ModuleType) -> None:
    assert model._read(request(READY=False)) is None
