"""The server's distribution, installed as a user installs it, on the other Python that it supports."""

from __future__ import annotations

import json
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from service.processes.child_process import StartError, start, stop, wait_for_address
from tests.packages.interpreters import make_environment, run, uv

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
OTHER_PYTHON = "3.12"
LIGHTS = ROOT / "demo" / "recordings" / "lights.flac"


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    constraints = ("--constraint", ROOT / "constraints.txt")
    # Both by their folders: no index has the client.
    wanted = (ROOT / "clients", f"vivavoce-server[serve] @ {ROOT.as_uri()}")
    return make_environment(tmp_path_factory.mktemp("server") / "venv", OTHER_PYTHON, *constraints, *wanted)


@pytest.fixture(scope="module")
def address(python: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    log = tmp_path_factory.mktemp("log") / "log.txt"
    models = ("--model-repository", str(ROOT / "model_repository"))
    with log.open("wb") as file:
        process = start([str(python), "-I", "-m", "vivavoce", "serve", "--port", "0", *models], file)
    try:
        found = wait_for_address(process)
        if found is None:
            raise StartError(log.read_text(errors="replace")[-4_000:])
        yield found
    finally:
        assert stop(process) == 0


def test_the_wheel_holds_the_server_alone_and_contributes_its_commands(tmp_path: Path):
    uv("build", "--quiet", "--wheel", "--out-dir", tmp_path, ROOT)
    [wheel] = tmp_path.glob("*.whl")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        [entries] = [archive.read(name).decode() for name in names if name.endswith("/entry_points.txt")]
    folder = f"vivavoce_server-{project['version']}.dist-info"
    packages = {"engines", "pipelines", "service"}
    assert {name.partition("/")[0] for name in names} == packages | {folder}
    for name, value in project["entry-points"]["vivavoce.commands"].items():
        assert f"{name} = {value}\n" in entries


def test_it_answers_on_the_other_python(python: Path, address: str):
    assert run(python, "-c", "import sys; print(*sys.version_info[:2], sep='.')").strip() == OTHER_PYTHON
    assert f"{sys.version_info.major}.{sys.version_info.minor}" != OTHER_PYTHON
    command = python.with_name("vivavoce")
    # How fast it answers is for other tests to tell.
    options = ("--budget-ms", "20000", "--json", "--server", address)
    context = ("--context", "The museum opens at nine.")
    asked = run(command, "ask", "When does the museum open?", *context, *options)
    assert json.loads(asked)["answer"]["text"] == "nine"
    heard = run(command, "converse", LIGHTS, "--no-realtime", "--one-utterance", *options)
    [reply] = [event for event in map(json.loads, heard.splitlines()) if event["event"] == "reply"]
    assert reply["status"] == "COMPLETE"
    assert "light" in reply["transcript"].lower()
