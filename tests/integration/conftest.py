"""A service with everything on, and a Triton that tests and other services share.

Start another service only for what needs a setting of its own, with ``--triton`` wherever Triton itself needs none.
All tests of either run in one worker of xdist: see ``tests.scheduling``.
"""

from __future__ import annotations

import contextlib
import re
import sys
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

import demo
from service.processes.child_process import SERVE, http_url_of, listening, start, stop, wait_for_address
from tests.fast_service import SPEED
from tests.integration.engine_folders import intents
from tests.integration.home import Home, keeping_house
from tests.integration.lamp_agent import write_lamp_agent
from tests.integration.museum import base_of, write_museum
from tests.integration.triton_processes import run_folder, tritonserver
from tests.unit.service.telemetry.collector import Collector, collecting

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator

AGENTS = Path(demo.__file__).parent / "agents"
WITHOUT_NAMESPACES = str(Path(__file__).parents[1] / "without_namespaces.py")
SETTINGS = """
[asr]
strategy = "direct"
max_batch_size = 64
workers = 3
threads = 2
partial_interval_seconds = 0.8
accelerator = "openvino"

[intent_slot_bert]
dynamic_batching = false
max_batch_size = 1
accelerator = "openvino"
precision_mode = "int8"

[qa_bert]
accelerator = "openvino"
instances = 2
threads = 1
preferred_batch_sizes = [4]
queue_delay_microseconds = 100

[punctuation]
max_batch_size = 24
"""


@dataclass(frozen=True)
class Triton:
    """A running Triton: where it listens, where it tells its statistics, and the process that has started it."""

    address: str
    metrics_url: str
    pid: int

    @classmethod
    def of(cls, service: subprocess.Popen[str]) -> Triton:
        """Returns the Triton of a service that tells its metrics."""
        (socket,) = run_folder(service).glob("grpc:*")
        (port,) = re.findall(r"--metrics-port=(\d+)", " ".join(tritonserver(service).cmdline()))
        return cls(f"unix:{socket}", f"http://127.0.0.1:{port}/metrics", service.pid)

    def open_sequences(self) -> int:
        """How many sequences the instances of the model ``asr`` hold, as Triton's own statistics tell it."""
        with urllib.request.urlopen(self.metrics_url, timeout=5) as response:
            held = re.findall(r"^vivavoce_asr_open_sequences\{.*\} (\S+)$", response.read().decode(), re.MULTILINE)
        return int(sum(map(float, held)))

    def shared_memory_bytes(self) -> int:
        """How much shared memory it has for what its Python models are sent, and for what they answer."""
        processes = psutil.Process(self.pid).children(recursive=True)
        # Where it has a /dev/shm of its own, this process sees it through one of Triton's.
        roots = [Path("/proc", str(process.pid), "root/dev/shm") for process in processes]
        sizes = {file.name: file.stat().st_size for root in roots for file in root.glob("vivavoce_*")}
        return sum(sizes.values())


@dataclass(frozen=True)
class Service:
    """A running service.

    Attributes:
        address: ``host:port`` of its gRPC server.
        http_url: URL of its HTTP port.
        process: the service itself.
        log: what it logs, as JSON.
    """

    address: str
    http_url: str
    process: subprocess.Popen[str]
    log: Path


ALONE = frozenset(("test_overload.py", "test_turn_taking.py"))
"""Files whose tests judge what the machine manages in time: nothing else may run beside them."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "integration" in item.path.parts:
            item.add_marker(pytest.mark.integration)
            if item.path.name in ALONE:
                item.add_marker(pytest.mark.alone)


@pytest.fixture(scope="session")
def home_assistant() -> Iterator[Home]:
    """What the agent ``home`` calls."""
    with keeping_house() as home:
        yield home


@pytest.fixture(scope="session")
def museum(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The documents of the knowledge base ``museum``, which lies beside them."""
    folder = tmp_path_factory.mktemp("knowledge") / "museum"
    write_museum(folder)
    return folder


@pytest.fixture(scope="session")
def traces() -> Iterator[tuple[Collector, str]]:
    """What collects the traces, and its URL."""
    with collecting() as collecting_traces:
        yield collecting_traces


@pytest.fixture(scope="session")
def serve_options(museum: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Options with which a service does everything that needs no Triton of its own."""
    agents = [write_lamp_agent(tmp_path_factory.mktemp("agents")), AGENTS / "home", AGENTS / "museum_guide"]
    return [
        *("--http-port", "0", "--webrtc", "--metrics-port", "0", "--max-conversations", "64", "--log-format", "json"),
        *("--knowledge", f"museum={base_of(museum)}"),
        "--diarization",
        *(word for agent in agents for word in ("--agent", str(agent))),
    ]


@contextlib.contextmanager
def serving(arguments: list[str], home: Home, log: Path) -> Iterator[Service]:
    """Runs a service that may call the home."""
    with contextlib.ExitStack() as running:
        with pytest.MonkeyPatch.context() as environment:
            for name, value in home.environment().items():
                environment.setenv(name, value)
            process, address = running.enter_context(listening(arguments, log))
        yield Service(address, http_url_of(process), process, log)


@pytest.fixture(scope="session")
def full_service(
    serve_options: list[str],
    home_assistant: Home,
    traces: tuple[Collector, str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Service]:
    """The service with everything on: HTTP, agents, a knowledge base, a variant, metrics and traces."""
    folder = tmp_path_factory.mktemp("service")
    more = ["--variant", f"other={intents(folder / 'engine', 'other')}", "--otlp-endpoint", traces[1]]
    with serving([*SERVE, *serve_options, *more], home_assistant, folder / "log") as service:
        yield service


@pytest.fixture(scope="session")
def fast_service(
    serve_options: list[str], home_assistant: Home, triton: Triton, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    """A service whose clock runs :data:`tests.fast_service.SPEED` times as fast, for tests that listen."""
    log = tmp_path_factory.mktemp("fast") / "log"
    serve = ["-m", "tests.fast_service", str(SPEED), "serve", "--port", "0", "--triton", triton.address]
    with serving([*serve, *serve_options], home_assistant, log) as service:
        yield service


@pytest.fixture(scope="session")
def bare_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service with other settings of its models, to which Linux gives no namespaces."""
    folder = tmp_path_factory.mktemp("bare")
    (folder / "settings.toml").write_text(SETTINGS)
    serve = [*SERVE, "--max-conversations", "8", "--settings", str(folder / "settings.toml")]
    with (folder / "log").open("wb") as file:
        process = start([sys.executable, WITHOUT_NAMESPACES, sys.executable, *serve], file)
    try:
        address = wait_for_address(process)
        assert address is not None, (folder / "log").read_text()
        yield Service(address, "", process, folder / "log")
    finally:
        stop(process)


@pytest.fixture(scope="session")
def triton(full_service: Service) -> Triton:
    """The Triton of that service."""
    return Triton.of(full_service.process)


@pytest.fixture(scope="session")
def triton_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a Triton without a service."""
    with listening(["-m", "service.triton"], tmp_path_factory.mktemp("triton") / "log") as (_, address):
        yield address


@pytest.fixture(scope="session")
def server_address(full_service: Service) -> str:
    """``host:port`` of the service's gRPC server."""
    return full_service.address


@pytest.fixture(scope="session")
def http_url(full_service: Service) -> str:
    """URL of the service's HTTP port."""
    return full_service.http_url


@pytest.fixture(scope="session")
def fast_address(fast_service: Service) -> str:
    """``host:port`` of the faster service's gRPC server."""
    return fast_service.address
