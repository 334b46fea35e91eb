"""Which addresses of a Triton `serve` takes."""

from __future__ import annotations

import pytest

from service import main
from vivavoce.cli import EXIT_USAGE, run


@pytest.mark.parametrize("address", ["unix:/run/triton/grpc:1", "unix:///run/triton/grpc", "localhost:1", "[::1]:8001"])
def test_a_triton_may_listen_on_a_socket(address: str, monkeypatch: pytest.MonkeyPatch):
    served = []
    monkeypatch.setattr(main, "run", lambda options: served.append(options.triton) or 0)
    assert run(["serve", "--triton", address]) == 0
    assert served == [address]


@pytest.mark.parametrize("address", ["unix:relative", "unix:", "unix:/with blank", "localhost", "/run/triton/grpc"])
def test_what_is_no_address_of_a_triton_is_refused(address: str, capsys: pytest.CaptureFixture[str]):
    assert run(["serve", "--triton", address]) == EXIT_USAGE
    assert repr(address) in capsys.readouterr().err
