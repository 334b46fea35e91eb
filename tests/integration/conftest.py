"""One real Triton with the real models, and one service in front of it, for all integration tests."""

from __future__ import annotations

import re
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from service.processes.child_process import http_url_of, listening

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Triton:
    """A running Triton: where it listens, where it tells its statistics, and the process that has started it."""

    address: str
    metrics_url: str
    pid: int

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


SIDE_BY_SIDE = frozenset(
    f"test_{name}.py"
    for name in (
        "asr_model", "bench_triton", "embed_model", "end_of_turn_model", "eval", "formats", "gpu_engine",
        "gpu_recognition", "imported_engines", "intent_slot_model", "phrase_hints", "punctuation_model", "qa_model",
        "recognition_benchmark", "settings", "training", "tts_model", "variants", "word_times",
    )
)  # fmt: skip
"""Files whose tests send no sound at the pace of speech, and wait for no reply that is due: two at a time may run."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "integration" in item.path.parts:
            item.add_marker(pytest.mark.integration)
            if item.path.name in SIDE_BY_SIDE:
                item.add_marker(pytest.mark.side_by_side)


@pytest.fixture(scope="session")
def triton(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Triton]:
    log = tmp_path_factory.mktemp("triton") / "log.txt"
    with listening(["-m", "service.triton"], log) as (process, address):
        yield Triton(address, process.stdout.readline().split()[-1], process.pid)


@pytest.fixture(scope="session")
def triton_address(triton: Triton) -> str:
    """Address of Triton's gRPC endpoint."""
    return triton.address


@dataclass(frozen=True)
class Service:
    """A running service: its gRPC address, and the URL of its HTTP port."""

    address: str
    http_url: str


@pytest.fixture(scope="session")
def service(triton_address: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service that uses that Triton."""
    log = tmp_path_factory.mktemp("service") / "log.txt"
    ports = ["--port", "0", "--http-port", "0"]
    arguments = ["-m", "vivavoce", "serve", *ports, "--triton", triton_address, "--max-conversations", "64"]
    with listening(arguments, log) as (process, address):
        yield Service(address, http_url_of(process))


@pytest.fixture(scope="session")
def server_address(service: Service) -> str:
    """``host:port`` of its gRPC server."""
    return service.address


@pytest.fixture(scope="session")
def http_url(service: Service) -> str:
    """URL of its HTTP port."""
    return service.http_url
