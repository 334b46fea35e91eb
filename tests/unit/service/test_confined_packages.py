from __future__ import annotations

import sys
from pathlib import Path

from service.processes.private_memory import SHARED_MEMORY
from service.triton.confined import what_it_needs
from service.triton.installation import TritonInstallation


class Run:
    confined = True
    model_memory_bytes = None
    path = Path("/somewhere")


def test_packages_that_a_pth_file_adds_from_another_environment_can_be_read(tmp_path, monkeypatch):
    elsewhere = tmp_path / "lib" / "python3.12" / "site-packages"
    monkeypatch.setattr(sys, "path", [*sys.path, str(elsewhere), str(tmp_path / "secrets")])
    needed = what_it_needs(TritonInstallation.find(), tmp_path, Run(), None)
    assert str(elsewhere) in needed.readable
    assert str(tmp_path / "secrets") not in needed.readable
    assert str(SHARED_MEMORY) in needed.writable
