"""The Triton model ``asr``, beside a stand-in for Triton."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections import defaultdict
from concurrent.futures import Future
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from engines.accelerators.choice import Accelerator
from engines.asr.errors import InvalidHintsError, UnknownSequenceError
from engines.asr.moonshine import loading
from engines.asr.recognizers import load_recognizer
from engines.asr.serving.requests import AsrRequest, AsrResult
from engines.deadline import Deadlines
from tests.unit.engines.counting_recognizer import CountingRecognizer

if TYPE_CHECKING:
    from collections.abc import Iterator

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


def arguments(instance: str, **changed: str) -> dict[str, str]:
    """What Triton starts an instance with, by the shipped parameters but for those that are changed."""
    parameters = {
        "partial_interval_seconds": "0.4",
        "max_utterance_seconds": "30",
        "workers": "2",
        "threads": "1",
        "speculative_decoding": "true",
    }
    config = {
        "max_batch_size": 32,
        "parameters": {key: {"string_value": value} for key, value in (parameters | changed).items()},
        "sequence_batching": {"max_sequence_idle_microseconds": "60000000"},
    }
    return {
        "model_config": json.dumps(config),
        "model_repository": "",
        "model_name": "asr",
        "model_version": "1",
        "model_instance_name": instance,
        "model_instance_kind": "CPU",
        "model_instance_device_id": "0",
    }


def test_every_instance_has_metrics_of_its_own(model: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "MoonshineRecognizer", lambda folder, **options: CountingRecognizer())
    for instance, held in (("asr_0_0", 3), ("asr_0_1", 0)):
        triton_model = model.TritonPythonModel()
        triton_model.initialize(arguments(instance))
        triton_model._model._metrics.show(engine(held))
        triton_model.finalize()
    told = {labels: value for (name, labels), value in MetricFamily.held.items() if name.endswith("open_sequences")}
    assert sorted(told.values()) == [0, 3]
    assert {dict(labels)["instance"] for labels in told} == {"asr_0_0", "asr_0_1"}


@pytest.mark.parametrize("speculative", [True, False])
def test_speculative_decoding_can_be_left_out(
    model: ModuleType, monkeypatch: pytest.MonkeyPatch, *, speculative: bool
) -> None:
    options: dict[str, object] = {}

    def load(folder: Path, **given: object) -> CountingRecognizer:
        options.update(given)
        return CountingRecognizer()

    monkeypatch.setattr(loading, "MoonshineRecognizer", load)
    triton_model = model.TritonPythonModel()
    triton_model.initialize(arguments("asr_0_0", speculative_decoding=str(speculative).lower()))
    triton_model.finalize()
    assert options == {
        "threads": 1,
        "speculative": speculative,
        "networks": None,
        "accelerator": Accelerator(),
        "workers": 2,
    }


@pytest.mark.parametrize(
    ("card", "message"),
    [
        ("[", "is no JSON"),
        ("[]", "holds no JSON object"),
        ('{"kind": "os"}', "names the kind 'os': there are moonshine, fastconformer"),
        ('{"kind": ["moonshine"]}', "names the kind"),
    ],
)
def test_a_card_that_names_no_recognizer_is_refused(tmp_path: Path, card: str, message: str) -> None:
    (tmp_path / "recognizer.json").write_text(card)
    with pytest.raises(ValueError, match=message):
        load_recognizer(tmp_path, {}, {})


def test_hints_out_of_bounds_are_refused_by_the_engine(model: ModuleType) -> None:
    read = model._read(request(START=True, PHRASE_HINTS=[[b"x", b"y"]], PHRASE_BOOSTS=[[1.0]]))
    assert isinstance(read.refusal, InvalidHintsError)
    assert (read.sequence_id, read.start, read.hints) == (7, True, ())


def test_a_place_of_a_sequence_that_sends_nothing_is_no_request(model: ModuleType) -> None:
    assert model._read(request(READY=False)) is None


def test_audio_outlives_its_request(model: ModuleType) -> None:
    memory = np.zeros((1, 3), np.float32)
    read = model._read(request(AUDIO=memory))
    memory[:] = 1
    assert read.audio.tolist() == [0, 0, 0]


class Sender:
    """Remembers the only response, unless it is broken."""

    def __init__(self, *, broken: bool = False) -> None:
        self._broken = broken
        self.sent: Future[SimpleNamespace] = Future()

    def send(self, response: SimpleNamespace, flags: int) -> None:
        assert flags == 1
        if self._broken:
            raise RuntimeError("nobody is there")
        self.sent.set_result(response)


class Asked(dict[str, SimpleNamespace]):
    """A request, and who waits for the answer."""

    def __init__(self, sender: Sender, **inputs: object) -> None:
        super().__init__(request(**inputs))
        self._sender = sender

    def get_response_sender(self) -> Sender:
        return self._sender

    def parameters(self) -> str:
        return '{"useful_us": 2500000}'


def test_only_texts_that_are_asked_for_have_a_deadline(model: ModuleType) -> None:
    model._DEADLINES = Deadlines(lambda: 10.0)
    read = [model._read(Asked(Sender(), **flags)) for flags in ({}, {"DECODE": True}, {"END": True})]
    assert [asked.deadline_seconds for asked in read] == [None, 12.5, 12.5]


@pytest.fixture
def responses(model: ModuleType) -> None:
    """Lets responses be made as Triton's are."""
    triton = sys.modules["triton_python_backend_utils"]
    triton.TRITONSERVER_RESPONSE_COMPLETE_FINAL = 1
    triton.TritonError = lambda message, code="INTERNAL": SimpleNamespace(message=message, code=code)
    triton.TritonError.INVALID_ARG = "INVALID_ARG"
    triton.Tensor = lambda name, value: (name, value)
    triton.InferenceResponse = lambda outputs=(), error=None: SimpleNamespace(outputs=dict(outputs), error=error)


