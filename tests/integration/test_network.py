"""Nothing is sent anywhere: the service, its Triton and its models reach no further than loopback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import network_watch

IDLE_SECONDS = 6
"""ONNX Runtime's telemetry makes its first look-ups within five seconds."""

REACHES_OUT = """
import contextlib, socket
for host in ("192.0.2.1", "2001:db8::1", "127.0.0.1"):
    with contextlib.suppress(OSError), socket.create_connection((host, 443), timeout=2):
        pass
with contextlib.suppress(OSError):
    socket.getaddrinfo("telemetry.example.com", 443)
"""


def watched(report: Path, *command: str, **environment: str) -> dict[str, int]:
    """Runs a Python command without network; returns what it tried to send, with how often."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.network_watch", "--report", str(report), sys.executable, *command],
        capture_output=True,
        env=os.environ | environment,
        text=True,
        timeout=120,
        check=False,
    )
    if "no network namespace can be made here" in done.stderr:
        pytest.skip("this system gives no network namespace to this user")
    assert done.returncode in {0, network_watch.SENT_SOMETHING}, done.stderr
    return json.loads(report.read_text())


def test_the_watch_sees_connections_and_look_ups_beyond_loopback(tmp_path: Path):
    seen = watched(tmp_path / "report", "-c", REACHES_OUT)
    assert {"connection to 192.0.2.1 port 443", "connection to 2001:db8::1 port 443"} <= set(seen)
    assert not any("127.0.0.1" in line for line in seen)
    nameservers = [
        line.split()[1] for line in Path("/etc/resolv.conf").read_text().splitlines() if "nameserver" in line
    ]
    if any(not server.startswith("127.") for server in nameservers):
        assert "look-up of telemetry.example.com" in seen


LOADS_OPENVINO = """
import sys, time
from pathlib import Path
from engines.accelerators.choice import Accelerator
from engines.bert.session import BertSession
import numpy as np
session = BertSession(Path(sys.argv[1]), 1, Accelerator("openvino", "fp32"))
ids = np.ones((1, 4), np.int64)
assert session.run([{"input_ids": ids, "attention_mask": ids}])
time.sleep(float(sys.argv[2]))
"""


def test_openvino_sends_nothing_and_leaves_no_trace(tmp_path: Path):
    home = tmp_path / "home"
    home.mkdir()
    network = Path("model_repository/intent_slot_bert/1/model.int8.onnx").resolve()
    # In continuous integration it is silent anyway.
    loads = ["-c", LOADS_OPENVINO, str(network), str(IDLE_SECONDS)]
    assert watched(tmp_path / "report", *loads, HOME=str(home), CI="", GITHUB_ACTIONS="") == {}
    assert list(home.rglob("*")) == []


def test_a_service_in_use_and_idle_sends_nothing_and_leaves_no_trace(tmp_path: Path):
    home, folder = tmp_path / "home", tmp_path / "tmp"
    home.mkdir()
    folder.mkdir()
    script = ["-m", "tests.integration.one_conversation", str(tmp_path / "log"), str(IDLE_SECONDS)]
    assert watched(tmp_path / "report", *script, HOME=str(home), TMPDIR=str(folder), ORT_DISABLE_TELEMETRY="0") == {}
    said = (tmp_path / "log").read_text()
    assert "WARNING" not in said, said
    assert list(home.rglob("*")) == []
    assert list(folder.iterdir()) == []
