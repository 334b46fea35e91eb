"""The GPU engine inside a real Triton; on the CPU, where there is no GPU: the same code without CUDA graphs."""

from __future__ import annotations

import asyncio
import re
import shutil
from typing import TYPE_CHECKING

import numpy as np
import pytest

pytest.importorskip("torch")

import tritonclient.grpc.aio as triton
from google.protobuf import text_format
from tritonclient.grpc import model_config_pb2
from tritonclient.utils import InferenceServerException, np_to_triton_dtype

from benchmarks.gpu.correctness import compare, mixed_requests, reference
from benchmarks.gpu.plan import DRY, LOGIT_LIMITS
from benchmarks.gpu.repository import Served, model_name, write_repository
from benchmarks.gpu.server import StartError, count_batches, serving
from benchmarks.gpu.throughput import ask
from engines.bert.gpu.network import random_state, read_network
from engines.bert.gpu.precision import Precision
from engines.gpu.device import NETWORK, cuda_devices
from lab.tests.unit.modelkit.test_splitting import for_a_gpu
from modelkit.splitting.engine import split_engine

if TYPE_CHECKING:
    from pathlib import Path

CASE = DRY.case("three_layers")
MODEL = model_name(CASE)
ENSEMBLE = "stages"


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


def stages_beside(whole: Path, target: Path) -> None:
    """Write the network of a repository in two stages, with an ensemble of them alone."""
    split_engine(whole, 2, target)
    models = target / "triton"
    config = text_format.Parse((models / "qa" / "config.pbtxt").read_text(), model_config_pb2.ModelConfig())
    steps = [step for step in config.ensemble_scheduling.step if "_stage_" in step.model_name]
    network = text_format.Parse((whole / "triton/qa_bert/config.pbtxt").read_text(), model_config_pb2.ModelConfig())
    ensemble = model_config_pb2.ModelConfig(name=ENSEMBLE, platform="ensemble", max_batch_size=network.max_batch_size)
    ensemble.input.extend(network.input)
    ensemble.output.extend(tensor for tensor in network.output if tensor.name != "COMPUTE_MS")
    for step in steps:
        own = ensemble.ensemble_scheduling.step.add(model_name=step.model_name, model_version=-1)
        for tensors, named in ((step.input_map, own.input_map), (step.output_map, own.output_map)):
            handed_on = {name: value for name, value in tensors.items() if value.endswith("_1")}
            named.update({name: name for name in tensors} | handed_on)
    if "COMPUTE_MS" in own.output_map:
        del own.output_map["COMPUTE_MS"]
    (models / ENSEMBLE / "1").mkdir(parents=True)
    (models / ENSEMBLE / "config.pbtxt").write_text(text_format.MessageToString(ensemble))
    shutil.copytree(whole / "triton" / "qa_bert", models / "qa_bert")
    for path in models.glob("qa_bert*/1/*.onnx"):
        path.unlink()
    for path in models.glob("qa_bert*/config.pbtxt"):
        device = "cuda" if cuda_devices() else "torch-cpu"
        path.write_text(re.sub(r'("?device"?[^}]*string_value: )"auto"', rf'\1"{device}"', path.read_text()))


async def test_stages_hand_hidden_states_on_by_dlpack_inside_triton(tmp_path):
    stages_beside(for_a_gpu(tmp_path), tmp_path / "stages")
    shape, _ = read_network(tmp_path / "stages/triton/qa_bert/1" / NETWORK)
    requests = mixed_requests(shape, (1, 7, 32, 20), np.random.default_rng(0))
    async with (
        serving(tmp_path / "stages/triton", ENSEMBLE) as address,
        triton.InferenceServerClient(address) as client,
    ):
        while not await client.is_model_ready("qa_bert"):
            await asyncio.sleep(0.1)
        for request in requests:
            given = {name.upper(): values.astype(np.int64) for name, values in request.items()}
            given["TOKEN_TYPE_IDS"] = np.zeros_like(given["ATTENTION_MASK"])
            tensors = [triton.InferInput(name, v.shape, "INT64").set_data_from_numpy(v) for name, v in given.items()]
            found, expected = [await client.infer(model, tensors) for model in (ENSEMBLE, "qa_bert")]
            for name in ("START_LOGITS", "END_LOGITS"):
                np.testing.assert_array_equal(found.as_numpy(name), expected.as_numpy(name))


async def test_a_stage_on_a_gpu_that_is_not_there_does_not_load_and_says_so(tmp_path, caplog):
    split_engine(for_a_gpu(tmp_path), 2, tmp_path / "stages", "cpu,gpu:7")
    with pytest.raises(StartError):
        async with serving(tmp_path / "stages/triton", "qa"):
            pass
    assert "failed to load 'qa_bert_stage_2'" in caplog.text
    assert "unsupported gpu id 7" in caplog.text
