"""The programs of the client's documentation run as they stand there, but for the address."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import vivavoce.microphone
import vivavoce.sync
import vivavoce.testing
from tests.pages import ROOT, blocks, page
from vivavoce.testing import Turn, serving

if TYPE_CHECKING:
    from pathlib import Path

PROGRAMS = [block.text for block in blocks(page("docs/python.md"), "python")]
SPOKEN, ANSWERED = (block.text for block in blocks(page("docs/speech.md"), "python"))
ADDRESS = "localhost:50051"


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_a_program_of_the_introduction_runs(number: int, tmp_path: Path) -> None:
    with serving() as service:
        file = tmp_path / f"test_program_{number}.py"
        file.write_text(PROGRAMS[number].replace(ADDRESS, service.address))
        starts = [
            sys.executable,
            *(["-m", "pytest", "-q", "-p", "no:asyncio"] if "def test_" in PROGRAMS[number] else []),
            str(file),
        ]
        done = subprocess.run(starts, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    assert done.stdout


def test_the_program_that_speaks_runs(tmp_path: Path) -> None:
    with serving() as service:
        command = [sys.executable, "-c", SPOKEN.replace(ADDRESS, service.address)]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)

    assert (done.returncode, done.stderr) == (0, "")
    [request] = service.said
    assert request.text == "Your train leaves at 9:30 from platform 4."
    assert (tmp_path / "reply.ogg").stat().st_size > 0


def test_the_program_that_is_answered_aloud_runs(tmp_path: Path) -> None:
    turn = Turn("When does the museum open?", speech_text="The museum opens at ten.", interrupted_after_words=2)
    with serving(turn) as service:
        command = [sys.executable, "-c", ANSWERED.replace(ADDRESS, service.address)]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)

    assert (done.returncode, done.stderr) == (0, "")
    told = ["The museum opens at ten.", "0.00 s: 4800 bytes", "0.10 s: 4800 bytes", "heard: The museum"]
    assert done.stdout.splitlines() == told


def test_there_are_programs() -> None:
    assert len(PROGRAMS) >= 3


@pytest.mark.parametrize("module", [vivavoce, vivavoce.sync, vivavoce.microphone, vivavoce.testing])
def test_the_programs_of_the_docstrings_are_programs(module: object) -> None:
    [program] = re.findall(r"\n\n((?:    .*\n|\n)+)", str(module.__doc__))
    compile(re.sub(r"(?m)^    ", "", program), "docstring", "exec")
