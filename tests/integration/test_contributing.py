"""The five worked tasks of CONTRIBUTING.md, carried out as they stand there, in a folder that looks like a checkout."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from service.processes.child_process import listening
from tests.pages import ROOT, Block, blocks, in_this_python, page, section

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PAGE = page("CONTRIBUTING.md")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with everything of the checkout, and a `runs` of its own."""
    for path in ROOT.iterdir():
        if not path.name.startswith(".") and path.name != "runs":
            (tmp_path / path.name).symlink_to(path)
    (tmp_path / "runs").mkdir()
    return tmp_path


def task(heading: str) -> list[Block]:
    return blocks(section(PAGE, heading))


def write(folder: Path, block: Block) -> None:
    assert block.path is not None
    path = folder / block.path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(block.text)


def shell(folder: Path, command: str) -> str:
    done = subprocess.run(
        ["bash", "-euc", in_this_python(command)], cwd=folder, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@contextmanager
def started(folder: Path, command: str, triton: str | None) -> Iterator[str]:
    """Run a command that serves, and yield its address; `triton` serves its models, or None: one of its own."""
    python, *arguments = in_this_python(command).split()
    assert python == sys.executable
    changed = {"VIVAVOCE_PORT": "0", "VIVAVOCE_MAX_CONVERSATIONS": "4", "VIVAVOCE_ADMIN": "false"}
    if triton is not None:
        changed["VIVAVOCE_TRITON"] = triton
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name, value in (changed | {"PYTHONPATH": str(ROOT)}).items():
            patch.setenv(name, value)
        with listening(arguments, folder / "log.txt") as (_, address):
            yield address


def test_an_intent_in_a_domain_of_your_own(checkout: Path):
    new, add, script, check = task("An intent in a domain of your own")
    shell(checkout, new.text)
    shell(checkout, add.text)
    write(checkout, script)
    assert "2 of 2 scripts passed" in shell(checkout, check.text)


def test_another_recognizer_as_a_variant(checkout: Path):
    copy, recognizer, serve, ask = task("Another recognizer as a variant")
    shell(checkout, copy.text)
    write(checkout, recognizer)
    with started(checkout, serve.text, None) as address:
        heard = shell(checkout, f"{ask.text.strip()} --server {address} --json")
        plain = f"{ask.text.split(' --variant')[0]} --server {address} --json"
        shipped, reread = shell(checkout, plain), shell(checkout, f"{plain} --second-opinion capitals --budget-ms 5000")
    capitals, text, read = (transcript_of(lines) for lines in (heard, shipped, reread))
    assert capitals == read == text.upper() != text
    partial = next(event["text"] for event in map(json.loads, reread.splitlines()) if event["event"] == "transcript")
    assert partial != partial.upper()


def transcript_of(lines: str) -> str:
    *_, reply = (event for event in map(json.loads, lines.splitlines()) if event["event"] == "reply")
    return reply["transcript"]


def test_a_stage_whose_result_reaches_callers(checkout: Path, triton_address: str):
    program, serve, ask = task("A stage whose result reaches callers")
    write(checkout, program)
    with started(checkout, serve.text, triton_address) as address:
        line = shell(checkout, f"{ask.text.strip()} --server {address}")
    told = json.dumps({"results": json.loads(line)["results"]})
    assert f"The line ends with `{told[1:-1]}`" in PAGE
    assert json.loads(line)["status"] == "COMPLETE"


def test_an_http_route(checkout: Path, triton_address: str):
    program, serve, ask = task("An HTTP route")
    with socket.socket() as unused:
        unused.bind(("localhost", 0))
        port = unused.getsockname()[1]
    write(checkout, Block(program.language, program.text.replace("8080", str(port))))
    with started(checkout, serve.text, triton_address):
        answer = shell(checkout, ask.text.replace("8080", str(port)))
    assert f"It prints `{answer}`" in PAGE


def test_a_bug_with_its_test(tmp_path: Path):
    test, mend = task("A bug with its test")
    shutil.copytree(ROOT / "pipelines", tmp_path / "pipelines", ignore=shutil.ignore_patterns("__pycache__"))
    write(tmp_path, test)

    def runs() -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "pytest", "-q", "--import-mode=importlib", "-p", "no:cacheprovider", test.path]
        environment = os.environ | {"PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60)

    apply(tmp_path, mend.text, "--reverse")
    failing = runs()
    assert failing.returncode == 1, failing.stdout + failing.stderr
    assert "code" in failing.stdout
    assert "007" in failing.stdout
    apply(tmp_path, mend.text)
    assert runs().returncode == 0


def apply(folder: Path, change: str, *options: str) -> None:
    subprocess.run(["git", "apply", *options], cwd=folder, input=change, text=True, check=True)
