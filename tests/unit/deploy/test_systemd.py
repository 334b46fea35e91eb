"""The unit of systemd: it starts what there is, and waits as long as a stop takes."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from service.config import ServiceConfig
from tests.unit.deploy.paths import DEPLOY
from vivavoce.cli import run

if TYPE_CHECKING:
    from pathlib import Path

UNIT = DEPLOY / "systemd" / "vivavoce.service"


def setting(name: str) -> list[str]:
    return [line.partition("=")[2] for line in UNIT.read_text().splitlines() if line.startswith(f"{name}=")]


def test_it_starts_the_service_with_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    ((_, *arguments),) = (line.split() for line in setting("ExecStart"))
    assert arguments[:2] == ["serve", "--config"]
    assert run([*arguments[:2], str(tmp_path / "none.toml")]) == 2
    assert "cannot be read" in capsys.readouterr().err


def test_it_waits_for_the_drain_and_for_triton():
    assert int(*setting("TimeoutStopSec")) >= ServiceConfig().drain_seconds + 20
    assert setting("KillMode") == ["mixed"], "Triton is ended by the service, after its last turn"


def test_agents_have_their_secrets_and_a_cache():
    assert setting("EnvironmentFile") == ["-/etc/vivavoce/agents.env"]
    assert f"XDG_CACHE_HOME=/var/cache/{setting('CacheDirectory')[0]}" in setting("Environment")


def test_systemd_has_nothing_against_it(tmp_path: Path):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd is not on this machine")
    unit = tmp_path / UNIT.name
    unit.write_text(UNIT.read_text().replace("/opt/vivavoce/bin/vivavoce", "/bin/true").replace("User=vivavoce\n", ""))
    done = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, timeout=60)
    assert str(unit) not in done.stderr, done.stderr
