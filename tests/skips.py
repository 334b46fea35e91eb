"""Pytest plugin: with ``--strict-skips``, a test that is skipped for a reason that is not listed here fails the run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

EXPECTED = (
    # Hardware.
    r"there is (?:no|a) GPU here",
    r"PyTorch finds no CUDA device",
    # Packages that no target installs: their tests are run by hand. And one whose absence is tested.
    r"needs the extra speechsquad",
    r"TensorRT is installed here",
    # Recordings that are not part of the project.
    r"set VIVAVOCE_DATA",
    # What the machine or its user may lack.
    r"this system gives no network namespace to this user",
    r"only root (can take on another account|has capabilities to lose)",
    r"this system(?:'s Landlock| has no Landlock)",
    r"this machine allows no namespaces",
    r"this kernel (?:forbids to ask|does not share cores among sessions)",
    r"this process may not have real-time priority",
    r"this machine has no IPv6",
    r"apt-get install portaudio19-dev",
    r"apt-get install pulseaudio",
    r"apt-get install nginx-light",
    r"apt-get install redis-server",
    r"apt-get install (baresip-core|sip-tester|kamailio|coturn)",
    r"PostgreSQL is not installed: pip install pgserver",
    r"systemd is not on this machine",
    r"there is no Chromium on this machine",
    r"there is no Python 3\.\d+ on this machine",
    # Other systems, where the client alone is tested.
    r"Linux's|Linux alone defers|this system does not fork|Windows has no SIGINT",
)
"""Patterns of the reasons for which a test may be skipped."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--strict-skips", action="store_true", help="fail when a test is skipped for no expected reason")


def pytest_sessionfinish(session: pytest.Session) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if not session.config.getoption("--strict-skips") or reporter is None or hasattr(session.config, "workerinput"):
        return
    reasons = [str(report.longrepr[2]) for report in reporter.stats.get("skipped", ())]
    if unexpected := unexpected_among(reasons):
        reporter.write_line("")
        reporter.write_line("skipped for reasons that tests/skips.py does not list:", red=True)
        for reason in unexpected:
            reporter.write_line(f"  {reason}", red=True)
        session.exitstatus = 1


def unexpected_among(reasons: list[str]) -> list[str]:
    """Returns the reasons that match no pattern of :data:`EXPECTED`, each once."""
    return [reason for reason in dict.fromkeys(reasons) if not any(re.search(it, reason) for it in EXPECTED)]
