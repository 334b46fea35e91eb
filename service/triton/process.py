"""One run of ``tritonserver`` as a child that cannot outlive its parent."""

from __future__ import annotations

import asyncio
import collections
import contextlib
import logging
import os
import shutil
import signal
import socket
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from service.processes.bound_program import bound
from service.processes.private_memory import SHARED_MEMORY
from service.triton.confined import what_it_needs
from service.triton.installation import TritonInstallation
from service.triton.logs import reason, relay
from service.triton.process_look import Ailment, ExitWatch, ProcessWatch, SeenProcess, is_alive, look
from service.triton.run_folder import RunFolder

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Container, Mapping, Sequence
    from typing import Self

logger = logging.getLogger(__name__)

_STOP_GRACE_SECONDS = 15.0
_POLL_SECONDS = 0.1
_SAME_TIME_SECONDS = 0.05
_LOOKS_AT_ALL = 4
_BLOCK_BYTES, _MAX_LINE_BYTES = 65_536, 8_192


def free_port() -> int:
    """Ask the kernel for a TCP port on the loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class TritonProcess:
    """A running ``tritonserver``, with which only processes of this user can speak.

    Attributes:
        address: ``unix:PATH`` of its gRPC endpoint. It listens there once its models are loaded.
        metrics_url: where it tells its statistics in Prometheus's format; None where it tells none.
    """

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        run: RunFolder,
        directory: Path,
        metrics_url: str | None = None,
        *,
        owns_run: bool = False,
    ) -> None:
        self.address = run.address
        self.metrics_url = metrics_url
        self._process = process
        self._run = run
        self._directory = directory
        self._owns_run = owns_run
        self._watch = ProcessWatch()
        self._is_orderly = True
        self._exits = ExitWatch()
        self._seen: Mapping[int, SeenProcess] = {}
        self._looks = 0
        self._complaints: collections.deque[str] = collections.deque(maxlen=20)
        self._reader = asyncio.create_task(self._relay_output(), name="triton-output")

    @classmethod
    async def start(
        cls,
        model_repository: Path,
        models: Sequence[str] = ("*",),
        run: RunFolder | None = None,
        *,
        metrics: bool = False,
    ) -> Self:
        """Start Triton; do not wait until it is ready.

        Args:
            model_repository: what it can serve.
            models: what it loads at once, ``*`` for everything; others can be loaded later, all can be unloaded.
            run: where its socket is, the same for one after the other; None for a folder of its own.
            metrics: whether it tells its statistics, which hold numbers only, on a loopback port.

        Raises:
            TritonNotInstalledError: the wheel that carries Triton is not there.
            FileNotFoundError: there is no such model repository.
            OSError: the system refuses, for want of memory or room on the disk.
        """
        installation = check_startable(model_repository)
        metrics_port = free_port() if metrics else None
        with contextlib.ExitStack() as undo:
            owns_run = run is None
            if run is None:
                run = RunFolder.open()
                undo.callback(run.close)
            directory = Path(tempfile.mkdtemp(prefix="triton-", dir=run.path))
            undo.callback(shutil.rmtree, directory, ignore_errors=True)
            installation.lay_out_backends(directory)
            arguments = _arguments(model_repository, directory, run, metrics_port)
            loads = [f"--load-model={model}" for model in models]
            process = await asyncio.create_subprocess_exec(
                # The service takes in audio, refuses callers and keeps the budgets: a little work that must never wait
                # for the cores while the models use all of them.
                *bound(
                    [str(installation.server), *arguments, *loads],
                    behind=True,
                    private_memory=run.private_memory,
                    confinement=what_it_needs(installation, model_repository, run, metrics_port),
                ),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                env={**installation.environment(), **run.environment, "TMPDIR": str(directory)},
                # Python models import what lies in the working folder before what is installed.
                cwd=directory,
                # A session of its own: Ctrl-C in the terminal reaches the service alone, which stops Triton in order.
                start_new_session=True,
            )
            undo.pop_all()
        metrics_url = f"http://127.0.0.1:{metrics_port}/metrics" if metrics else None
        return cls(process, run, directory, metrics_url, owns_run=owns_run)

    @property
    def pid(self) -> int:
        """Process id of ``tritonserver``."""
        return self._process.pid

    @property
    def reason(self) -> str:
        """Reason of Triton's end, as far as known, in one line."""
        return reason(self._complaints)

    async def wait(self) -> int:
        """Wait until Triton has ended; return its exit status, negative for a signal."""
        # asyncio's own waiting goes on until the output ends, too, which the process of a model that hangs keeps open.
        while self._process.returncode is None:  # noqa: ASYNC110 - there is nothing else to wait for
            await asyncio.sleep(_POLL_SECONDS)
        return self._process.returncode

    async def ailing(self, in_service: Container[str], *, are_loaded: bool = True) -> Ailment | None:
        """Return which of its processes can work no more; to be asked again and again.

        Args:
            in_service: the models whose processes count.
            are_loaded: whether these have been loaded; until then none counts that has ended.
        """
        # Off the event loop: a busy machine has many processes to go through.
        known = None if self._looks % _LOOKS_AT_ALL == 0 else self._seen
        self._looks += 1
        seen = self._seen = await asyncio.to_thread(look, self.pid, known)
        self._exits.watch(seen)
        return self._watch.ailing(seen, in_service, are_loaded=are_loaded)

    async def lost_model(self) -> str:
        """Wait for the next model that loses a process; return its name.

        None is lost that Triton has told to end, or that it has another one for: it reloads a model by itself whose
        files have changed.
        """
        while True:
            pid, lost = await self._exits.ended.get()
            self._watch.told.add(pid)
            # Where Triton ends, those of its models do too.
            await asyncio.sleep(_SAME_TIME_SECONDS)
            if self._process.returncode is not None or not is_alive(self.pid):
                continue
            seen = await asyncio.to_thread(look, self.pid)
            if all(other.instance != lost.instance for other in seen.values()):
                assert lost.model is not None
                return lost.model

    async def end_processes(self, model: str) -> None:
        """Kill the processes of a model, after which Triton cannot end in order."""
        self._is_orderly = False
        seen = await asyncio.to_thread(look, self.pid)
        for pid in (pid for pid, process in seen.items() if process.model == model):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def kill(self) -> None:
        """End Triton at once, if it still runs; :meth:`stop` cleans up behind it."""
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()

    async def stop(self) -> None:
        """End Triton and its models' processes, by force if need be. Idempotent."""
        self._exits.close()
        if self._process.returncode is None:
            if not self._is_orderly:
                # It would wait in vain for what is left of the models whose processes have ended.
                self.kill()
            with contextlib.suppress(ProcessLookupError):
                self._process.terminate()
            try:
                await asyncio.wait_for(self.wait(), _STOP_GRACE_SECONDS)
            except TimeoutError:
                logger.warning("Triton did not stop within %.0f s and is killed", _STOP_GRACE_SECONDS)
                self.kill()
                await self.wait()
        # Processes of models whose server has died would go on, and keep the pipe open that the reader reads.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        await self._reader
        # A Triton that was killed leaves its shared memory behind, where it has none of its own.
        for segment in SHARED_MEMORY.glob(f"{self._run.segment_prefix}*"):
            segment.unlink(missing_ok=True)
        shutil.rmtree(self._directory, ignore_errors=True)
        if self._owns_run:
            self._run.close()

    async def _relay_output(self) -> None:
        assert self._process.stdout is not None
        async for line in _lines(self._process.stdout):
            if relay(line) >= logging.WARNING:
                self._complaints.append(line.rstrip())


