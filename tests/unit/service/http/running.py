"""An HTTP port on a real socket, with routes of the test's own."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import aiohttp
import openai

from pipelines.models.shipped import SHIPPED
from service.admission.admission import Admission, RecordingMemory
from service.api.http.application import application
from service.api.http.openai.routes import OpenAiApi
from service.api.http.origins import OriginPolicy
from service.api.http.server import HttpServer
from service.security.authentication import Authenticator
from service.sessions.dialogs import Dialogs
from service.sessions.host import SessionHost
from service.sessions.lifetime import Limits
from service.speakers import Speakers
from tests.unit.pipelines.fakes import FakeModels
from tests.unit.service.harness import FakeVoice

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator, Mapping, Sequence
    from typing import Self

    from starlette.routing import BaseRoute

    from pipelines.models.contracts import EngineRegistry
    from service.security.principal import Principal
    from service.telemetry.call_observer import CallObserver


@contextlib.asynccontextmanager
async def running(
    routes: Sequence[BaseRoute],
    authenticator: Authenticator | None = None,
    allowed_origins: Sequence[str] = (),
    observer: CallObserver | None = None,
    tls: ssl.SSLContext | None = None,
    *,
    is_local: bool = False,
) -> AsyncIterator[HttpServer]:
    callers = authenticator or Authenticator()

    def authenticate(path: str, headers: Mapping[str, str], certificate_name: str | None) -> Principal:
        return callers.authenticate(headers.get("authorization"), certificate_name)

    origins = OriginPolicy(allowed_origins, trusts_hosts=callers.required, is_local=is_local)
    app = application(routes, authenticate, origins, allowed_origins, observer)
    server = HttpServer(app, "127.0.0.1", 0, tls)
    await server.open()
    try:
        yield server
    finally:
        await server.close()


@contextlib.asynccontextmanager
async def client(server: HttpServer, **options: object) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(server.url, timeout=aiohttp.ClientTimeout(total=20), **options) as session:
        yield session


@dataclass
class Openai:
    """OpenAI's contract with fake models and a fake voice behind it."""

    server: HttpServer
    session: aiohttp.ClientSession
    models: FakeModels
    voice: FakeVoice
    host: SessionHost
    routes: Sequence[BaseRoute]

    @classmethod
    @contextlib.asynccontextmanager
    async def running(
        cls,
        max_conversations: int = 8,
        authenticator: Authenticator | None = None,
        limits: Limits | None = None,
        engines: EngineRegistry = SHIPPED,
        models: FakeModels | None = None,
        dialogs: Dialogs | None = None,
        speakers: Speakers | None = None,
    ) -> AsyncIterator[Self]:
        admission = Admission(max_conversations)
        admission.open()
        models, voice = models or FakeModels(0.001, 0.001, 0.001), FakeVoice()
        memory = RecordingMemory(quotas=admission.quotas)
        host = SessionHost(
            models,
            voice,
            admission,
            limits or Limits(),
            memory=memory,
            engines=engines,
            dialogs=dialogs or Dialogs(),
            speakers=speakers or Speakers(),
        )
        routes = OpenAiApi(host).routes
        async with running(routes, authenticator) as server, client(server) as session:
            yield cls(server, session, models, voice, host, routes)

    @property
    def client(self) -> openai.AsyncOpenAI:
        return openai.AsyncOpenAI(api_key="none", base_url=f"{self.server.url}/v1", max_retries=0)
