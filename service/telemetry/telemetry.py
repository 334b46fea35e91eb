"""Telemetry of a service: log, and configured metrics and traces.

What is not asked for is not imported.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING

from service.telemetry.call_observer import CallObserver, CallObservers
from service.telemetry.turn_log import TurnLog

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from pipelines.turns.observer import TurnObserver
    from service.config import ServiceConfig
    from service.telemetry.figures import Figures
    from service.telemetry.metrics import Metrics
    from service.telemetry.traces import Traces

logger = logging.getLogger(__name__)


class TracingNotInstalledError(RuntimeError):
    """Traces are asked for, and their packages are not there."""


class Telemetry:
    """Observers of a service's turns and calls.

    Args:
        config: what is wanted.

    Raises:
        TracingNotInstalledError: traces are asked for, and their packages are not there.

    Attributes:
        log: the log of turns.
        turn_observers: hear of turns.
        call_observer: hears of calls.
    """

    def __init__(self, config: ServiceConfig) -> None:
        self._config = config
        self.log = TurnLog()
        self.turn_observers: list[TurnObserver] = [self.log]
        calls: list[CallObserver] = []
        self._metrics: Metrics | None = None
        if config.metrics_port is not None:
            from service.telemetry.metrics import Metrics  # noqa: PLC0415 - only where it is wanted

            self._metrics = Metrics()
            self.turn_observers.append(self._metrics)
            calls.append(self._metrics)
        self._traces = _traces(config.otlp_endpoint) if config.otlp_endpoint is not None else None
        if self._traces is not None:
            self.turn_observers.append(self._traces)
            calls.append(self._traces)
        self.call_observer: CallObserver = CallObservers(calls) if calls else CallObserver()

    @contextlib.asynccontextmanager
    async def running(
        self, read: Callable[[], Figures], triton_url: Callable[[], str | None] = lambda: None
    ) -> AsyncIterator[None]:
        """Serve metrics while the body runs, and flush traces after it.

        Args:
            read: returns the figures of the service.
            triton_url: returns where Triton tells its own metrics; None where it tells none.

        Raises:
            ListenError: it cannot be listened on the port.
        """
        async with contextlib.AsyncExitStack() as cleanup:
            if self._traces is not None:
                cleanup.push_async_callback(asyncio.to_thread, self._traces.close)
            if self._metrics is not None and self._config.metrics_port is not None:
                from service.telemetry.metrics_server import (  # noqa: PLC0415 - only where it is wanted
                    MetricsPage,
                    serving_metrics,
                )

                page = MetricsPage(self._metrics.registry, read, triton_url)
                url = await cleanup.enter_async_context(
                    serving_metrics(page, self._config.metrics_host or self._config.host, self._config.metrics_port)
                )
                logger.info("metrics are told at %s", url)
            yield


def _traces(endpoint: str) -> Traces:
    try:
        from service.telemetry.traces import Traces, otlp_exporter  # noqa: PLC0415 - only where it is wanted
    except ModuleNotFoundError as error:
        raise TracingNotInstalledError(
            f"traces need a package that is not there ({error.name}): install it with `pip install '.[telemetry]'` in "
            "a checkout of the project, or leave out --otlp-endpoint"
        ) from error
    return Traces(otlp_exporter(endpoint))
