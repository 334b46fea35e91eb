"""Pytest plugin: ``--dist loadgroup`` keeps the tests of a group in one worker, and those of a file in none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdist.scheduler import LoadGroupScheduling

if TYPE_CHECKING:
    import pytest
    from xdist.remote import Producer


class FilesAndGroups(LoadGroupScheduling):
    """Scheduler whose work units are groups and files."""

    def _split_scope(self, nodeid: str) -> str:
        scope = super()._split_scope(nodeid)
        return nodeid.split("::", 1)[0] if scope == nodeid else scope


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> FilesAndGroups | None:
    return FilesAndGroups(config, log) if config.getoption("dist") == "loadgroup" else None
