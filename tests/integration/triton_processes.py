"""The processes of a service's Triton, and what they leave on the machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:
    import subprocess


def family(process: subprocess.Popen[str]) -> list[psutil.Process]:
    """The processes that a service has started, and those that they have."""
    return psutil.Process(process.pid).children(recursive=True)


def tritonserver(process: subprocess.Popen[str]) -> psutil.Process:
    """The Triton of a service."""
    return next(child for child in family(process) if child.name() == "tritonserver")


def stub(process: subprocess.Popen[str], model: str) -> psutil.Process:
    """The process of the first instance of a model; one that has ended counts no more."""
    living = (child for child in family(process) if child.status() != psutil.STATUS_ZOMBIE)
    return next(child for child in living if f"{model}_0_0" in child.cmdline())


def run_folder(process: subprocess.Popen[str]) -> Path:
    """The folder of a service's run."""
    return Path(tritonserver(process).environ()["VIVAVOCE_RUN"])
