"""Life cycle of the service."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import sys
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from grpc_health.v1 import health

from pipelines.data.stages import QA
from pipelines.dialog.agent.problems import AgentError
from pipelines.dialog.dialog_stage import DialogStage
from pipelines.knowledge.store.port import KnowledgeStoreError
from pipelines.load.utilization import Utilization
from pipelines.load.workload import Workload
from pipelines.models.contracts import ASR
from pipelines.models.shipped import EMBEDDING, SHIPPED, SPEAKER_EMBEDDING
from pipelines.session.calibration import measure
from pipelines.session.shipped_stages import SHIPPED_STAGES
from pipelines.session.warm_up_turns import hold_first_turns
from pipelines.speakers.enrolled import EnrolmentError
from pipelines.stages.answering_stage import AnsweringStage
from pipelines.text.style import prepare
from pipelines.turns.observer import TurnObservers
from pipelines.unexpected_errors import log_unhandled
from pipelines.vad.voice_activity import SileroModel
from service.admission.admission import Admission, RecordingMemory
from service.admission.processor import known_speakers
from service.agent_knowledge import agent_bases
from service.api.http.door import http_server
from service.api.registry import SHIPPED_APIS
from service.api.vivavoce.handlers import model_handler
from service.api.vivavoce.models import SERVICE_NAME as MODEL_SERVICE_NAME
from service.api.vivavoce.models import ModelServicer
from service.config import ConfigError
from service.grpc_server.doors import Doors
from service.knowledge import open_bases
from service.lines import Lines
from service.processes.scheduling import run_ahead, run_in_real_time
from service.security.authentication import Authenticator
from service.security.jwt import JwtVerifier
from service.security.tls import server_credentials
from service.security.tokens import TokenFile
from service.security.watched_file import UnusableFileError
from service.sessions.capacity_watch import UNMEASURED_SPEAKERS, CapacityWatch, MeasuredModels, RecognizerRoom
from service.sessions.dialogs import read_dialogs
from service.sessions.host import SessionHost
from service.sessions.lifetime import Limits
from service.sessions.model_warm_up import RehearsedModels
from service.sessions.open_conversations import OpenConversations
from service.sessions.readiness import Readiness
from service.sessions.session_store import SessionsError, sessions_of
from service.sessions.stopping import StopRequests
from service.speakers import Speakers
from service.telemetry.figures import Figures
from service.telemetry.log_formats import LOG_FORMATTERS
from service.telemetry.log_output import STDERR, logging_to
from service.telemetry.telemetry import Telemetry, TracingNotInstalledError
from service.triton.engine_code import EngineCodeError
from service.triton.installation import TritonNotInstalledError
from service.triton.remote import WrongTritonError
from service.triton.repository import role_of
from service.triton.served_models import served_models
from service.triton.settings import SettingsError
from service.triton.supervisor import TritonGaveUpError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence

    import grpc

    from pipelines.knowledge.bases import KnowledgeBases
    from pipelines.models.contracts import EngineRegistry
    from pipelines.stages.registry import StageRegistry
    from service.api.registry import Api
    from service.config import ServiceConfig
    from service.sessions.readiness import ModelServer
    from service.triton.served_models import ServedModels

MAX_CONVERSATIONS = 512
"""Conversations at a time on whatever machine, however little is said in them."""

_CANNOT_GO_ON = (
    AgentError,
    ConfigError,
    KnowledgeStoreError,
    SessionsError,
    UnusableFileError,
    EngineCodeError,
    TritonGaveUpError,
    TritonNotInstalledError,
    WrongTritonError,
    SettingsError,
    EnrolmentError,
    TracingNotInstalledError,
    OSError,
)


def run(config: ServiceConfig) -> int:
    """Serve until SIGINT, SIGTERM or SIGHUP; return the exit status, 0 or 1."""
    status = 0
    with logging_to(STDERR, config.log_level, LOG_FORMATTERS[config.log_format]()) as log:
        try:
            if config.real_time:
                run_in_real_time()
            else:
                run_ahead()
            asyncio.run(_run(config))
        except* _CANNOT_GO_ON as group:
            for error in group.exceptions:
                log.write(f"vivavoce serve: {error}")
            status = 1
    return status


async def _run(config: ServiceConfig) -> None:
    asyncio.get_running_loop().set_exception_handler(log_unhandled)
    requests = StopRequests()
    requests.listen()
    async with serving(config, hasten=requests.hasten) as server:
        ready = asyncio.create_task(server.readiness.wait())
        stopped = asyncio.create_task(requests.stop.wait())
        await asyncio.wait((ready, stopped), return_when=asyncio.FIRST_COMPLETED)
        ready.cancel()
        if not requests.stop.is_set():
            _keep_what_is_there()
            sys.stdout.write(f"listening on {server.address}\n")
            # Whoever starts the service with port 0 learns the ports from these lines, all of stdout.
            sys.stdout.write(f"HTTP on {server.http_url}\n" if server.http_url else "")
            sys.stdout.write(f"AudioSocket on port {server.audiosocket_port}\n" if server.audiosocket_port else "")
            sys.stdout.flush()
        await stopped


def _keep_what_is_there() -> None:
    """Freeze long-lived objects: collecting them would pause every conversation."""
    gc.collect()
    gc.freeze()


@dataclass(frozen=True, slots=True)
class Server:
    """Running service: its local addresses and its readiness."""

    address: str
    port: int
    readiness: Readiness
    http_url: str = ""
    audiosocket_port: int = 0


@dataclass(frozen=True, slots=True)
class Registries:
    """The open lists of a service: what it can compute, and over which contracts.

    Attributes:
        engines: models by role.
        stages: what is made of a turn's text.
        apis: the gRPC APIs for callers.
    """

    engines: EngineRegistry = SHIPPED
    stages: StageRegistry = SHIPPED_STAGES
    apis: Sequence[Callable[[SessionHost], Api]] = SHIPPED_APIS

    def with_bases(self, bases: KnowledgeBases) -> Registries:
        """Add what answering from knowledge bases needs; nothing where there are none."""
        if not bases.names:
            return self
        return replace(self, engines=self._embedding(), stages=self.stages.replacing(AnsweringStage(bases)))

    def with_agents(self, agents: Collection[object]) -> Registries:
        """Add what understanding by agents' sentences needs, if there are agents."""
        if not agents:
            return self
        stages = self.stages.replacing(DialogStage(self.stages[QA], compares_meaning=True))
        return replace(self, engines=self._embedding(), stages=stages)

    def _embedding(self) -> EngineRegistry:
        return self.engines if EMBEDDING.name in self.engines.names else self.engines.including(EMBEDDING)

    def with_speakers(self, speakers: Speakers) -> Registries:
        """Add what telling speakers apart needs; nothing where that is not served."""
        return replace(self, engines=self.engines.including(SPEAKER_EMBEDDING)) if speakers.is_served else self


