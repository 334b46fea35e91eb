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
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

from service.bound_program import bound
from service.triton.installation import TritonInstallation
from service.triton.logs import reason, relay

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from typing import Self

logger = logging.getLogger(__name__)

_STOP_GRACE_SECONDS = 15.0
_POLL_SECONDS = 0.1
_BLOCK_BYTES, _MAX_LINE_BYTES = 65_536, 8_192
_SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - where Linux keeps POSIX shared memory


def free_port() -> int:
    """Asks the kernel for a TCP port on the loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class TritonProcess:
    """A running ``tritonserver`` on a loopback port.

    Attributes:
        address: ``host:port`` of its gRPC endpoint. It listens there once its models are loaded.
        metrics_url: where it tells its statistics in Prometheus's format.
    """

    def __init__(
        self, process: asyncio.subprocess.Process, ports: tuple[int, int], directory: Path, shm_prefix: str
    ) -> None:
        self.address = f"127.0.0.1:{ports[0]}"
        self.metrics_url = f"http://127.0.0.1:{ports[1]}/metrics"
        self._process = process
        self._directory = directory
        self._shm_prefix = shm_prefix
        self._complaints: collections.deque[str] = collections.deque(maxlen=20)
        self._reader = asyncio.create_task(self._relay_output(), name="triton-output")

    @classmethod
    async def start(cls, model_repository: Path, models: Sequence[str] = ("*",), port: int | None = None) -> Self:
        """Starts Triton; does not wait until it is ready.

        Args:
            model_repository: what it can serve.
            models: what it loads at once, ``*`` for everything; others can be loaded later, all can be unloaded.
            port: of its gRPC endpoint; None for one that the kernel chooses.

        Raises:
            TritonNotInstalledError: the wheel that carries Triton is not there.
            FileNotFoundError: there is no such model repository.
            OSError: the system refuses, for want of memory or room on the disk.
        """
        installation = check_startable(model_repository)
        ports = (port or free_port(), free_port())
        # Servers on one machine must not share the names of their shared memory.
        shm_prefix = f"vivavoce_{uuid.uuid4().hex[:12]}_"
        directory = Path(tempfile.mkdtemp(prefix="vivavoce-triton-"))
        try:
            installation.lay_out_backends(directory)
            arguments = _arguments(model_repository, directory, ports, shm_prefix)
            loads = [f"--load-model={model}" for model in models]
            process = await asyncio.create_subprocess_exec(
                # The service takes in audio, refuses callers and keeps the budgets: a little work that must never wait
                # for the cores while the models use all of them.
                *bound([str(installation.server), *arguments, *loads], behind=True),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                env=installation.environment(),
                # A session of its own: Ctrl-C in the terminal reaches the service alone, which stops Triton in order.
                start_new_session=True,
            )
        except BaseException:
            shutil.rmtree(directory, ignore_errors=True)
            raise
        return cls(process, ports, directory, shm_prefix)

    @property
    def pid(self) -> int:
        """Process id of ``tritonserver``."""
        return self._process.pid

    @property
    def reason(self) -> str:
        """Why Triton ended, as far as it said, in one line; all that it complained of is in the log."""
        return reason(self._complaints)

    async def wait(self) -> int:
        """Waits until Triton has ended; returns its exit status, negative for a signal."""
        # asyncio's own waiting goes on until the output ends, too, which the process of a model that hangs keeps open.
        while self._process.returncode is None:  # noqa: ASYNC110 - there is nothing else to wait for
            await asyncio.sleep(_POLL_SECONDS)
        return self._process.returncode

    def kill(self) -> None:
        """Ends Triton at once, if it still runs; :meth:`stop` cleans up behind it."""
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()

    async def stop(self) -> None:
        """Ends Triton and its models' processes, in order if they follow in time. May be called twice."""
        if self._process.returncode is None:
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
        self._clean_up()

    def _clean_up(self) -> None:
        shutil.rmtree(self._directory, ignore_errors=True)
        # A Triton that was killed leaves its shared memory behind.
        for region in _SHARED_MEMORY.glob(f"{self._shm_prefix}*"):
            region.unlink(missing_ok=True)

    async def _relay_output(self) -> None:
        assert self._process.stdout is not None
        async for line in _lines(self._process.stdout):
            if relay(line) >= logging.WARNING:
                self._complaints.append(line.rstrip())


async def _lines(output: asyncio.StreamReader) -> AsyncIterator[str]:
    """Yields the lines of an output, of a very long one the beginning: who prints must never wait for the reader."""
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
    """Returns the installation that will serve ``model_repository``.

    Raises:
        TritonNotInstalledError: the wheel that carries Triton is not there.
        FileNotFoundError: there is no such model repository.
    """
    if not model_repository.is_dir():
        raise FileNotFoundError(f"there is no model repository at {model_repository}: name the folder of one")
    return TritonInstallation.find()


def _arguments(model_repository: Path, directory: Path, ports: tuple[int, int], shm_prefix: str) -> list[str]:
    return [
        f"--model-repository={model_repository}",
        "--model-control-mode=explicit",
        f"--backend-directory={directory}",
        f"--backend-config=python,shm-region-prefix-name={shm_prefix}",
        "--grpc-address=127.0.0.1",
        f"--grpc-port={ports[0]}",
        "--allow-http=false",
        "--metrics-address=127.0.0.1",
        f"--metrics-port={ports[1]}",
        # The machine's own figures would be polled all the time, also while nobody speaks.
        "--allow-cpu-metrics=false",
        "--allow-gpu-metrics=false",
        "--exit-timeout-secs=5",
        "--disable-auto-complete-config",
        "--log-verbose=0",
    ]
