"""The lab's course, carried out as its page says, from the first sentences to a service that grows."""

from __future__ import annotations

import json
import re
import subprocess
from typing import TYPE_CHECKING

import pytest

from service.processes.child_process import listening, start, stop
from service.triton.process import free_port
from tests.pages import ROOT, blocks, in_this_python, page

if TYPE_CHECKING:
    from pathlib import Path

PAGE = page("lab/docs/course.md")
STEP_SECONDS = 400


class Sitting:
    """The page's blocks, in their order, in a folder that looks like the checkout.

    Args:
        folder: where they run.
        replaced: what stands otherwise on the page than on this machine.
    """

    def __init__(self, folder: Path, replaced: dict[str, str]) -> None:
        self.folder, self.replaced = folder, replaced
        self.left = blocks(PAGE)

    def command(self, begins: str) -> str:
        """Take the next block, which begins as given."""
        text = self.left.pop(0).text
        assert text.startswith(begins), text
        for there, here in self.replaced.items():
            text = text.replace(there, here)
        return in_this_python(text)

    def run(self, begins: str) -> str:
        """Run the next block in a shell; return what it printed."""
        done = subprocess.run(
            ["bash", "-euc", self.command(begins)],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=STEP_SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture
def sitting(tmp_path: Path) -> Sitting:
    for path in ROOT.iterdir():
        if not path.name.startswith(".") and path.name != "runs":
            (tmp_path / path.name).symlink_to(path)
    (tmp_path / "runs" / "course").mkdir(parents=True)
    return Sitting(tmp_path, {})


def test_the_course_in_one_sitting(sitting: Sitting, monkeypatch: pytest.MonkeyPatch):
    course = sitting.folder / "runs" / "course"
    program = sitting.left.pop(0)
    assert program.path is not None
    (sitting.folder / program.path).write_text(program.text)
    sitting.run(".venv/bin/python runs/course/pizzeria.py")
    sitting.run(".venv/bin/vivavoce train nlu")
    assert (course / "v1" / "triton" / "intent_slot" / "config.pbtxt").exists()
    assert "chosen: " in sitting.run(".venv/bin/vivavoce optimize")

    sitting.run("mkdir -p runs/course/repository")
    with (sitting.folder / "triton.txt").open("wb") as log:
        command = sitting.command(".venv/bin/python -m service.triton").split()
        monkeypatch.chdir(sitting.folder)
        triton = start(command, log)
        try:
            assert triton.stdout is not None
            address = re.match(r"listening on (\S+)", triton.stdout.readline())
            assert address, (sitting.folder / "triton.txt").read_text()
            sitting.replaced["ADDRESS"] = address[1]
            sitting.run(".venv/bin/vivavoce bench triton")
        finally:
            stop(triton)
    assert len((course / "bert.csv").read_text().splitlines()) == 3, "a heading, and a line a load"
    assert (course / "bert.png").stat().st_size > 1000

    metrics = free_port()
    sitting.replaced |= {"9464": str(metrics)}
    _, *arguments = sitting.command(".venv/bin/vivavoce serve").split()
    with listening([*arguments, "--port", "0"], sitting.folder / "log.txt") as (_, server):
        monkeypatch.setenv("VIVAVOCE_SERVER", server)
        for command in ("load", "list", "rollback"):
            sitting.replaced[f"models {command}"] = f"models {command} --server {server}"
        canary = json.loads(sitting.run(".venv/bin/vivavoce ask"))
        assert (canary["intent"]["name"], [slot["name"] for slot in canary["slots"]]) == ("order", ["size", "topping"])
        assert str(course / "v2") in sitting.run("echo").replace("\n", "")
        sitting.run(".venv/bin/python -m benchmarks.autoscaling record")
        assert all((course / f"caller{number}.txt").stat().st_size for number in (1, 2, 3))
        pods = [int(number) for number in re.findall(r"(\d+) pods$", sitting.run(".venv/bin/python"), re.MULTILINE)]
        assert pods[0] == 2
        assert max(pods) > 2, "the callers fill more than the least number of pods"
        asked = json.loads(sitting.run(".venv/bin/python runs/course/pizzeria.py cancel").splitlines()[-1])
        assert asked["intent"]["name"] == "cancel"
        sitting.run(".venv/bin/vivavoce models rollback")
    assert sitting.left == []