class Engine:
    """Transcribes as the sequence's number; refuses sequence 8 and breaks of sequence 9."""

    open_sequences = 1

    def process(self, requests: list[AsrRequest]) -> Iterator[tuple[int, AsrResult | UnknownSequenceError]]:
        for index, asked in enumerate(requests):
            if asked.sequence_id == 9:
                raise RuntimeError("the model broke")
            refused = UnknownSequenceError("Send START.") if asked.sequence_id == 8 else None
            yield index, refused or AsrResult(str(asked.sequence_id), False, 0, 0.0)


def test_every_request_is_answered_in_its_own_way(model: ModuleType, responses: None) -> None:
    triton_model = object.__new__(model._Recognition)
    triton_model._engine, triton_model._metrics = Engine(), None
    triton_model._workers = model.Workers(triton_model._engine, 1, 32, lambda: None)
    senders = [Sender(), Sender(broken=True), Sender(), Sender(), Sender()]
    asked = [Asked(s, CORRID=n, DECODE=True) for s, n in zip(senders, (5, 6, 7, 8, 9), strict=True)]
    assert triton_model.execute([*asked, Asked(Sender(), READY=False)]) == [None] * 6
    triton_model.finalize()
    texts = [senders[i].sent.result(0).outputs["TRANSCRIPT"].item().decode() for i in (0, 2)]
    assert texts == ["5", "7"]
    assert not senders[1].sent.done()
    refused, broken = (sender.sent.result(0).error for sender in senders[3:])
    assert (refused.message, refused.code) == ("Send START.", "INVALID_ARG")
    assert "the model broke" in broken.message
    assert broken.code == "INTERNAL"


def test_a_request_that_cannot_be_read_loses_nobody_else_of_its_batch(model: ModuleType, responses: None) -> None:
    triton_model = object.__new__(model._Recognition)
    triton_model._engine, triton_model._metrics = Engine(), None
    triton_model._workers = model.Workers(triton_model._engine, 1, 32, lambda: None)
    before, unreadable, after = Sender(), Sender(), Sender()
    asked = [Asked(sender, CORRID=5, DECODE=True) for sender in (before, unreadable, after)]
    del asked[1]["AUDIO"]
    assert triton_model.execute(asked) == [None] * 3
    triton_model.finalize()
    texts = [sender.sent.result(0).outputs["TRANSCRIPT"].item().decode() for sender in (before, after)]
    assert texts == ["5", "5"]
    assert unreadable.sent.result(0).error.code == "INTERNAL"
