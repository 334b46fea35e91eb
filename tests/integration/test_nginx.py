"""Two services behind a real nginx with our configuration. Debian has it as `nginx-light`; others skip."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

import vivavoce
from demo.manifest import utterances
from service.processes.bound_program import bound
from service.processes.child_process import stop
from service.triton.process import free_port
from tests.certificates import Authority
from tests.integration.replicas import DEPLOY, Replica, replicas, until_listening

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")


def config(folder: Path, port: int, members: list[Replica]) -> str:
    """The configuration as it is shipped, but for addresses and the folder of its files."""
    shipped = (DEPLOY / "nginx" / "vivavoce.conf").read_text()
    for number, member in enumerate(members):
        shipped = shipped.replace(f"server 127.0.0.1:{50051 + number}", f"server {member.address}")
    shipped = shipped.replace("listen 8443", f"listen 127.0.0.1:{port}").replace("/etc/nginx", str(folder))
    paths = "".join(
        f"{kind}_temp_path {folder}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    return (
        f"daemon off;\nworker_processes 1;\npid {folder}/pid;\nerror_log stderr;\n"
        f"events {{ worker_connections 256; }}\n"
        f"http {{\naccess_log off;\n{paths}{shipped}}}\n"
    )


@pytest.fixture
def proxy(triton_address: str, tmp_path: Path) -> Iterator[tuple[str, Path, list[Replica]]]:
    if NGINX is None:
        pytest.skip("nginx is not on this machine: apt-get install nginx-light")
    authority = Authority(tmp_path, "authority")
    pair = authority.sign("voice.example.org")
    (tmp_path / "tls").mkdir()
    shutil.copy(pair.cert, tmp_path / "tls" / "tls.crt")
    shutil.copy(pair.key, tmp_path / "tls" / "tls.key")
    port, log = free_port(), tmp_path / "nginx.txt"
    with replicas(2, tmp_path, ["--triton", triton_address, "--max-conversations", "64"]) as members:
        (tmp_path / "nginx.conf").write_text(config(tmp_path, port, members))
        command = [NGINX, "-p", str(tmp_path), "-c", str(tmp_path / "nginx.conf")]
        with log.open("wb") as file:
            process = subprocess.Popen(bound(command), stdout=file, stderr=file, text=True)
        try:
            until_listening(process, "127.0.0.1", port, log)
            yield f"localhost:{port}", authority.path, members
        finally:
            stop(process)


async def test_a_conversation_passes_and_a_dead_replica_is_left_out(proxy: tuple[str, Path, list[Replica]]):
    address, ca, members = proxy
    utterance = next(each for each in utterances() if each.kind == "command")
    recording = vivavoce.read_audio(utterance.path)
    async with vivavoce.connect(address, tls=vivavoce.Tls(ca=ca)) as client:
        conversation = client.converse(recording.chunks(), audio=recording.format)
        (reply,) = [event async for event in conversation if isinstance(event, vivavoce.Reply)]
        assert reply.intent.name == utterance.intent
        members[0].kill()
        for _ in range(10):
            assert (await client.ask("turn on the lights")).status is vivavoce.ReplyStatus.COMPLETE
