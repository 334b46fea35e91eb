"""The HTTP endpoint of the metrics: the service's own, and Triton's behind them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

import aiohttp
from aiohttp import web
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, generate_latest

from service.addresses import ListenError, is_local, names_a_machine
from service.telemetry.figures import Figures
from service.telemetry.figures_collector import FiguresCollector

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from prometheus_client import CollectorRegistry

logger = logging.getLogger(__name__)

_FRESH_SECONDS = 0.5
"""Within so many seconds everybody is told the same: asking often costs the conversations nothing."""
_TRITON_SECONDS = 2.0
_STOP_SECONDS = 1.0


@dataclass(slots=True)
class _Told:
    text: bytes
    at: float


class MetricsPage:
    """The text of all metrics.

    Args:
        registry: the metrics of turns and calls.
        read: returns the figures of the service; called on the event loop.
        triton_url: returns where Triton tells its metrics; None where it tells none.
    """

    def __init__(
        self, registry: CollectorRegistry, read: Callable[[], Figures], triton_url: Callable[[], str | None]
    ) -> None:
        self._registry = registry
        self._read, self._triton_url = read, triton_url
        self._figures = Figures()
        registry.register(FiguresCollector(lambda: self._figures))
        self._lock = asyncio.Lock()
        self._told: _Told | None = None

    async def text(self, session: aiohttp.ClientSession) -> bytes:
        """Return the metrics in Prometheus' text format.

        Args:
            session: asks Triton.
        """
        loop = asyncio.get_running_loop()
        async with self._lock:
            if self._told is None or loop.time() > self._told.at + _FRESH_SECONDS:
                self._figures = self._read()
                # Off the event loop: writing some hundred lines takes milliseconds.
                own = await asyncio.to_thread(generate_latest, self._registry)
                self._told = _Told(own + await self._of_triton(session), loop.time())
            return self._told.text

    async def _of_triton(self, session: aiohttp.ClientSession) -> bytes:
        """Return Triton's metrics; nothing where it does not answer, as while it starts."""
        url = self._triton_url()
        if url is None:
            return b""
        try:
            async with session.get(url) as response:
                response.raise_for_status()
                return await response.read()
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            logger.debug("Triton tells no metrics: %s", type(error).__name__)
            return b""


@contextlib.asynccontextmanager
async def serving_metrics(page: MetricsPage, host: str, port: int) -> AsyncIterator[str]:
    """Serve ``GET /metrics`` while the body runs; yield the URL.

    Args:
        page: the metrics.
        host: address to listen on; the loopback where the service listens on a Unix socket.
        port: port to listen on; 0 for one that the kernel chooses.

    Raises:
        ListenError: it cannot be listened there.
    """
    timeout = aiohttp.ClientTimeout(total=_TRITON_SECONDS)
    async with contextlib.AsyncExitStack() as cleanup:
        # Triton is on this machine: never looked for behind a proxy.
        session = await cleanup.enter_async_context(aiohttp.ClientSession(timeout=timeout, trust_env=False))

        async def answer(request: web.Request) -> web.Response:
            if is_local(host) and not names_a_machine(request.headers.get("Host", "")):
                # A page of any site can give a name of its own to this machine, and read what is told under it.
                raise web.HTTPForbidden(text="call by the address or as localhost\n")
            return web.Response(body=await page.text(session), headers={"Content-Type": CONTENT_TYPE_PLAIN_0_0_4})

        application = web.Application()
        application.router.add_get("/metrics", answer)
        runner = web.AppRunner(application, access_log=None, handle_signals=False, shutdown_timeout=_STOP_SECONDS)
        await runner.setup()
        cleanup.push_async_callback(runner.cleanup)
        address = "127.0.0.1" if host.startswith("unix:") else host.strip("[]")
        try:
            await web.TCPSite(runner, address, port).start()
        except OSError as error:
            raise ListenError(
                f"metrics cannot be told on {address}:{port} ({error.strerror}): choose another --metrics-port"
            ) from error
        bound = runner.addresses[0][1]
        yield f"http://{f'[{address}]' if ':' in address else address}:{bound}/metrics"
