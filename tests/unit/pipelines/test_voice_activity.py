"""The real network, on a real voice."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
import soundfile

from pipelines.vad.silero_graph import CONTEXT_SAMPLES, MEMORY, UnknownNetworkError, plain_graph
from pipelines.vad.voice_activity import WINDOW_SAMPLES, SileroModel, _packaged_model, is_speech

RECORDING = Path(__file__).parents[3] / "demo" / "recordings" / "lights.flac"


@pytest.fixture(scope="module")
def model() -> SileroModel:
    return SileroModel()


@pytest.fixture(scope="module")
def samples() -> np.ndarray:
    return soundfile.read(RECORDING, dtype="float32")[0]


def windows_of(samples: np.ndarray) -> np.ndarray:
    return samples[: len(samples) // WINDOW_SAMPLES * WINDOW_SAMPLES].reshape(-1, WINDOW_SAMPLES)


def probabilities(model: SileroModel, samples: np.ndarray, at_a_time: int = 3) -> np.ndarray:
    stream, windows = model.new_stream(), windows_of(samples)
    parts = [windows[start : start + at_a_time] for start in range(0, len(windows), at_a_time)]
    return np.concatenate([stream.probabilities(part) for part in parts])


def test_speech_is_told_from_the_silence_around_it(model: SileroModel, samples: np.ndarray):
    found = probabilities(model, samples)
    assert found[:6].max() < 0.35
    assert found[-15:].max() < 0.35
    assert np.median(found[15:60]) > 0.8


def test_the_plain_graph_judges_as_the_published_one(model: SileroModel, samples: np.ndarray):
    session = onnxruntime.InferenceSession(_packaged_model(), providers=["CPUExecutionProvider"])
    noisy = samples + np.random.default_rng(3).normal(0, 0.01, len(samples)).astype(np.float32)
    state, wanted = np.zeros((2, 1, 128), np.float32), []
    heard = np.concatenate([np.zeros(CONTEXT_SAMPLES, np.float32), noisy])
    for start in range(0, len(noisy) - WINDOW_SAMPLES + 1, WINDOW_SAMPLES):
        window = heard[np.newaxis, start : start + CONTEXT_SAMPLES + WINDOW_SAMPLES]
        output, state = session.run(None, {"input": window, "state": state, "sr": np.array(16_000, np.int64)})
        wanted.append(output[0, 0])
    windows = [
        heard[at : at + CONTEXT_SAMPLES + WINDOW_SAMPLES]
        for at in range(0, len(wanted) * WINDOW_SAMPLES, WINDOW_SAMPLES)
    ]
    found, _ = model.run(np.stack(windows), (np.zeros(MEMORY, np.float32), np.zeros(MEMORY, np.float32)))
    np.testing.assert_allclose(found, wanted, atol=1e-4)


@pytest.mark.parametrize("at_a_time", [2, 16, 1000])
def test_windows_are_judged_together_as_one_by_one(model: SileroModel, samples: np.ndarray, at_a_time: int):
    # Silence in speech and speech in silence: both where the network is spared and where it is not.
    heard = samples * np.repeat(np.random.default_rng(3).random(len(samples) // 800 + 1) < 0.7, 800)[: len(samples)]
    one_by_one = probabilities(model, heard, 1)
    assert np.count_nonzero(one_by_one == 0) > 5
    assert np.count_nonzero(one_by_one > 0.5) > 20
    np.testing.assert_allclose(probabilities(model, heard, at_a_time), one_by_one, atol=1e-5)


def test_the_plain_graph_keeps_to_the_rules():
    onnx.checker.check_model(plain_graph(_packaged_model(), WINDOW_SAMPLES), full_check=True)


def test_another_network_is_refused(tmp_path: Path):
    network = onnx.load(_packaged_model())
    branch = next(a.g for node in network.graph.node for a in node.attribute if a.name == "then_branch")
    (basis,) = (node for node in branch.node if node.output[0].endswith("forward_basis_buffer"))
    basis.output[0] = "stft.another_buffer"
    onnx.save(network, tmp_path / "renamed.onnx")
    with pytest.raises(UnknownNetworkError, match=r"renamed\.onnx has no weights 'stft\.forward_basis_buffer'"):
        plain_graph(tmp_path / "renamed.onnx", WINDOW_SAMPLES)
    del network.graph.node[:]
    onnx.save(network, tmp_path / "empty.onnx")
    with pytest.raises(UnknownNetworkError, match="does not choose between sample rates"):
        plain_graph(tmp_path / "empty.onnx", WINDOW_SAMPLES)


def test_streams_do_not_disturb_each_other(model: SileroModel, samples: np.ndarray):
    alone = probabilities(model, samples)
    one, other = model.new_stream(), model.new_stream()
    noise = np.random.default_rng(3).normal(0, 0.1, (2, WINDOW_SAMPLES)).astype(np.float32)
    windows, together = windows_of(samples), []
    for start in range(0, len(windows), 3):
        together += one.probabilities(windows[start : start + 3])
        other.probabilities(noise)
    np.testing.assert_array_equal(together, alone)


def test_the_network_is_spared_while_nothing_can_be_heard(model: SileroModel, monkeypatch: pytest.MonkeyPatch):
    runs = []
    run = model.run
    monkeypatch.setattr(model, "run", lambda *arguments: runs.append(1) or run(*arguments))
    hiss = np.random.default_rng(3).normal(0, 5e-4, 400 * WINDOW_SAMPLES).astype(np.float32)
    found = probabilities(model, hiss)
    # For the first seconds nobody knows that it is the floor.
    assert found.max() < 0.35
    assert found[150:].max() == 0
    assert len(runs) < 60


def test_speech_after_long_silence_is_heard_as_soon_as_speech_at_once(model: SileroModel, samples: np.ndarray):
    at_once = probabilities(model, samples)
    silence = np.zeros(1000 * WINDOW_SAMPLES, np.float32)
    later = probabilities(model, np.concatenate([silence, samples]))[1000:]
    assert abs(np.argmax(later > 0.5) - np.argmax(at_once > 0.5)) <= 1


@pytest.mark.parametrize(
    ("probability", "was_speech", "speech"),
    [(0.5, False, True), (0.49, False, False), (0.35, True, True), (0.34, True, False)],
)
def test_speech_ends_at_a_lower_probability_than_it_begins(probability: float, was_speech: bool, speech: bool):
    assert is_speech(probability, was_speech=was_speech) is speech
