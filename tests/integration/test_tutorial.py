"""The tutorial's program prints what the page says, and its test passes."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

from tests.pages import ROOT, blocks, page

if TYPE_CHECKING:
    from pathlib import Path

PAGE = page("docs/tutorial.md")
PROGRAM, PARTIALS, MICROPHONE, TEST = (block.text for block in blocks(PAGE, "python"))
(PRINTED,) = re.findall(r"It prints\n\n((?:    .*\n)+)", PAGE)
COMMAND = next(line for line in PAGE.splitlines() if line.startswith("    .venv/bin/python desk.py"))
LOOP = re.compile(r"            async for event in client\.converse\(.*", re.DOTALL)


def run(folder: Path, program: str, address: str) -> subprocess.CompletedProcess[str]:
    desk = folder / "desk.py"
    desk.write_text(program.replace("localhost:50051", address))
    command = [sys.executable, str(desk), *COMMAND.split()[2:]]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=120)
    # Decoded here: as text, a carriage return would become the end of a line.
    return subprocess.CompletedProcess(command, done.returncode, done.stdout.decode(), done.stderr.decode())


def test_the_program_prints_what_the_page_says(tmp_path: Path, server_address: str):
    done = run(tmp_path, PROGRAM, server_address)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == re.sub(r"(?m)^    ", "", PRINTED)


def test_with_interim_results_the_final_texts_stand_above_the_replies(tmp_path: Path, server_address: str):
    end = PROGRAM[PROGRAM.index("\n\nasyncio.run(") :]
    done = run(tmp_path, LOOP.sub(lambda _: PARTIALS, PROGRAM).rstrip() + end, server_address)
    assert (done.returncode, done.stderr) == (0, "")
    shown = [line.rsplit("\r", 1)[-1].strip() for line in done.stdout.rstrip().split("\n")]
    assert shown[0::2] == ["When was the cargo boat built?", "Turn off the lights in the bedroom, please."]
    assert shown[1::2] == [line.strip() for line in PRINTED.splitlines()]


def test_the_test_passes(tmp_path: Path):
    (tmp_path / "test_desk.py").write_text(TEST)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:asyncio", str(tmp_path / "test_desk.py")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout


def test_the_programs_compile():
    compile("async def it():\n  if True:\n    if True:\n" + MICROPHONE, "tutorial", "exec")
