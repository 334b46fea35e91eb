"""Pytest plugin: with ``--dist loadfile`` all files of tests that share a service, or a Triton, run in one worker."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

from xdist.scheduler import LoadFileScheduling

if TYPE_CHECKING:
    import pytest
    from xdist.remote import Producer

SHARED = {
    "the service": re.compile(r"\b(?:full_service|server_address|http_url|fast_service|fast_address|triton: Triton)\b"),
    "the Triton": re.compile(r"\btriton_address\b"),
}
"""Names of the session's fixtures that cost seconds to make, in a file of tests that need them."""


class FilesAndServices(LoadFileScheduling):
    """Scheduler whose work units are files; those that share what costs seconds are one."""

    def _split_scope(self, nodeid: str) -> str:
        return self._unit(super()._split_scope(nodeid))

    @functools.cache  # noqa: B019 - there is one scheduler
    def _unit(self, file: str) -> str:
        if "/integration/" not in file:
            return file
        text = (self.config.rootpath / file).read_text(encoding="utf-8")
        return next((name for name, needs in SHARED.items() if needs.search(text)), file)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> FilesAndServices | None:
    return FilesAndServices(config, log) if config.getoption("dist") == "loadfile" else None
