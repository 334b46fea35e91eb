"""Models of a foreign Triton: reachability and fitness."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Protocol

from pipelines.errors import ModelError
from pipelines.models.shipped import SHIPPED
from pipelines.models.triton import diagnose
from service.sessions.readiness import ModelServer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pipelines.models.contracts import EngineRegistry
    from pipelines.models.triton import TritonClient
    from pipelines.models.versions.serving import ActiveVersions

logger = logging.getLogger(__name__)

_SAY_SECONDS = 30.0


class WrongTritonError(RuntimeError):
    """Wrong server: the address leads to one that can never serve this."""


class Rollout(ModelServer, Protocol):
    """Operations of the engines' versions."""

    @property
    def active(self) -> ActiveVersions:
        """The engines that serve."""

    def active_models(self) -> Mapping[str, str]:
        """Names the model of each engine that serves."""


class RemoteModels:
    """Tells which models are not ready, and why; checks their contract.

    Args:
        models: the model server that tells which models are ready, and what they are.
        client: the connection to Triton.
        address: ``host:port`` or ``unix:path`` of its gRPC endpoint.
        registry: the engines.
    """

    def __init__(self, models: Rollout, client: TritonClient, address: str, registry: EngineRegistry = SHIPPED) -> None:
        self._registry = registry
        self._models = models
        self._client = client
        self._address = address
        self._checked = False
        self._has_served = False
        self._said_at: float | None = None

    async def missing(self) -> Sequence[str]:
        """Return the names of the models that are not ready.

        Raises:
            WrongTritonError: they never will be, and have not been so far.
        """
        missing = await self._models.missing()
        if missing:
            self._checked = False
            await self._say_why(missing)
        elif not self._checked:
            missing = await self._check()
        return missing

    async def warm_up(self) -> None:
        """Warm the models up."""
        await self._models.warm_up()
        self._has_served = True
        self._said_at = None

    async def _check(self) -> Sequence[str]:
        """Compare the models with what is asked of them; return those that do not suit."""
        wrong = {}
        active = self._models.active_models()
        models = {role: active[role] for role in self._registry.required}
        try:
            for role, model in models.items():
                lacking = self._registry[role].tensors - await self._client.tensors(model)
                if lacking:
                    wrong[model] = " and no ".join(sorted(lacking))
        except ModelError:
            return list(models.values())
        self._checked = not wrong
        if wrong:
            what = "; ".join(f"its model {model} has no {lacking}" for model, lacking in wrong.items())
            cure = "serve the model_repository/ of this version there"
            self._give_up(f"Triton at {self._address} has models with another contract ({what}): {cure}")
        return list(wrong)

    def _give_up(self, message: str) -> None:
        """Refuse the start; a service that has served waits for a recovery."""
        if not self._has_served:
            raise WrongTritonError(message)
        self._say(message)

    async def _say_why(self, missing: Sequence[str]) -> None:
        if not self._is_time(self._said_at, _SAY_SECONDS):
            return
        diagnosis = await diagnose(self._address)
        if diagnosis is None:
            # It may just have come up.
            if missing := await self._models.missing():
                self._say(f"Triton at {self._address} does not serve {' and '.join(missing)}: load what is missing")
        elif diagnosis.is_hopeless:
            self._give_up(diagnosis.text)
        else:
            self._say(diagnosis.text)

    def _say(self, message: str) -> None:
        if self._is_time(self._said_at, _SAY_SECONDS):
            self._said_at = asyncio.get_running_loop().time()
            logger.warning("waiting: %s", message)

    def _is_time(self, last: float | None, seconds: float) -> bool:
        return last is None or asyncio.get_running_loop().time() - last >= seconds
