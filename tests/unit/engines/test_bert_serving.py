from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np

from tests.unit.engines.bert.stand_in import import_beside_triton


def test_a_request_is_overdue_when_its_answer_is_of_no_use_any_more(monkeypatch):
    serving = import_beside_triton("engines.bert.serving", monkeypatch)
    for useful_us, overdue in ((-1, True), (10_000_000, False), (None, False)):
        parameters = json.dumps({"useful_us": useful_us, "sent_us": 1, "sender": "a"})
        assert serving.is_overdue(SimpleNamespace(parameters=lambda told=parameters: told)) is overdue


class Request:
    """A request with one input, or without it."""

    def __init__(self, **inputs: object) -> None:
        self.inputs = {name: np.array(value) for name, value in inputs.items()}

    def parameters(self) -> str:
        return ""


def test_a_request_that_an_engine_makes_a_mistake_with_loses_nobody_else_of_its_batch(monkeypatch, caplog):
    serving = import_beside_triton("engines.bert.serving", monkeypatch)

    def serve(request: Request) -> dict[str, np.ndarray]:
        if request.inputs["TEXT"] == "secret":
            raise KeyError("secret")
        return {"TEXT": request.inputs["TEXT"]}

    before, broken, after = serving.answer_each([Request(TEXT=text) for text in ("a", "secret", "b")], serve)
    assert [answer.outputs["TEXT"].item() for answer in (before, after)] == ["a", "b"]
    assert broken.error.message == "KeyError: see Triton's log"
    assert "secret" not in caplog.text.replace('"secret"', "")
    assert "serve" in caplog.text


def test_a_request_without_an_input_loses_nobody_else_of_its_batch(monkeypatch):
    network_model = import_beside_triton("engines.bert.network_model", monkeypatch)
    network = object.__new__(network_model._OnnxNetwork)
    network._session = SimpleNamespace(
        inputs=("input_ids",), run=lambda inputs: [{"logits": one["input_ids"] * 10.0} for one in inputs]
    )
    before, broken, after = network.execute([Request(INPUT_IDS=[[1]]), Request(), Request(INPUT_IDS=[[2]])])
    assert [answer.outputs["LOGITS"].tolist() for answer in (before, after)] == [[[10.0]], [[20.0]]]
    assert broken.error.message.startswith("AttributeError")
