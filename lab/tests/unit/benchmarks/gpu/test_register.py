"""Our commands where nothing is installed."""

from __future__ import annotations

from importlib import metadata
from typing import TYPE_CHECKING

from benchmarks.gpu.register import register

if TYPE_CHECKING:
    from pathlib import Path


def test_the_commands_are_found_as_if_the_server_were_installed(tmp_path: Path):
    register(tmp_path)
    written = {found.name: found for found in metadata.distributions(path=[str(tmp_path)])}
    assert set(written) == {"vivavoce-server", "vivavoce-lab"}
    for name, found in written.items():
        installed = metadata.distribution(name)
        assert found.version == installed.version
        assert {(entry.name, entry.value) for entry in found.entry_points} == {
            (entry.name, entry.value) for entry in installed.entry_points
        }
