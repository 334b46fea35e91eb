"""One real Triton with the real models, and one service in front of it, for all integration tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.processes import listening

if TYPE_CHECKING:
    from collections.abc import Iterator


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "integration" in item.path.parts:
            item.add_marker(pytest.mark.integration)


@pytest.fixture(scope="session")
def triton_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """``host:port`` of Triton's gRPC endpoint."""
    log = tmp_path_factory.mktemp("triton") / "log.txt"
    with listening(["-m", "service.triton"], log) as (_, address):
        yield address


@pytest.fixture(scope="session")
def server_address(triton_address: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """``host:port`` of a service that uses that Triton."""
    log = tmp_path_factory.mktemp("service") / "log.txt"
    arguments = ["-m", "vivavoce", "serve", "--port", "0", "--triton", triton_address]
    with listening(arguments, log) as (_, address):
        yield address
