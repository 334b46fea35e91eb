"""Answers to overlapping batches, beside a stand-in for Triton."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")

from tests.unit.engines.bert.stand_in import import_beside_triton


class Request:
    """With the sender of its response, as one object."""

    def __init__(self, *, lost=False, ids=1):
        self.inputs = {"INPUT_IDS": np.full((1, 2), ids), "ATTENTION_MASK": np.ones((1, 2))}
        self.lost = lost
        self.answer = None

    def parameters(self):
        return ""

    def get_response_sender(self):
        return self

    def send(self, response, flags):
        if self.lost:
            raise RuntimeError("Failed to increase the shared memory pool size")
        assert (self.answer, flags) == (None, 1)
        self.answer = response


class Session:
    inputs = ("input_ids", "attention_mask")

    def __init__(self, *_):
        pass

    def check(self, inputs):
        if inputs["input_ids"].max() > 8:
            raise ValueError("input_ids must be from 0 to 8")

    def start(self, requests):
        return Pending(requests)


class Pending:
    def __init__(self, requests):
        self._ids = [request["input_ids"] for request in requests]

    def wait(self):
        if any((ids < 0).any() for ids in self._ids):
            raise RuntimeError("the GPU is lost")
        if any((ids == 7).any() for ids in self._ids):
            return []
        return [{"logits": ids * 10.0} for ids in self._ids]


@pytest.fixture
def network(monkeypatch, tmp_path):
    serving = import_beside_triton("engines.bert.gpu.serving", monkeypatch)
    monkeypatch.setattr(serving, "read_network", lambda _: (None, None))
    monkeypatch.setattr(serving, "GpuBertSession", Session)
    return serving.OverlappedNetwork(tmp_path, {}, "cpu")


def computed(request):
    return None if request.answer is None or request.answer.error else request.answer.outputs["LOGITS"].tolist()


def test_who_cannot_be_answered_keeps_nobody_else_waiting(network, caplog):
    lost, beside, later = Request(lost=True), Request(ids=2), Request(ids=3)
    network.execute([lost, beside])
    network.execute([later])
    network.close()
    assert [computed(request) for request in (beside, later)] == [[[20.0, 20.0]], [[30.0, 30.0]]]
    assert "a caller was not answered" in caplog.text
    assert "Failed to increase the shared memory pool size" in caplog.text


def test_who_cannot_be_told_of_an_error_keeps_nobody_else_waiting(network):
    lost, beside, later = Request(lost=True, ids=-1), Request(), Request(ids=3)
    network.execute([lost, beside])
    network.execute([later])
    network.close()
    assert beside.answer.error.message == "the GPU is lost"
    assert computed(later) == [[30.0, 30.0]]


def test_who_cannot_be_refused_keeps_nobody_else_waiting(network):
    lost, refused, beside = Request(lost=True, ids=9), Request(ids=9), Request(ids=2)
    network.execute([lost, refused, beside])
    network.close()
    assert refused.answer.error.code == "invalid argument"
    assert computed(beside) == [[20.0, 20.0]]


def test_results_that_are_not_those_of_the_batch_end_nobody_but_the_batch(network):
    short, beside, later = Request(ids=7), Request(), Request(ids=3)
    network.execute([short, beside])
    network.execute([later])
    network.close()
    assert "shorter" in short.answer.error.message
    assert "shorter" in beside.answer.error.message
    assert computed(later) == [[30.0, 30.0]]


def test_who_cannot_be_read_keeps_nobody_else_waiting(network):
    before, unreadable, after = Request(), Request(), Request(ids=2)
    del unreadable.inputs["INPUT_IDS"]
    network.execute([before, unreadable, after])
    network.close()
    assert unreadable.answer.error.message.startswith("AttributeError")
    assert [computed(request) for request in (before, after)] == [[[10.0, 10.0]], [[20.0, 20.0]]]
