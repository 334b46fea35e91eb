"""Recorded sizes without a GPU: a stand-in for CUDA graphs that writes its results where it wrote them before."""

from __future__ import annotations

import gc

import pytest

torch = pytest.importorskip("torch")

from engines.asr.gpu import room  # noqa: E402 - only where PyTorch is
from engines.asr.gpu.networks import GpuNetworks, GpuOptions  # noqa: E402
from engines.asr.gpu.sizes import Sizes  # noqa: E402
from engines.asr.moonshine.model import MoonshineRecognizer  # noqa: E402
from engines.build.moonshine import TARGET  # noqa: E402
from engines.gpu import graphs  # noqa: E402
from lab.tests.unit.asr_gpu.conftest import heard  # noqa: E402

SIZES = Sizes(most_rows=8, most_frames=1024, longest=256, most_drafted=128)


class Graph:
    """What a CUDA graph does: computes from the tensors that it was recorded with, into those that it returned."""

    replayed = 0

    def __init__(self, work):
        self._work = work
        self.outputs = work()

    def replay(self):
        Graph.replayed += 1
        fresh = self._work()
        kept, new = ((one,) if isinstance(one, torch.Tensor) else one for one in (self.outputs, fresh))
        for target, source in zip(kept, new, strict=True):
            if target is not None:
                target.copy_(source)


@pytest.fixture
def recorded(weights, monkeypatch):
    """A recognizer whose sizes are all recorded."""
    titles = []

    def record(work, stream, first, title):
        titles.append(title)
        graph = Graph(work)
        return graph, graph.outputs

    monkeypatch.setattr(room, "record", record)
    networks = GpuNetworks(weights, GpuOptions("cpu", "float32", 1, sizes=SIZES))
    (only,) = [networks._rooms.get()]
    only._record(None)
    networks._rooms.put(only)
    assert only.recorded == len(titles) > len(SIZES.encoder_frames) + len(SIZES.batches)
    return MoonshineRecognizer(TARGET, networks=networks)


@pytest.fixture(scope="module")
def alone(pieces):
    on_onnxruntime = MoonshineRecognizer(TARGET)
    return [on_onnxruntime.transcribe([heard(piece)])[0] for piece in pieces]


def test_recorded_sizes_give_the_same_texts_with_drafts_and_without(recorded, pieces, alone):
    Graph.replayed = 0
    assert recorded.transcribe([heard(piece) for piece in pieces]) == alone
    # One run of the encoder, and a pass for each token of the longest text, in each of a few batches.
    assert Graph.replayed > max(map(len, alone))
    drafted = [heard(piece, tokens) for piece, tokens in zip(pieces, alone, strict=True)]
    assert recorded.transcribe(drafted) == alone


def test_beams_run_on_recorded_sizes_too(recorded, pieces):
    found = []
    for one in (recorded, MoonshineRecognizer(TARGET)):
        utterances = [heard(piece) for piece in pieces[:3]]
        for utterance in utterances:
            utterance.wanted = 2
        found.append([[text.tokens for text in texts] for texts in one.search(utterances, thorough=True)])
    assert found[0] == found[1]


class Context:
    def __init__(self, *_, **__):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False


@pytest.fixture
def cuda(monkeypatch):
    """A PyTorch that can record."""
    stream = type("Stream", (), {"device": "cuda:0", "synchronize": lambda self: None})()
    monkeypatch.setattr(torch.cuda, "synchronize", lambda device: None)
    monkeypatch.setattr(torch.cuda, "stream", Context)
    monkeypatch.setattr(torch.cuda, "graph", Context)
    monkeypatch.setattr(torch.cuda, "CUDAGraph", lambda: "a graph")
    return stream


def test_work_is_warmed_up_and_recorded(cuda):
    collecting = []
    graph, results = graphs.record(lambda: collecting.append(gc.isenabled()) or len(collecting), cuda, None, "work")
    assert (graph, results) == ("a graph", len(collecting))
    # The collector could free another graph while this one is captured, which ends the capture.
    assert collecting == [True] * (len(collecting) - 1) + [False]
    assert len(collecting) > 1
    assert gc.isenabled()


def test_work_that_cannot_be_recorded_is_left_to_run_step_by_step(cuda, monkeypatch, caplog):
    class Failing(Context):
        def __enter__(self):
            raise RuntimeError("operation not permitted when stream is capturing")

    monkeypatch.setattr(torch.cuda, "graph", Failing)
    with caplog.at_level("WARNING"):
        assert graphs.record(lambda: 7, cuda, None, "encoding 128 frames") == (None, None)
    assert "encoding 128 frames could not be recorded as a CUDA graph, and is slower: operation not" in caplog.text