async def _lines(output: asyncio.StreamReader) -> AsyncIterator[str]:
    """Yield the lines of an output, truncated, and never block its writer."""
    begun = b""
    while block := await output.read(_BLOCK_BYTES):
        *ended, rest = block.split(b"\n")
        for part in ended:
            yield (begun + part)[:_MAX_LINE_BYTES].decode(errors="replace")
            begun = b""
        begun = (begun + rest)[:_MAX_LINE_BYTES]
    if begun:
        yield begun.decode(errors="replace")


def check_startable(model_repository: Path) -> TritonInstallation:
    """Return the installation that will serve ``model_repository``.

    Raises:
        TritonNotInstalledError: the wheel that carries Triton is not there.
        FileNotFoundError: there is no such model repository.
    """
    if not model_repository.is_dir():
        raise FileNotFoundError(f"there is no model repository at {model_repository}: name the folder of one")
    return TritonInstallation.find()


def _arguments(model_repository: Path, directory: Path, run: RunFolder, metrics_port: int | None) -> list[str]:
    metrics = (
        ["--allow-metrics=false"]
        if metrics_port is None
        else ["--metrics-address=127.0.0.1", f"--metrics-port={metrics_port}"]
    )
    return [
        f"--model-repository={model_repository.resolve()}",
        "--model-control-mode=explicit",
        f"--backend-directory={directory}",
        f"--backend-config=python,shm-region-prefix-name={run.segment_prefix}",
        # Whoever can speak with Triton can have it run code: no port, which every account could connect to.
        f"--grpc-address=unix:{run.socket}",
        f"--grpc-port={run.port}",
        "--allow-http=false",
        *metrics,
        # The machine's own figures would be polled all the time, also while nobody speaks.
        "--allow-cpu-metrics=false",
        "--allow-gpu-metrics=false",
        "--exit-timeout-secs=5",
        "--disable-auto-complete-config",
        "--log-verbose=0",
    ]