@contextlib.asynccontextmanager
async def serving(
    config: ServiceConfig, lists: Registries | None = None, hasten: asyncio.Event | None = None
) -> AsyncIterator[Server]:
    """Run the service while the body runs, and then stops it in order.

    The door is shut first; turns under way get their replies; sequences are ended; Triton goes last.

    Args:
        config: how it is run.
        lists: engines, stages and APIs; None: those that Vivavoce ships.
        hasten: set while it stops to end at once what is under way; None: that has all of ``drain_seconds``.

    Raises:
        ListenError: it cannot be listened on an address.
        TritonGaveUpError: Triton will not run (in an exception group).
        WrongTritonError: what ``triton`` names cannot serve this (likewise).
        KnowledgeStoreError: a knowledge base cannot be read (likewise).
    """
    lists = lists or Registries()
    for variant, folder in config.variants.items():
        lists = replace(lists, engines=lists.engines.with_variant(role_of(folder, lists.engines), variant))
    health_servicer = health.aio.HealthServicer()
    async with asyncio.TaskGroup() as tasks, contextlib.AsyncExitStack() as cleanup:
        own = await agent_bases(config.agents, config.knowledge, config.model_repository, os.environ)
        bases = open_bases({**own, **config.knowledge}, cleanup)
        speaking = Speakers(is_served=config.diarization, folder=config.speakers)
        lists = lists.with_bases(bases).with_agents(config.agents).with_speakers(speaking)
        models = served_models(config, lists.engines, cleanup)
        rollout, client, watchdog = models.rollout, models.client, models.watchdog
        voice, utilization, telemetry = SileroModel(), Utilization(), Telemetry(config)
        workload = Workload(observer=TurnObservers((utilization, *telemetry.turn_observers)))
        open_conversations = OpenConversations(workload)
        speakers = UNMEASURED_SPEAKERS if config.max_conversations == "auto" else config.max_conversations
        capacity = CapacityWatch(
            open_conversations, workload, utilization, client.busy_seconds, speakers, models.recognizer_places
        )
        styles = tasks.create_task(prepare(), name="transcript styles")
        rehearsed = RehearsedModels(
            watchdog,
            lambda: asyncio.shield(styles),
            lambda: hold_first_turns(rollout.active, voice),
            lambda: host.dialogs.prepare(rollout.active),
        )
        admission, model_server = _admission(config, models, rehearsed, capacity, open_conversations, voice)
        cleanup.callback(lambda: telemetry.log.sum_up(admission.refused))
        host = SessionHost(
            rollout.active,
            voice,
            admission,
            Limits(longest_seconds=60 * config.longest_minutes),
            open_conversations,
            RecordingMemory(quotas=admission.quotas),
            stages=lists.stages,
            engines=lists.engines,
            knowledge=bases.names,
            speculates=config.speculation,
            late_seconds=config.late_reply_seconds,
            typed_observer=TurnObservers(telemetry.turn_observers),
            dialogs=replace(
                read_dialogs(config.agents, await sessions_of(config, cleanup), cleanup),
                hears_speakers=speaking.tells_names,
            ),
            speakers=speaking,
            second_opinion=_second_opinion(config, lists.engines),
        )
        apis = [make_api(host) for make_api in lists.apis]
        handlers = {name: handler for api in apis for name, handler in api.handlers.items()}
        readiness = Readiness(model_server, health_servicer, admission, handlers)
        if models.supervisor is not None:
            watching = models.supervisor.run(
                rollout.models_to_load, readiness.lost, readiness.is_ready, client.on_dead_model
            )
            _until_exit(cleanup, tasks.create_task(watching, name="triton"))
        cleanup.push_async_callback(rollout.close)
        _until_exit(cleanup, styles)

        def read() -> Figures:
            return Figures(
                ready=readiness.is_serving(),
                speakers=open_conversations.speakers(0),
                speakers_limit=capacity.limit,
                conversations=open_conversations.count,
                principals=admission.quotas.present,
                open_sequences=len(client.open_sequences),
                audio_seconds_total=admission.quotas.audio_seconds,
                triton_restarts_total=models.restarts,
                models_mended_total=client.reloads,
            )

        await cleanup.enter_async_context(telemetry.running(read, lambda: models.metrics_url))
        credentials = partial(server_credentials, config.tls) if config.tls else None
        reported = capacity.utilization if config.load_reports else None
        calls, callers = telemetry.call_observer, _authenticator(config)
        doors = Doors(config.host, config.port, callers, credentials, calls, reported)
        lines = Lines(host, config, calls)
        http = http_server(config, apis, readiness.is_serving, callers, calls, host.client_secrets, lines.routes)
        # Until the last turn has ended: a model that is lost meanwhile comes back.
        _until_exit(cleanup, tasks.create_task(watchdog.watch(readiness.is_ready), name="watchdog"))
        drain = partial(open_conversations.drain, config.drain_seconds, admission.is_busy, hasten)
        cleanup.push_async_callback(
            _stop, readiness.shut_down, doors.leave, lines.leave, drain, doors.close, http.close, lines.close
        )
        await _open_doors(config, doors, apis, handlers, models, health_servicer)
        await http.open()
        await lines.open()
        _until_exit(cleanup, tasks.create_task(readiness.watch(), name="readiness"))
        _until_exit(cleanup, tasks.create_task(capacity.watch(), name="capacity"))
        if isinstance(model_server, MeasuredModels):
            again = model_server.measure_when_quiet(admission.is_busy)
            _until_exit(cleanup, tasks.create_task(again, name="capacity again"))
        _until_exit(cleanup, tasks.create_task(host.dialogs.watch(), name="agents"))
        yield Server(doors.address, doors.port, readiness, http.url, lines.audiosocket_port)


