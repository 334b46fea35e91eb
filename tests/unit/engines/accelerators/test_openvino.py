"""Networks on OpenVINO: the same results, and errors that name the cure."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
import onnxruntime as ort
import openvino
import pytest

from engines.accelerators import openvino_session
from engines.accelerators.choice import Accelerator, AcceleratorError
from engines.accelerators.openvino_session import OpenVinoSession, check_precision, try_out
from engines.bert.session import BertSession
from engines.session import load_session
from tests.unit.engines.accelerators.networks import BERTS, DECODER, ENCODER, features, tokens
from tests.unit.engines.accelerators.test_portable import IN_8_BITS, IN_FLOAT32, off

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

INTENTS = BERTS["intent_slot_bert"]
ABLE = openvino.Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")
BOUNDS = {
    precision: bound
    for precision, bound, needed in (
        ("fp32", IN_FLOAT32, "FP32"),
        ("bf16", 2 * IN_FLOAT32, "BF16"),
        ("fp16", IN_FLOAT32, "FP16"),
        # OpenVINO fuses products with what surrounds them, and rounds elsewhere.
        ("int8", 300 * IN_8_BITS, "INT8"),
    )
    if needed in ABLE
}
"""Greatest distance from onnxruntime's 8 bits in each precision that this processor computes."""
FP32 = Accelerator("openvino", "fp32")


@pytest.mark.parametrize("name", BERTS)
@pytest.mark.parametrize("precision", BOUNDS)
def test_berts_compute_the_same_in_every_precision(name: str, precision: str):
    session = OpenVinoSession(BERTS[name], Accelerator("openvino", precision), 1)
    reference = ort.InferenceSession(BERTS[name])
    feeds = tokens(node.name for node in session.get_inputs())
    got, expected = session.run(None, feeds), reference.run(None, feeds)
    assert off(got, expected, feeds["attention_mask"]) < BOUNDS[precision]
    named = session.run([reference.get_outputs()[-1].name], feeds)
    np.testing.assert_array_equal(named[0], got[-1])
    for nodes, others in (
        (session.get_inputs(), reference.get_inputs()),
        (session.get_outputs(), reference.get_outputs()),
    ):
        assert [(node.name, node.shape) for node in nodes] == [(node.name, node.shape) for node in others]


def test_recognition_s_encoder_computes_what_onnxruntime_does():
    got = load_session(ENCODER, 1, accelerator=FP32).run(None, features())
    for one, expected in zip(got, ort.InferenceSession(ENCODER).run(None, features()), strict=True):
        np.testing.assert_allclose(one, expected, atol=1e-4)


def test_runs_from_several_threads_do_not_mix():
    session = OpenVinoSession(INTENTS, Accelerator("openvino", "fp32", threads=1), 2, runs=2)
    batches = [tokens(("input_ids", "attention_mask"), rows, length) for rows, length in ((1, 8), (3, 24), (2, 13))]
    expected = [session.run(None, batch) for batch in batches]
    with ThreadPoolExecutor(3) as pool:
        for number, got in enumerate(pool.map(lambda batch: session.run(None, batch), batches * 8)):
            for one, other in zip(got, expected[number % 3], strict=True):
                np.testing.assert_allclose(one, other, atol=1e-5)


def test_a_row_gets_the_same_result_in_any_batch():
    session = BertSession(INTENTS, 1, FP32)
    requests = [tokens(session.inputs, rows=1, length=length) for length in (5, 9, 30)]
    for got, request in zip(session.run(requests), requests, strict=True):
        (alone,) = session.run([request])
        np.testing.assert_allclose(got["tag_logits"], alone["tag_logits"], atol=1e-4)


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_a_precision_that_the_processor_lacks_is_refused_with_those_that_it_has(precision: str):
    with pytest.raises(
        AcceleratorError, match=f"this processor does not compute {precision}: set precision_mode to one of fp32, int8$"
    ):
        check_precision(precision, ["FP32", "INT8", "BIN"])
    check_precision(precision, ["FP32", "BF16", "FP16"])


def damaged(folder: Path) -> Path:
    (folder / "damaged.onnx").write_bytes(INTENTS.read_bytes()[:100_000])
    return folder / "damaged.onnx"


@pytest.mark.parametrize(
    ("path", "precision", "complaint"),
    [
        (lambda _: DECODER, "fp32", "OpenVINO cannot compute .*decoder.onnx in fp32: GroupQueryAttention"),
        (lambda _: ENCODER, "int8", "its products are not in 8 bits of fixed ranges: leave the accelerator out"),
        (damaged, "fp32", "damaged.onnx cannot be read .*: import the engine again"),
        (lambda folder: folder / "missing.onnx", "fp32", "missing.onnx cannot be read .*: import the engine again"),
    ],
)
def test_a_graph_that_cannot_be_computed_is_refused(
    tmp_path: Path, path: Callable[[Path], Path], precision: str, complaint: str
):
    with pytest.raises(AcceleratorError, match=complaint):
        load_session(path(tmp_path), 1, accelerator=Accelerator("openvino", precision))


@pytest.mark.parametrize(
    ("loading", "complaint"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", f"crashed with signal {int(signal.SIGSEGV)}"),
        ("raise ImportError('libopenvino.so is missing')", r"libopenvino.so is missing.*vivavoce-server\[openvino\]"),
        ("import time; time.sleep(60)", "has not loaded .* after 2 s"),
    ],
    ids=["crashes", "is not installed", "hangs"],
)
def test_a_library_that_cannot_be_loaded_ends_a_process_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, loading: str, complaint: str
):
    (tmp_path / "openvino.py").write_text(loading)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(openvino_session, "_TRIAL_SECONDS", 2 if "sleep" in loading else 60)
    with pytest.raises(AcceleratorError, match=f"{complaint}.*leave the accelerator out"):
        try_out(INTENTS, FP32, 1)
    assert os.environ["PYTHONPATH"]


@pytest.mark.parametrize(("name", "packages"), [("cuda", "onnxruntime-gpu"), ("tensorrt", "onnxruntime-gpu tensorrt")])
def test_a_gpu_s_accelerator_that_is_not_installed_is_refused(name: str, packages: str):
    if "TensorrtExecutionProvider" in ort.get_available_providers():
        pytest.skip("TensorRT is installed here")
    with pytest.raises(
        AcceleratorError,
        match=f"{name} is not installed, and there is .*CPUExecutionProvider: pip install {packages}, or leave",
    ):
        load_session(INTENTS, 1, accelerator=Accelerator(name, "fp32"))
