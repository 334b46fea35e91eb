"""Where the engines are that are judged, and how to reach them."""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import vivavoce
from modelkit.evaluation.engine_source import servable
from modelkit.evaluation.served import ServedEngines, connected
from modelkit.evaluation.service_process import running_service

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from modelkit.evaluation.local import LocalEngines


@dataclass(frozen=True, slots=True)
class Where:
    """Where the engines are.

    Attributes:
        connect: makes a client of a running service; not used with ``engines`` or ``local``.
        engines: engine directories, which take the places of the shipped engines.
        local: run them in this process, without a service.
        forced: with ``local``: never abstain.
    """

    connect: Callable[[], vivavoce.Client]
    engines: tuple[Path, ...] = ()
    local: bool = False
    forced: bool = False


@asynccontextmanager
async def reached(where: Where) -> AsyncIterator[ServedEngines | LocalEngines]:
    """Reaches the engines; a service that is started for them is stopped in the end.

    Raises:
        EngineError: a directory is no engine directory, or the service does not come up with it.
    """
    async with AsyncExitStack() as held:
        directories = [held.enter_context(servable(engine)) for engine in where.engines]
        if where.local:
            # Who asks a service needs nothing of what engines run on.
            from modelkit.evaluation.local import LocalEngines  # noqa: PLC0415

            yield LocalEngines(directories, forced=where.forced)
            return
        started = running_service(directories) if directories else None
        connect = where.connect
        if started:
            connect = partial(vivavoce.connect, await held.enter_async_context(started))
        yield await held.enter_async_context(connected(connect))