def _second_opinion(config: ServiceConfig, engines: EngineRegistry) -> str:
    """Return the variant of the recognizer that reads turns again; "" for none."""
    name = config.second_opinion or ""
    if name and name not in engines.variants(ASR):
        raise ConfigError(f"the variant {name!r} is no recognizer: give another one as --second-opinion, or none")
    return name


def _admission(
    config: ServiceConfig,
    models: ServedModels,
    rehearsed: RehearsedModels,
    capacity: CapacityWatch,
    rooms: OpenConversations,
    voice: SileroModel,
) -> tuple[Admission, ModelServer]:
    """Make the admission, and the models that readiness measures."""
    if config.max_conversations != "auto":
        return Admission(config.max_conversations, RecognizerRoom(rooms, models.recognizer_places)), rehearsed
    measured = MeasuredModels(rehearsed, lambda: measure(models.rollout.active, voice), capacity, known_speakers())
    return Admission(MAX_CONVERSATIONS, capacity), measured


async def _open_doors(
    config: ServiceConfig,
    doors: Doors,
    apis: Sequence[Api],
    handlers: Mapping[str, grpc.GenericRpcHandler],
    models: ServedModels,
    health_servicer: health.aio.HealthServicer,
) -> None:
    """Listen on all of gRPC's ports and sockets."""
    await doors.open_to_callers(handlers, health_servicer)
    if config.recordings_port is not None:
        recordings = {name: handler for api in apis for name, handler in api.recording_handlers.items()}
        await doors.open_to_recordings(recordings, config.recordings_port)
    if config.admin:
        admin_handlers = {MODEL_SERVICE_NAME: model_handler(ModelServicer(models.rollout))}
        await doors.open_to_admin(admin_handlers, config.admin_socket, health_servicer)


def _until_exit(cleanup: contextlib.AsyncExitStack, task: asyncio.Task[None]) -> None:
    """Cancel and await ``task`` when the service ends."""

    async def end() -> None:
        task.cancel()
        await asyncio.wait((task,))

    cleanup.push_async_callback(end)


async def _stop(*steps: Callable[[], Awaitable[None]]) -> None:
    for step in steps:
        await step()


def _authenticator(config: ServiceConfig) -> Authenticator:
    """Make what decides who calls.

    Raises:
        OSError: a file cannot be read.
        UnusableFileError: one cannot be used.
    """
    limits = config.limits
    jwts = None
    if config.jwt_keys is not None:
        jwts = JwtVerifier(config.jwt_keys, str(config.jwt_issuer), str(config.jwt_audience), limits)
    tokens = TokenFile(config.tokens, limits=limits) if config.tokens is not None else None
    return Authenticator(tokens, jwts, certificates=config.client_ca is not None, limits=limits)
