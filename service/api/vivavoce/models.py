"""The servicer of ``vivavoce.v1.ModelService``: for those who run the server.

No authentication: it is served over a Unix socket that its user alone can open, see
:mod:`service.grpc_server.admin_socket`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from google.protobuf import timestamp_pb2

from pipelines.models.versions.bookkeeping import Phase
from service.grpc_server.deserializers import refuse_malformed
from service.grpc_server.errors import reported_to
from vivavoce.v1 import models_pb2 as pb

if TYPE_CHECKING:
    from pipelines.models.versions.rollout import Rollout, VersionStatus
    from service.grpc_server.errors import Context

SERVICE_NAME = pb.DESCRIPTOR.services_by_name["ModelService"].full_name

_STATES = {
    Phase.LOADING: pb.MODEL_STATE_LOADING,
    Phase.READY: pb.MODEL_STATE_READY,
    Phase.ACTIVE: pb.MODEL_STATE_ACTIVE,
    Phase.DRAINING: pb.MODEL_STATE_DRAINING,
    Phase.FAILED: pb.MODEL_STATE_FAILED,
}


class ModelServicer:
    """Lists, loads, unloads and rolls back versions.

    Every method raises what ``Rollout`` raises, through ``reported_to``.
    """

    def __init__(self, rollout: Rollout) -> None:
        self._rollout = rollout

    async def ListModels(  # noqa: N802 - named by the contract
        self, request: pb.ListModelsRequest, context: Context
    ) -> pb.ListModelsResponse:
        """List all versions; see the contract."""
        async with reported_to(context):
            refuse_malformed(request)
            return pb.ListModelsResponse(versions=map(to_version, self._rollout.status()))

    async def LoadModel(  # noqa: N802 - named by the contract
        self, request: pb.LoadModelRequest, context: Context
    ) -> pb.LoadModelResponse:
        """Load a version and let it take over; see the contract."""
        async with reported_to(context):
            refuse_malformed(request)
            return pb.LoadModelResponse(version=to_version(await self._rollout.load(Path(request.path))))

    async def UnloadModel(  # noqa: N802 - named by the contract
        self, request: pb.UnloadModelRequest, context: Context
    ) -> pb.UnloadModelResponse:
        """Unload a version; see the contract."""
        async with reported_to(context):
            refuse_malformed(request)
            self._rollout.unload(request.name, request.version)
            return pb.UnloadModelResponse()

    async def RollBackModel(  # noqa: N802 - named by the contract
        self, request: pb.RollBackModelRequest, context: Context
    ) -> pb.RollBackModelResponse:
        """Let the version before take over again; see the contract."""
        async with reported_to(context):
            refuse_malformed(request)
            return pb.RollBackModelResponse(version=to_version(await self._rollout.roll_back(request.name)))


def to_version(status: VersionStatus) -> pb.ModelVersion:
    """Write a version."""
    since = timestamp_pb2.Timestamp()
    since.FromMilliseconds(round(1000 * status.version.since))
    return pb.ModelVersion(
        name=status.version.engine,
        version=status.version.number,
        state=_STATES[status.version.phase],
        since=since,
        turns=status.turns,
        in_use=status.holders,
        source=status.version.source,
        reason=status.version.reason,
    )
