"""A stage and an engine that only this file knows, through the real socket, the real Triton and a real model of it."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import grpc
import numpy as np
import pytest
import tritonclient.grpc.aio as triton
from grpc_health.v1 import health_pb2, health_pb2_grpc

import vivavoce
from pipelines.data.recognition import Timing
from pipelines.data.stages import NLU, StageResult
from pipelines.models.contracts import EngineContract
from pipelines.models.shipped import SHIPPED
from pipelines.models.versions.probes import MalformedAnswerError
from pipelines.session.shipped_stages import SHIPPED_STAGES
from pipelines.stages.registry import Stage, StageRegistry
from service.app import Registries, serving
from service.config import ServiceConfig
from tests.pages import blocks, page

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pipelines.models.triton import TritonClient

ROLE = "toy_shout"
CONFIG = """
name: "toy_shout"
backend: "python"
input [ { name: "TEXT" data_type: TYPE_STRING dims: [ 1 ] } ]
output [ { name: "LOUD" data_type: TYPE_STRING dims: [ 1 ] } ]
instance_group [ { kind: KIND_CPU, count: 1 } ]
"""
MODEL = """
import numpy as np
import triton_python_backend_utils as pb


class TritonPythonModel:
    def execute(self, requests):
        texts = [pb.get_input_tensor_by_name(request, "TEXT").as_numpy() for request in requests]
        loud = [np.array([text[0].decode().upper().encode()], np.object_) for text in texts]
        return [pb.InferenceResponse([pb.Tensor("LOUD", one)]) for one in loud]
"""


class Shout:
    """The client of the toy's model."""

    def __init__(self, client: TritonClient, model: str) -> None:
        self._client, self._model = client, model

    async def shout(self, text: str, due: float | None = None) -> tuple[str, Timing]:
        tensor = triton.InferInput("TEXT", [1], "BYTES")
        tensor.set_data_from_numpy(np.array([text.encode()], np.object_))
        answer = await self._client.infer(self._model, [tensor], due=due)
        return answer.as_numpy("LOUD")[0].decode(), Timing(0.001, 0.002)


@dataclasses.dataclass(frozen=True)
class ShoutProbe:
    text: str

    async def ask(self, model: Shout) -> bool:
        if not (await model.shout(self.text))[0]:
            raise MalformedAnswerError("nothing was shouted")
        return True


(EXAMPLE,) = blocks(page("docs/inside.md"), "python")
"""The stage, the contract of its engine and the lists, as the page has them."""
KINDS = (EngineContract, Registries, Shout, ShoutProbe, Stage, StageRegistry, StageResult)
NAMES = {kind.__name__: kind for kind in KINDS} | {"SHIPPED": SHIPPED, "SHIPPED_STAGES": SHIPPED_STAGES}
"""What the lines of the page use."""


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Path]:
    """An engine directory with the toy's model."""
    folder = tmp_path / "toy" / "triton" / ROLE
    (folder / "1").mkdir(parents=True)
    (folder / "config.pbtxt").write_text(CONFIG)
    (folder / "1" / "model.py").write_text(MODEL)
    return tmp_path / "toy"


async def test_a_stage_and_an_engine_from_outside_serve_a_turn(engine: Path, tmp_path: Path):
    exec(EXAMPLE.text, names := dict(NAMES))
    admin = tmp_path / "admin.sock"
    options = ServiceConfig(port=0, engines=(engine,), engine_code=True, max_conversations=4, admin_socket=admin)
    async with serving(options, names["lists"]) as server:
        await server.readiness.wait()
        async with grpc.aio.insecure_channel(server.address) as channel:
            health = await health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest())
            assert health.status == health_pb2.HealthCheckResponse.SERVING
        async with vivavoce.connect(server.address) as client:
            reply = await client.ask("turn on the lights in the kitchen")
        assert reply.status is vivavoce.ReplyStatus.COMPLETE
        assert [entry.name for entry in reply.latency.stages] == [NLU, "shouting"]
        (shouting,) = (entry for entry in reply.latency.stages if entry.name == "shouting")
        assert (shouting.stage, shouting.compute_seconds) == (vivavoce.Stage.UNKNOWN, pytest.approx(0.002))
        assert reply.results == {"shouting": {"loud": reply.intent.name.upper()}}
        assert reply.model_versions[ROLE] == 1
        assert ROLE in {model.name for model in await listed(admin)}


async def listed(admin: Path) -> list[vivavoce.ModelVersion]:
    async with vivavoce.ModelAdmin(f"unix:{admin}") as models:
        return await models.list()
