"""How a service that cannot start says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service import app
from service.app import run
from service.config import ServiceConfig
from service.processes.scheduling import RealTimeRefusedError
from service.triton import served_models

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_settings_that_cannot_be_read_end_the_start_with_one_sentence(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
):
    (tmp_path / "file").touch()
    assert run(ServiceConfig(settings=tmp_path / "file" / "settings.toml")) == 1
    assert capfd.readouterr().err == (
        f"vivavoce serve: {tmp_path}/file/settings.toml cannot be read: Not a directory\n"
    )


def test_what_the_system_refuses_ends_the_start_with_one_sentence(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(served_models, "composed", refuse)
    assert run(ServiceConfig()) == 1
    assert capfd.readouterr().err == "vivavoce serve: [Errno 28] No space left on device\n"


def test_real_time_priority_that_is_not_to_be_had_ends_the_start_with_one_sentence(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    def refuse() -> None:
        raise RealTimeRefusedError

    monkeypatch.setattr(app, "run_in_real_time", refuse)
    assert run(ServiceConfig(real_time=True)) == 1
    assert capfd.readouterr().err == (
        "vivavoce serve: the system gives no real-time priority: grant CAP_SYS_NICE or `ulimit -r 1`, "
        "or leave out --real-time\n"
    )


def test_a_knowledge_base_that_is_not_there_ends_the_start_with_one_sentence(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
):
    assert run(ServiceConfig(knowledge={"museum": tmp_path / "museum.db"})) == 1
    assert capfd.readouterr().err == (
        f"vivavoce serve: there is no {tmp_path}/museum.db: build it with `vivavoce knowledge build`\n"
    )
