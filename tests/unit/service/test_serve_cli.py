"""`vivavoce serve`: wrong usage, missing packages, and gRPC's own log."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from service import app
from vivavoce import cli
from vivavoce.cli import EXIT_FAILED, EXIT_USAGE, run

if TYPE_CHECKING:
    from service.config import ServiceConfig


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[ServiceConfig]:
    options: list[ServiceConfig] = []
    monkeypatch.setattr(app, "run", lambda given: options.append(given) or 0)
    return options


@pytest.mark.parametrize("address", ["unix:/run/triton/grpc:1", "unix:///run/triton/grpc", "localhost:1", "[::1]:8001"])
def test_a_triton_may_listen_on_a_socket(address: str, served: list[ServiceConfig]):
    assert run(["serve", "--triton", address]) == 0
    assert [options.triton for options in served] == [address]


@pytest.mark.parametrize("address", ["unix:relative", "unix:", "unix:/with blank", "localhost", "/run/triton/grpc"])
def test_what_is_no_address_of_a_triton_is_refused(address: str, capsys: pytest.CaptureFixture[str]):
    assert run(["serve", "--triton", address]) == EXIT_USAGE
    assert repr(address) in capsys.readouterr().err


def test_a_port_that_is_none_is_refused(capsys: pytest.CaptureFixture[str]):
    assert run(["serve", "--port", "70000"]) == EXIT_USAGE
    assert "0<=x<=65535" in capsys.readouterr().err


def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.delitem(sys.modules, "service.app", raising=False)
    monkeypatch.setitem(sys.modules, "grpc_health", None)
    monkeypatch.delitem(sys.modules, "grpc_health.v1", raising=False)

    assert run(["serve"]) == EXIT_FAILED
    [line] = capsys.readouterr().err.splitlines()
    assert line.endswith("; install it with `pip install ./clients '.[serve]'` in a checkout of the project.")


class _RestartedError(Exception):
    pass


@pytest.fixture
def restarts(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What the process would be replaced by."""
    commands: list[list[str]] = []

    def replace(_program: str, command: list[str]) -> None:
        commands.append(command)
        raise _RestartedError

    monkeypatch.setattr(os, "execv", replace)
    monkeypatch.setattr(sys, "argv", ["vivavoce", "serve", "--port", "0"])
    monkeypatch.setattr(sys, "orig_argv", ["python3", "-m", "vivavoce", "serve", "--port", "0"])
    return commands


def test_the_service_silences_grpcs_own_log_which_is_read_once(
    monkeypatch: pytest.MonkeyPatch, restarts: list[list[str]], served: list[ServiceConfig]
):
    monkeypatch.setenv("GRPC_VERBOSITY", "NONE")  # Restored afterwards.
    monkeypatch.delenv("GRPC_VERBOSITY")
    with pytest.raises(_RestartedError):
        cli.main()
    assert restarts == [[sys.executable, "-m", "vivavoce", "serve", "--port", "0"]]
    assert os.environ["GRPC_VERBOSITY"] == "NONE"
    assert not served


def test_who_wants_grpcs_log_gets_it(
    monkeypatch: pytest.MonkeyPatch, restarts: list[list[str]], served: list[ServiceConfig]
):
    monkeypatch.setenv("GRPC_VERBOSITY", "INFO")
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 0
    assert not restarts
    assert len(served) == 1
