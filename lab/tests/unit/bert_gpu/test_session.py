from __future__ import annotations

import dataclasses

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from engines.bert.gpu.encoder import Method  # noqa: E402
from engines.bert.gpu.network import random_state  # noqa: E402
from engines.bert.gpu.ops import TorchOps  # noqa: E402
from engines.bert.gpu.precision import Precision  # noqa: E402
from engines.bert.gpu.session import GpuBertSession, GpuOptions  # noqa: E402
from engines.gpu.attention import eager_attention  # noqa: E402 - only where PyTorch is
from lab.tests.unit.bert_gpu.conftest import POSITIONS, VOCABULARY  # noqa: E402

LIMITS = {"float32": 1e-4, "float16": 5e-3, "bfloat16": 4e-2, "fp8": 0.15, "int8": 0.08}


@pytest.fixture
def expected(shape, requests):
    method = Method(Precision.FLOAT32, TorchOps(), eager_attention)
    options = GpuOptions(Precision.FLOAT32, 256, 16, device="cpu")
    return GpuBertSession(shape, random_state(shape), options, method).run(requests)


def errors(got, expected):
    for result, wanted in zip(got, expected, strict=True):
        assert list(result) == list(wanted)
        for name, values in wanted.items():
            assert result[name].shape == values.shape
            assert result[name].dtype == np.float32
            yield float(np.linalg.norm(result[name] - values) / np.linalg.norm(values))


@pytest.mark.parametrize("precision", list(Precision))
def test_a_session_agrees_with_float32(precision, shape, requests, expected, device):
    session = GpuBertSession(shape, random_state(shape), GpuOptions(precision, 256, 16, device=str(device)))
    assert max(errors(session.run(requests), expected)) <= LIMITS[precision]


@pytest.mark.filterwarnings("ignore:(All-NaN|invalid value|overflow):RuntimeWarning")  # filler is any numbers
@pytest.mark.parametrize("precision", ["float16", "int8"])
def test_a_session_of_fused_kernels_agrees_with_float32(
    precision, shape, requests, expected, fused, tiled, kernel_device
):
    method = Method(Precision(precision), fused, tiled)
    options = GpuOptions(Precision(precision), 256, 16, device=str(kernel_device))
    session = GpuBertSession(shape, random_state(shape), options, method)
    assert max(errors(session.run(requests), expected)) <= LIMITS[precision]


def test_more_than_a_run_holds_becomes_several(shape, requests, expected, device):
    options = GpuOptions(Precision.FLOAT32, 40, 2, device=str(device))
    session = GpuBertSession(shape, random_state(shape), options)
    assert max(errors(session.run(requests * 3), expected * 3)) <= LIMITS["float32"]


def test_batches_under_way_do_not_mix(shape, requests, expected, device):
    session = GpuBertSession(shape, random_state(shape), GpuOptions(Precision.FLOAT32, 256, 16, device=str(device)))
    under_way = [session.start([request]) for request in requests for _ in range(3)]
    wanted = [[result] for result in expected for _ in range(3)]
    for pending, result in zip(under_way, wanted, strict=True):
        assert max(errors(pending.wait(), result)) <= LIMITS["float32"]


def test_padding_has_no_logits(shape, requests, device):
    session = GpuBertSession(shape, random_state(shape), GpuOptions(Precision.FLOAT16, 256, 16, device=str(device)))
    for request, result in zip(requests, session.run(requests), strict=True):
        for values in result.values():
            if values.shape[:2] == request["attention_mask"].shape:
                assert not values[request["attention_mask"] == 0].any()
                assert values[request["attention_mask"] == 1].all()


def test_too_long_a_row_is_refused(shape):
    session = GpuBertSession(shape, random_state(shape), GpuOptions(Precision.FLOAT16, 128, 4, 16, "cpu"))
    mask = np.ones((1, 17), np.int64)
    with pytest.raises(ValueError, match="a row has 17 tokens, but this model reads 16: send shorter ones"):
        session.check({"input_ids": mask % VOCABULARY, "attention_mask": mask, "token_type_ids": mask})
    mask[0, 16] = 0
    session.check({"input_ids": mask, "attention_mask": mask, "token_type_ids": mask})
    with pytest.raises(ValueError, match=f"gpu_longest is 64, but the network reads {POSITIONS} tokens"):
        GpuBertSession(shape, random_state(shape), GpuOptions(longest=64, device="cpu"))


@pytest.mark.parametrize("signs", [(-1, -1, -1), (1, -1, 0)])
def test_a_row_is_as_long_as_it_is_packed(signs, shape):
    session = GpuBertSession(shape, random_state(shape), GpuOptions(Precision.FLOAT16, 128, 4, device="cpu"))
    mask = np.resize(signs, (1, 66))
    ones = np.ones_like(mask)
    length = np.count_nonzero(mask)
    with pytest.raises(ValueError, match=f"a row has {length} tokens, but this model reads {POSITIONS}"):
        session.check({"input_ids": ones, "attention_mask": mask, "token_type_ids": ones})


def test_a_run_holds_the_longest_row(shape):
    longer = dataclasses.replace(shape, positions=512)
    with pytest.raises(ValueError, match="gpu_tokens is 128, but a row may have 512: raise it, or lower gpu_longest"):
        GpuBertSession(longer, random_state(longer), GpuOptions(Precision.FLOAT16, 128, 4, device="cpu"))
    GpuBertSession(longer, random_state(longer), GpuOptions(Precision.FLOAT16, 128, 4, 128, "cpu"))


def test_what_would_end_every_batch_to_come_is_refused(shape):
    session = GpuBertSession(shape, random_state(shape), GpuOptions(Precision.FLOAT16, 128, 4, device="cpu"))
    good = {name: np.ones((2, 3), np.int64) for name in session.inputs}
    session.check(good)
    for ids in (VOCABULARY, -1):
        with pytest.raises(ValueError, match="input_ids must be from 0 to 99 for this network: use its own tokenizer"):
            session.check(good | {"input_ids": np.full((2, 3), ids)})
    with pytest.raises(ValueError, match=r"input_ids is \(2, 4\), but attention_mask \(2, 3\): send both of one shape"):
        session.check(good | {"input_ids": np.ones((2, 4), np.int64)})
    if shape.reads_segments:
        with pytest.raises(ValueError, match="token_type_ids must be from 0 to 1"):
            session.check(good | {"token_type_ids": np.full((2, 3), 2)})


def test_options_are_read_from_a_models_parameters():
    found = GpuOptions.of({"gpu_precision": "fp8", "gpu_tokens": "512", "gpu_rows": "4", "threads": "2"}, "cuda:1")
    assert found == GpuOptions(Precision.FP8, 512, 4, 0, "cuda:1")
    with pytest.raises(ValueError, match="gpu_precision is 'int4': set it to one of float32, float16"):
        GpuOptions.of({"gpu_precision": "int4"}, "cpu")
    with pytest.raises(ValueError, match="gpu_rows is 'many': set it to a whole number"):
        GpuOptions.of({"gpu_rows": "many"}, "cpu")
    for name in ("gpu_tokens", "gpu_rows"):
        with pytest.raises(ValueError, match=f"{name} is '0': set it to a whole number from 1 on, or leave it out"):
            GpuOptions.of({name: "0"}, "cpu")
    assert GpuOptions.of({"gpu_longest": "0"}, "cpu").longest == 0
