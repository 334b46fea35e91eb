"""The GPU engine inside a real Triton; on the CPU, where there is no GPU: the same code without CUDA graphs."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

pytest.importorskip("torch")

import tritonclient.grpc.aio as triton
from tritonclient.utils import InferenceServerException, np_to_triton_dtype

from benchmarks.gpu.correctness import compare, mixed_requests, reference
from benchmarks.gpu.plan import DRY, LOGIT_LIMITS
from benchmarks.gpu.repository import Served, model_name, write_repository
from benchmarks.gpu.server import count_batches, serving
from benchmarks.gpu.throughput import ask
from engines.bert.gpu.network import random_state
from engines.bert.gpu.precision import Precision
from engines.gpu.device import cuda_devices

CASE = DRY.case("three_layers")
MODEL = model_name(CASE)


async def test_requests_of_many_lengths_are_answered_in_batches_that_overlap(tmp_path):
    state = random_state(CASE.shape)
    device = "cuda:0" if cuda_devices() else "cpu"
    write_repository(tmp_path, CASE, state, Served(Precision.FLOAT16, 1, "KIND_CPU", device))
    requests = mixed_requests(CASE.shape, (1, 7, 32, 20, 2, 31), np.random.default_rng(0)) * 4
    expected = reference(CASE.shape, state).run(requests)
    async with serving(tmp_path, MODEL) as address, triton.InferenceServerClient(address) as client:
        answers = await asyncio.gather(*(ask(client, MODEL, request) for request in requests))
        assert compare(answers, expected)["relative"] < LOGIT_LIMITS[Precision.FLOAT16]
        counted = await count_batches(address, MODEL)
        assert counted.rows == sum(len(request["input_ids"]) for request in requests)
        assert counted.executions < len(requests)

        tensors = [
            triton.InferInput(name.upper(), array.shape, np_to_triton_dtype(array.dtype)).set_data_from_numpy(array)
            for name, array in requests[0].items()
        ]
        with pytest.raises(InferenceServerException, match="the deadline has passed"):
            await client.infer(MODEL, tensors, parameters={"useful_us": -1})

        too_long = {name: np.ones((1, 33), kind) for name, kind in (("input_ids", np.int32), ("attention_mask", bool))}
        first, refused, last = await asyncio.gather(
            *(ask(client, MODEL, request) for request in (requests[0], too_long, requests[1])), return_exceptions=True
        )
        assert isinstance(refused, InferenceServerException)
        assert "a row has 33 tokens, but this model reads 32: send shorter ones" in str(refused)
        assert compare([first, last], expected[:2])["relative"] < LOGIT_LIMITS[Precision.FLOAT16]
