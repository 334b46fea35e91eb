"""Pytest plugin: counts the services and Tritons that tests start, and fails a run that starts more than it may.

A start costs seconds and a Triton ten. Give the bounds with ``--max-services`` and ``--max-tritons``; Tritons that a
service starts again by itself do not count.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence

_ONE_CONVERSATION = "tests.integration.one_conversation"
"""A program that starts a service with a Triton of its own."""


class Starts:
    """Numbers of processes that were started.

    Attributes:
        services: of `vivavoce serve`.
        tritons: of Triton, by a service, by `service.triton` or in this process.
    """

    def __init__(self) -> None:
        self.services = 0
        self.tritons = 0

    def listen(self) -> None:
        """Count from now on, until this process ends."""
        sys.addaudithook(self._hear)

    def count(self, command: Sequence[str]) -> None:
        """Count what a command starts."""
        if "serve" in command or _ONE_CONVERSATION in command:
            self.services += 1
            self.tritons += "--triton" not in command
        else:
            self.tritons += "service.triton" in command or any(word.endswith("/tritonserver") for word in command)

    def _hear(self, event: str, arguments: tuple[object, ...]) -> None:
        if event == "subprocess.Popen":
            command = arguments[1]
            if isinstance(command, list | tuple):
                self.count([os.fsdecode(word) for word in command])


_STARTS = pytest.StashKey[Starts]()


def pytest_addoption(parser: pytest.Parser) -> None:
    for name in ("services", "tritons"):
        parser.addoption(f"--max-{name}", type=int, help=f"fail when the tests start more {name} than that")


def _is_bounded(config: pytest.Config) -> bool:
    return config.getoption("--max-services") is not None or config.getoption("--max-tritons") is not None


def pytest_configure(config: pytest.Config) -> None:
    if _is_bounded(config):
        config.stash[_STARTS] = starts = Starts()
        starts.listen()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: object) -> None:
    """Add what a worker of xdist has started."""
    found = getattr(node, "workeroutput", {}).get("starts")
    if found is not None:
        starts = node.config.stash[_STARTS]  # type: ignore[attr-defined]
        starts.services += found[0]
        starts.tritons += found[1]


def pytest_sessionfinish(session: pytest.Session) -> None:
    starts = session.config.stash.get(_STARTS, None)
    if starts is None:
        return
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["starts"] = (starts.services, starts.tritons)
        return
    if _is_over(session.config, starts):
        session.exitstatus = 1


def _is_over(config: pytest.Config, starts: Starts) -> bool:
    counts = {"--max-services": starts.services, "--max-tritons": starts.tritons}
    bounds = {name: config.getoption(name) for name in counts}
    return any(bound is not None and counts[name] > bound for name, bound in bounds.items())


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    starts = config.stash.get(_STARTS, None)
    if starts is None:
        return
    bounds = [config.getoption(f"--max-{name}") for name in ("services", "tritons")]
    is_over = _is_over(config, starts)
    at_most = "any number" if None in bounds else f"{bounds[0]} and {bounds[1]}"
    terminalreporter.write_line(
        f"the tests started {starts.services} services and {starts.tritons} Tritons; they may start {at_most}"
        + (": share one, or raise the bound" if is_over else ""),
        red=is_over,
    )
