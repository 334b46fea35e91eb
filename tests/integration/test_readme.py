"""The program in the README runs as it stands there, but for the address, with files that come with the checkout."""

from __future__ import annotations

import re
import subprocess
import sys

from tests.pages import ROOT, blocks, page

README = page("README.md")


def test_the_program_prints_what_the_readme_says(server_address: str):
    (block,) = blocks(README, "python")
    (printed,) = re.findall(r"It prints\n\n    (.*)\n", README, re.MULTILINE)
    assert block.text.count("localhost:50051") == 1
    program = block.text.replace("localhost:50051", server_address)
    run = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout == f"{printed}\n"


def test_the_commands_answer(server_address: str):
    commands = [line.strip() for line in README.splitlines() if line.startswith("    .venv/bin/vivavoce")]
    spoken, asked, *_ = commands
    for command, answer in ((spoken, "1874"), (asked, "nine")):
        words = (
            re.sub(r"^\.venv/bin/vivavoce", f"{sys.executable} -m vivavoce", command) + f" --server {server_address}"
        )
        run = subprocess.run(["bash", "-c", words], cwd=ROOT, capture_output=True, text=True, timeout=60)
        assert (run.returncode, run.stderr) == (0, "")
        assert answer in run.stdout
