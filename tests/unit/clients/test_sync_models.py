"""Managing models without asyncio, with a service that has none."""

from __future__ import annotations

import inspect
from concurrent import futures
from typing import TYPE_CHECKING

import grpc
import pytest

import vivavoce
from vivavoce.v1 import models_pb2 as pb
from vivavoce.v1.models_pb2_grpc import ModelServiceServicer, add_ModelServiceServicer_to_server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class _FakeModels(ModelServiceServicer):
    def __init__(self) -> None:
        self.unloaded: list[tuple[str, int]] = []

    def ListModels(  # noqa: N802 - the name in the protocol
        self, request: pb.ListModelsRequest, context: grpc.ServicerContext
    ) -> pb.ListModelsResponse:
        return pb.ListModelsResponse(versions=[pb.ModelVersion(name="asr", version=1, state=pb.MODEL_STATE_ACTIVE)])

    def LoadModel(  # noqa: N802 - the name in the protocol
        self, request: pb.LoadModelRequest, context: grpc.ServicerContext
    ) -> pb.LoadModelResponse:
        version = pb.ModelVersion(name="asr", version=2, source=request.path)
        return pb.LoadModelResponse(version=version)

    def UnloadModel(  # noqa: N802 - the name in the protocol
        self, request: pb.UnloadModelRequest, context: grpc.ServicerContext
    ) -> pb.UnloadModelResponse:
        self.unloaded.append((request.name, request.version))
        return pb.UnloadModelResponse()

    def RollBackModel(  # noqa: N802 - the name in the protocol
        self, request: pb.RollBackModelRequest, context: grpc.ServicerContext
    ) -> pb.RollBackModelResponse:
        context.abort(grpc.StatusCode.FAILED_PRECONDITION, "there is nothing to roll back to: load the engine")
        return pb.RollBackModelResponse()


@pytest.fixture
def fake() -> _FakeModels:
    return _FakeModels()


@pytest.fixture
def target(fake: _FakeModels, tmp_path: Path) -> Iterator[str]:
    address = f"unix:{tmp_path / 'admin.sock'}"
    server = grpc.server(futures.ThreadPoolExecutor(2))
    add_ModelServiceServicer_to_server(fake, server)
    server.add_insecure_port(address)
    server.start()
    yield address
    server.stop(None).wait()


def test_versions_are_managed(fake: _FakeModels, target: str) -> None:
    with vivavoce.sync.ModelAdmin(target) as models:
        [version] = models.list()
        assert (version.name, version.state) == ("asr", vivavoce.ModelState.ACTIVE)
        assert models.load("/engines/asr").source == "/engines/asr"
        models.unload("asr", 1)
        assert fake.unloaded == [("asr", 1)]
        with pytest.raises(vivavoce.InvalidRequest, match="nothing to roll back to"):
            models.roll_back("asr")
    with pytest.raises(RuntimeError, match=r"use it inside `with vivavoce\.sync\.ModelAdmin"):
        models.list()


def test_a_socket_that_is_not_there(tmp_path: Path) -> None:
    with (
        vivavoce.sync.ModelAdmin(f"unix:{tmp_path / 'nowhere.sock'}") as models,
        pytest.raises(vivavoce.ServerUnavailable, match="There is no socket"),
    ):
        models.list()


async def test_async_with_is_told_apart(target: str) -> None:
    with pytest.raises(TypeError, match="is not asynchronous: write `with`"):
        async with vivavoce.sync.ModelAdmin(target):  # type: ignore[attr-defined]
            pass


@pytest.mark.parametrize("method", ["__init__", "list", "load", "unload", "roll_back"])
def test_the_methods_are_those_of_the_other_one(method: str) -> None:
    ours = inspect.signature(getattr(vivavoce.sync.ModelAdmin, method)).parameters
    theirs = inspect.signature(getattr(vivavoce.ModelAdmin, method)).parameters

    assert [(one.name, one.kind, one.default) for one in ours.values()] == [
        (one.name, one.kind, one.default) for one in theirs.values()
    ]
