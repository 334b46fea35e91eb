"""The lifecycle of the service: from nothing to serving, and back to nothing in order."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import signal
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from grpc_health.v1 import health

from pipelines.load.calibration import measure
from pipelines.load.workload import Workload
from pipelines.models.shipped import SHIPPED
from pipelines.models.triton import TritonClient
from pipelines.models.versions.rollout import Rollout
from pipelines.text.style import prepare
from pipelines.turns.effects import GuessFate
from pipelines.unexpected_errors import log_unhandled
from pipelines.vad.voice_activity import SileroModel
from service.admission.admission import Admission, RecordingMemory
from service.admission.capacity_watch import UNMEASURED_SPEAKERS, CapacityWatch, MeasuredModels, RecognizerRoom
from service.api.riva.asr.speech import SpeechServicer
from service.api.riva.handlers import recording_handlers, riva_handlers
from service.api.riva.nlp.language import LanguageServicer
from service.api.vivavoce.conversation import ConversationServicer
from service.api.vivavoce.converters import SERVICE_NAME
from service.api.vivavoce.handlers import conversation_handler, model_handler
from service.api.vivavoce.models import SERVICE_NAME as MODEL_SERVICE_NAME
from service.api.vivavoce.models import ModelServicer
from service.grpc_server.doors import Doors
from service.processes.scheduling import run_ahead, run_in_real_time
from service.refusals import SHUTTING_DOWN
from service.sessions.lifetime import Limits
from service.sessions.open_conversations import OpenConversations
from service.sessions.readiness import Readiness
from service.telemetry.log_output import STDERR, logging_to
from service.triton.engine_store import EngineStore
from service.triton.fixed_store import FixedStore
from service.triton.installation import TritonNotInstalledError
from service.triton.remote import RemoteModels, WrongTritonError
from service.triton.repository import composed
from service.triton.run_folder import RunFolder
from service.triton.settings import Settings, SettingsError, read_settings
from service.triton.supervisor import TritonGaveUpError, TritonSupervisor
from service.triton.watchdog import Watchdog

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from pipelines.models.contracts import EngineRegistry
    from pipelines.models.versions.store import EngineStore as Store
    from service.sessions.readiness import ModelServer

logger = logging.getLogger(__name__)

DEFAULT_MODEL_REPOSITORY = Path(__file__).resolve().parent.parent / "model_repository"

MOST_CONVERSATIONS = 512
"""Conversations at a time on whatever machine, however little is said in them."""

_DRAIN_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """How the service is run.

    Attributes:
        host: address to listen on, or ``unix:/path`` for a Unix socket.
        port: port to listen on; 0 for one that the kernel chooses.
        recordings_port: port on which ``Recognize`` takes long recordings; None for none.
        triton: ``host:port`` or ``unix:path`` of a Triton that runs elsewhere; None to start one.
        model_repository: what a Triton of our own serves.
        engines: engine directories whose models take the places of those of the repository.
        settings: a settings file for the models; see :mod:`service.triton.settings`.
        speculates: whether replies are worked out during the trailing silence.
        admin: whether the models can be managed, over a Unix socket.
        admin_socket: path of that socket; None for the one where ``vivavoce models`` looks.
        log_level: one of Python's level names.
        max_conversations: conversations at a time; None for as many as can be answered in time on this machine.
        limits: how long a conversation may be silent, and how long it may last.
        real_time: whether the service, not the models, gets real-time priority; else it asks for short turns.
    """

    host: str = "127.0.0.1"
    port: int = 50051
    recordings_port: int | None = None
    triton: str | None = None
    model_repository: Path | None = None
    engines: tuple[Path, ...] = ()
    settings: Path | None = None
    speculates: bool = True
    admin: bool = True
    admin_socket: Path | None = None
    log_level: str = "INFO"
    max_conversations: int | None = None
    limits: Limits = field(default_factory=Limits)
    real_time: bool = False


def run(options: ServeOptions) -> int:
    """Serves until SIGINT, SIGTERM or SIGHUP. Returns the exit status: 0, or 1 when the service could not go on."""
    status = 0
    with logging_to(STDERR, options.log_level) as log:
        try:
            if options.real_time:
                run_in_real_time()
            else:
                run_ahead()
            asyncio.run(_run(options))
        except* (TritonGaveUpError, TritonNotInstalledError, WrongTritonError, SettingsError, OSError) as group:
            for error in group.exceptions:
                log.write(f"vivavoce serve: {error}")
            status = 1
    return status


async def _run(options: ServeOptions) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(log_unhandled)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # What nohup has this process ignore stays ignored.
        if signal.getsignal(number) != signal.SIG_IGN:
            loop.add_signal_handler(number, stop.set)
    async with serving(options) as server:
        ready = asyncio.create_task(server.readiness.wait())
        stopped = asyncio.create_task(stop.wait())
        await asyncio.wait((ready, stopped), return_when=asyncio.FIRST_COMPLETED)
        ready.cancel()
        if not stop.is_set():
            _keep_what_is_there()
            # The one line on stdout: whoever starts the service with port 0 learns the port from it.
            sys.stdout.write(f"listening on {server.address}\n")
            sys.stdout.flush()
        await stopped


def _keep_what_is_there() -> None:
    """Spares the garbage collector what stays as long as the service: going through it holds every conversation up."""
    gc.collect()
    gc.freeze()


@dataclass(frozen=True, slots=True)
class Server:
    """A service that runs: where it can be reached from this machine, and whether its models are ready."""

    address: str
    port: int
    readiness: Readiness


@contextlib.asynccontextmanager
async def serving(options: ServeOptions, registry: EngineRegistry = SHIPPED) -> AsyncIterator[Server]:
    """Runs the service while the body runs, and then stops it in order.

    The door is shut first; turns under way get their replies; sequences are ended; Triton goes last.

    Raises:
        ListenError: it cannot be listened on an address.
        TritonGaveUpError: Triton will not run (in an exception group).
        WrongTritonError: what ``triton`` names cannot serve this (likewise).
    """
    health_servicer = health.aio.HealthServicer()
    async with asyncio.TaskGroup() as tasks, contextlib.AsyncExitStack() as cleanup:
        supervisor, rollout, client, watchdog = _models(options, registry, cleanup)
        voice, workload = SileroModel(), Workload()
        open_conversations = OpenConversations(workload)
        speakers = options.max_conversations or UNMEASURED_SPEAKERS
        capacity = CapacityWatch(open_conversations, workload, client.busy_seconds, speakers)
        model_server: ModelServer = watchdog
        if options.max_conversations is None:
            model_server = MeasuredModels(watchdog, lambda: measure(rollout.active, voice), capacity)
            admission = Admission(MOST_CONVERSATIONS, capacity)
        else:
            admission = Admission(options.max_conversations, RecognizerRoom(open_conversations))
        cleanup.callback(_log_sums, workload, admission)
        readiness = Readiness(model_server, health_servicer, admission)
        if supervisor is not None:
            watching = supervisor.run(rollout.models_to_load, readiness.lost, readiness.is_ready)
            _until_exit(cleanup, tasks.create_task(watching, name="triton"))
        cleanup.push_async_callback(rollout.close)
        models = rollout.active
        servicer = ConversationServicer(
            models, voice, admission, options.limits, open_conversations, speculates=options.speculates
        )
        _until_exit(cleanup, tasks.create_task(prepare(), name="transcript styles"))
        memory = RecordingMemory()
        speech = SpeechServicer(models, voice, admission, memory, options.limits, open_conversations)
        handlers = {
            SERVICE_NAME: conversation_handler(servicer),
            **riva_handlers(speech, LanguageServicer(models, admission, workload.bulk)),
        }
        doors = Doors(options.host, options.port)
        cleanup.push_async_callback(_stop, doors, open_conversations, admission, health_servicer)
        await doors.open_to_callers(handlers, health_servicer)
        if options.recordings_port is not None:
            await doors.open_to_recordings(recording_handlers(speech), options.recordings_port)
        if options.admin:
            admin_handlers = {MODEL_SERVICE_NAME: model_handler(ModelServicer(rollout))}
            await doors.open_to_admin(admin_handlers, options.admin_socket)
        _until_exit(cleanup, tasks.create_task(readiness.watch(), name="readiness"))
        _until_exit(cleanup, tasks.create_task(watchdog.watch(readiness.is_ready), name="watchdog"))
        _until_exit(cleanup, tasks.create_task(capacity.watch(), name="capacity"))
        yield Server(doors.address, doors.port, readiness)


def _models(
    options: ServeOptions, registry: EngineRegistry, cleanup: contextlib.AsyncExitStack
) -> tuple[TritonSupervisor | None, Rollout, TritonClient, Watchdog]:
    """Makes the clients of the models' first versions, what watches them, and the supervisor of a Triton of our own."""
    supervisor: TritonSupervisor | None = None
    store: Store = FixedStore(str(options.triton))
    if options.triton is None:
        default = options.model_repository or DEFAULT_MODEL_REPOSITORY
        settings = read_settings(options.settings) if options.settings else Settings()
        run_folder = RunFolder.open()
        cleanup.callback(run_folder.close)
        repository = cleanup.enter_context(composed(default, options.engines, settings, run_folder.path, registry))
        supervisor, store = TritonSupervisor(repository, run_folder), EngineStore(repository, settings, registry)

    def revive(model: str) -> bool:
        """Has Triton started again for a model whose process has ended, unless it is one that is only being tried."""
        if supervisor is None or model not in rollout.models_to_load():
            return False
        supervisor.restart(f"the process of the model {model} has ended, or hangs")
        return True

    client = TritonClient(supervisor.address if supervisor else str(options.triton), on_dead_model=revive)
    cleanup.push_async_callback(client.close)
    rollout = Rollout(client, store, lambda role, model: registry[role].client(client, model), registry)
    models = rollout if supervisor else RemoteModels(rollout, client, str(options.triton), registry)
    watchdog = Watchdog(models, rollout, client, revive, loads=supervisor is not None, registry=registry)
    return supervisor, rollout, client, watchdog


def _log_sums(workload: Workload, admission: Admission) -> None:
    """Logs what was counted while the service ran."""
    guesses = ", ".join(f"{workload.guesses[fate]} {fate.value}" for fate in GuessFate)
    logger.info("guesses: %s; callers refused for want of room: %d", guesses, admission.refused)


def _until_exit(cleanup: contextlib.AsyncExitStack, task: asyncio.Task[None]) -> None:
    """Lets ``task`` end with the service: cancelled and awaited when its turn has come."""

    async def end() -> None:
        task.cancel()
        await asyncio.wait((task,))

    cleanup.push_async_callback(end)


async def _stop(
    doors: Doors,
    open_conversations: OpenConversations,
    admission: Admission,
    health_servicer: health.aio.HealthServicer,
) -> None:
    admission.close(SHUTTING_DOWN)
    await health_servicer.enter_graceful_shutdown()
    await open_conversations.drain(_DRAIN_SECONDS)
    await doors.close()
