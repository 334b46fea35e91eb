"""Managing the models of a server, for those who run it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from enum import Enum
from typing import TYPE_CHECKING, Any, NoReturn

import grpc

from vivavoce._address import admin_target, check_socket
from vivavoce._checks import check_target
from vivavoce._client import DEFAULT_TARGET
from vivavoce._connection import open_channel, reach
from vivavoce._errors import Incompatible
from vivavoce._refusing import refusing
from vivavoce._status import error_from_rpc
from vivavoce.v1 import models_pb2 as pb
from vivavoce.v1.models_pb2_grpc import ModelServiceStub

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import PurePath
    from types import TracebackType

    from typing_extensions import Self

_PREFIX = "MODEL_STATE_"

# The generated class is not annotated.
_stub: Callable[[grpc.aio.Channel], ModelServiceStub] = ModelServiceStub


class ModelState(Enum):
    """State of an engine's version."""

    LOADING = "LOADING"
    """It is being loaded and tried out, and takes no traffic."""
    READY = "READY"
    """It served before the active one, and is kept to be rolled back to."""
    ACTIVE = "ACTIVE"
    """Turns begin with it."""
    DRAINING = "DRAINING"
    """Turns that began with it still run; it is unloaded after the last one."""
    FAILED = "FAILED"
    """It did not load or did not pass its trial, and has never taken traffic."""
    UNKNOWN = "UNKNOWN"
    """A newer server's state that this version does not know."""


@dataclass(frozen=True, slots=True)
class ModelVersion:
    """One version of an engine."""

    name: str
    """Name of the engine: `asr`, `intent_slot`, `qa` or `punctuation`."""
    version: int
    """Counts the engine's versions from 1, which is the one that the service began with."""
    state: ModelState
    """What it is doing."""
    since: datetime
    """Since when it has been doing that, in UTC."""
    turns: int
    """Turns that began with this version and used it."""
    in_use: int
    """Turns, utterances and requests that use it at this moment."""
    source: str
    """Where on the server its files came from."""
    reason: str
    """Why it failed; "" unless it did."""


class ModelAdmin:
    """Lists, loads, unloads and rolls back the versions of a server's engines.

    To be used as `async with vivavoce.ModelAdmin(...) as models`, on the server's own machine and as its user: nobody
    else is answered.

    Args:
        target: The server's socket for that, `unix:/PATH`; or its address, `HOST:PORT`, where the socket has its
            default path.
        connect_timeout_seconds: How long a call waits for the connection.
        load_timeout_seconds: How long a version may take to be loaded and tried out.
    """

    def __init__(
        self,
        target: str = DEFAULT_TARGET,
        *,
        connect_timeout_seconds: float = 5.0,
        load_timeout_seconds: float = 300.0,
    ) -> None:
        self._target = check_target(target)
        self._connect_timeout_seconds = connect_timeout_seconds
        self._load_timeout_seconds = load_timeout_seconds
        self._channel: grpc.aio.Channel | None = None

    async def __aenter__(self) -> Self:
        self._target = admin_target(self._target)
        self._channel = open_channel(self._target)
        return self

    def __enter__(self) -> NoReturn:
        raise TypeError("ModelAdmin is asynchronous: write `async with vivavoce.ModelAdmin(...) as models`.")

    def __exit__(self, *_error: object) -> None:
        """Never called."""

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        channel, self._channel = self._channel, None
        if channel is not None:
            await channel.close(None)

    async def list(self) -> list[ModelVersion]:
        """List all versions, engine by engine, the oldest first.

        Raises:
            VivavoceError: One of its kinds; so do the other methods.
        """
        response = await self._call(lambda stub: stub.ListModels(pb.ListModelsRequest(), timeout=30))
        return [_version(version) for version in response.versions]

    async def load(self, path: PurePath | str) -> ModelVersion:
        """Load an engine directory as a new version, which serves turns from then on.

        Args:
            path: Absolute path of the directory on the server.

        Returns:
            The new version, active now. When it fails, or when this call is cancelled, everything stays as it was.
        """
        with refusing("path"):
            request = pb.LoadModelRequest(path=str(path))
        response = await self._call(lambda stub: stub.LoadModel(request, timeout=self._load_timeout_seconds))
        return _version(response.version)

    async def unload(self, name: str, version: int) -> None:
        """Unload an inactive version once it is unused, or forget one that failed."""
        with refusing("name"):
            request = pb.UnloadModelRequest(name=name)
        with refusing("version"):
            request.version = version
        await self._call(lambda stub: stub.UnloadModel(request, timeout=30))

    async def roll_back(self, name: str) -> ModelVersion:
        """Let the version before the active one take over again.

        Returns:
            The version that serves now.
        """
        with refusing("name"):
            request = pb.RollBackModelRequest(name=name)
        response = await self._call(lambda stub: stub.RollBackModel(request, timeout=30))
        return _version(response.version)

    async def _call(self, call: Callable[[ModelServiceStub], Awaitable[Any]]) -> Any:  # noqa: ANN401 - any response
        if self._channel is None:
            raise RuntimeError("It is not open; use it inside `async with vivavoce.ModelAdmin(...) as models`.")
        check_socket(self._target)
        await reach(self._channel, self._target, self._connect_timeout_seconds)
        try:
            return await call(_stub(self._channel))
        except grpc.aio.AioRpcError as error:
            if error.code() is grpc.StatusCode.UNIMPLEMENTED:
                message = (
                    f"No models are managed over {self._target}; give the socket that the server names in its log."
                )
                raise Incompatible(message, code=error.code().name) from error
            raise error_from_rpc(error, self._target) from error


def _version(version: pb.ModelVersion) -> ModelVersion:
    known = version.state in pb.ModelState.values()
    name = pb.ModelState.Name(version.state).removeprefix(_PREFIX) if known else "UNKNOWN"
    return ModelVersion(
        name=version.name,
        version=version.version,
        state=ModelState.__members__.get(name, ModelState.UNKNOWN),
        since=version.since.ToDatetime(timezone.utc),
        turns=version.turns,
        in_use=version.in_use,
        source=version.source,
        reason=version.reason,
    )
