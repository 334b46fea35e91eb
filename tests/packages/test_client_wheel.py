"""The client's wheel in environments of its own: what it holds and brings, and that programs with it run and check."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from email import message_from_bytes
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.packages.interpreters import make_environment, run, uv
from tests.pages import blocks, page
from tests.unit.clients.fake_service import make_answer, make_reply, serving

if TYPE_CHECKING:
    from collections.abc import Callable

    Install = Callable[..., Path]
    """Returns the interpreter of an environment with the wheel: of this version of Python, with these extras."""

ROOT = Path(__file__).parents[2]
PROGRAM = Path(__file__).with_name("client_program.py")
SYNC_PROGRAM = Path(__file__).with_name("sync_program.py")
WRONG_PROGRAM = """
import vivavoce

async def main() -> int:
    async with vivavoce.connect("localhost:50051") as client:
        reply = await client.ask(5)
        return reply.transcript
"""
VERSIONS = ("3.10", "3.11", "3.12", "3.13")
OLDEST, NEWEST = VERSIONS[0], VERSIONS[-1]
CORE = {"googleapis-common-protos", "grpcio", "grpcio-status", "numpy", "protobuf"}
MAX_WHEEL_BYTES = 400_000


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    uv("build", "--quiet", "--wheel", "--out-dir", folder, ROOT / "clients")
    [built] = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def install(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Install:
    """Makes an environment with the wheel and nothing else that is not asked for, once for each choice."""
    made: dict[tuple[str, ...], Path] = {}

    def installed(version: str, extras: str = "", *others: str) -> Path:
        choice = (version, extras, *others)
        if choice not in made:
            folder = tmp_path_factory.mktemp(f"python{version}") / "venv"
            made[choice] = make_environment(folder, version, f"vivavoce{extras} @ {wheel.as_uri()}", *others)
        return made[choice]

    return installed


def test_the_wheel_holds_one_package_and_is_small(wheel: Path):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        [metadata] = [message_from_bytes(archive.read(name)) for name in names if name.endswith("/METADATA")]
    assert {name.partition("/")[0] for name in names} == {"vivavoce", f"vivavoce-{metadata['Version']}.dist-info"}
    assert "vivavoce/py.typed" in names
    assert wheel.stat().st_size < MAX_WHEEL_BYTES
    assert metadata["Requires-Python"] == ">=3.10"
    assert metadata["Project-URL"] is None
    needed = [wanted for wanted in metadata.get_all("Requires-Dist") if "extra ==" not in wanted]
    assert len(needed) == len(CORE)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_program_talks_to_a_service(version: str, install: Install, record_property: Callable[[str, object], None]):
    python = install(version)
    with serving() as service:
        said = run(python, "-I", "-W", "error", PROGRAM, service.address)
    assert [json.loads(line) for line in said.splitlines()] == [
        {"asked": "turn on the light", "intent": "iot_hue_lighton"},
        {"heard": "turn on the light"},
        {"slots": {"device_type": "light"}},
    ]
    assert len(service.audio()) == 2 * 8_000
    clock = "import time; begin = time.perf_counter(); import vivavoce; print(time.perf_counter() - begin)"
    record_property("import_seconds", min(float(run(python, "-I", "-c", clock)) for _ in range(3)))


@pytest.mark.parametrize("version", VERSIONS)
def test_a_program_without_asyncio_talks_to_a_service_and_tests_itself(version: str, install: Install):
    with serving() as service:
        said = run(install(version), "-I", "-W", "error", SYNC_PROGRAM, service.address)
    assert [json.loads(line) for line in said.splitlines()] == [
        {"asked": "turn on the light"},
        {"request_id": "end", "rest": 0},
        {"scripted": "greet"},
    ]


def test_the_program_of_the_readme_runs(install: Install, tmp_path: Path):
    [block] = blocks(page("clients/README.md"), "python")
    with serving() as service:
        service.answer = lambda request, _: make_reply(transcript=request.text, answer=make_answer())
        (tmp_path / "program.py").write_text(block.text.replace("localhost:50051", service.address))
        said = run(install(OLDEST), "-I", tmp_path / "program.py")
    assert said == "at nine\n"
    [request] = service.asked
    assert [document.text for document in request.documents] == ["The museum opens at nine."]


@pytest.mark.parametrize("version", VERSIONS)
def test_the_core_brings_no_command_line(version: str, install: Install):
    python = install(version)
    listed = {package["name"] for package in json.loads(uv("pip", "list", "--format=json", "--python", python))}
    assert CORE | {"vivavoce"} <= listed
    assert not listed & {"click", "rich", "soundfile", "sounddevice", "soxr", "wyoming"}
    done = subprocess.run([python, "-I", "-m", "vivavoce", "ask", "hello"], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("The command line needs the package click; install it with")


@pytest.mark.parametrize("version", [OLDEST, NEWEST])
def test_the_commands_run_without_the_server(version: str, install: Install):
    python = install(version, "[cli,files,mic,wyoming]")
    command = python.with_name("vivavoce")
    with serving() as service:
        [reply] = map(json.loads, run(command, "ask", "hello", "--json", "--server", service.address).splitlines())
    assert reply["transcript"] == "hello"
    listed = run(command, "--help")
    assert all(f"  {name} " in listed for name in ("ask", "converse", "mic", "models", "wyoming"))
    run(python, "-I", "-W", "error", "-c", "import vivavoce.wyoming")
    done = subprocess.run([command, "serve"], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("`vivavoce serve` comes with the server; install it with")


def test_the_clients_own_tests_pass_on_the_oldest_python(install: Install):
    """Those of what Python 3.10 lacks: time limits and tasks that end together."""
    python = install(OLDEST, "[cli,files,mic,wyoming]", "pytest", "pytest-asyncio", "hypothesis", "psutil")
    files = ("test_tasks.py", "test_giving_up.py", "test_sync.py", "test_testing.py")
    files += ("test_checks.py", "test_microphone.py", "wyoming/test_transcribing.py", "wyoming/test_answering.py")
    tests = [ROOT / "tests" / "unit" / "clients" / file for file in files]
    run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", ROOT, *tests)


def check_types(checker: list[str | Path], tmp_path: Path) -> str:
    """Checks a program that is right, and returns what is said of one that is wrong."""
    (tmp_path / "right.py").write_text(PROGRAM.read_text())
    (tmp_path / "right_sync.py").write_text(SYNC_PROGRAM.read_text())
    (tmp_path / "wrong.py").write_text(WRONG_PROGRAM)
    run(*checker, tmp_path / "right.py", tmp_path / "right_sync.py")
    done = subprocess.run([*checker, tmp_path / "wrong.py"], capture_output=True, text=True)
    assert done.returncode == 1
    return done.stdout


def test_mypy_knows_the_types(install: Install, tmp_path: Path):
    options = ("--strict", "--no-incremental", "--config-file=", "--python-executable", install(OLDEST))
    said = check_types([sys.executable, "-m", "mypy", *options], tmp_path)
    assert 'Argument 1 to "ask" of "Client" has incompatible type "int"; expected "str"' in said
    assert 'Incompatible return value type (got "str", expected "int")' in said


def test_pyright_knows_the_types(install: Install, tmp_path: Path):
    settings = tmp_path / "pyrightconfig.json"
    settings.write_text(json.dumps({"typeCheckingMode": "strict", "pythonVersion": NEWEST}))
    pyright = Path(sys.executable).with_name("basedpyright")
    said = check_types([pyright, "--project", settings, "--pythonpath", install(NEWEST)], tmp_path)
    assert "reportArgumentType" in said
    assert "reportReturnType" in said
