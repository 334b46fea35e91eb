"""Agents whose files change while they serve."""

from __future__ import annotations

import asyncio
import shutil
from typing import TYPE_CHECKING

import pytest

from service.sessions import agent_watch
from service.sessions.dialogs import read_dialogs
from tests.unit.service.test_dialogs import TEMPLATE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from service.sessions.dialogs import Dialogs


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return shutil.copytree(TEMPLATE, tmp_path / "my_agent")


@pytest.fixture
async def dialogs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Dialogs]:
    monkeypatch.setattr(agent_watch, "LOOK_SECONDS", 0.01)
    dialogs = read_dialogs((folder,))
    watching = asyncio.create_task(dialogs.watch())
    yield dialogs
    watching.cancel()
    await asyncio.wait([watching])


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.01)


def rewrite(folder: Path, old: str, new: str) -> None:
    file = folder / "agent.yaml"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


async def greeting(dialogs: Dialogs, session: str = "") -> str:
    async with dialogs.open("my_agent", session, {}) as dialog:
        assert dialog is not None
        return dialog.greeting


async def test_dialogs_that_begin_are_held_by_the_changed_agent(dialogs: Dialogs, folder: Path):
    async with dialogs.open("my_agent", "a", {}) as dialog:
        assert dialog is not None
        before = dialog.agent
        rewrite(folder, "begin: ", "begin: Ahoy! ")
        await until(lambda: dialogs.agents["my_agent"] is not before)
        assert dialog.agent is before, "a dialog is not changed under its caller"
    assert (await greeting(dialogs)).startswith("Ahoy!")
    assert (await greeting(dialogs, "a")).startswith("Ahoy!"), "a session begins anew"


async def test_an_agent_that_cannot_be_used_leaves_the_former(
    dialogs: Dialogs, folder: Path, caplog: pytest.LogCaptureFixture
):
    before = dialogs.agents["my_agent"]
    rewrite(folder, "intents:", "intentions:")
    await until(lambda: "stays as it was" in caplog.text)
    assert "agent.yaml, line 7" in caplog.text, "it is told where"
    assert dialogs.agents["my_agent"] is before
    count = len(caplog.records)
    await asyncio.sleep(0.1)
    assert len(caplog.records) == count, "it is told once"
    rewrite(folder, "intentions:", "intents:")
    await until(lambda: dialogs.agents["my_agent"] is not before)


async def test_an_agent_keeps_its_name(dialogs: Dialogs, folder: Path, caplog: pytest.LogCaptureFixture):
    rewrite(folder, "name: my_agent", "name: another")
    await until(lambda: "give it back its name 'my_agent'" in caplog.text)
    assert list(dialogs.agents) == ["my_agent"]


async def test_a_folder_that_is_gone_leaves_the_agent(dialogs: Dialogs, folder: Path, caplog: pytest.LogCaptureFixture):
    shutil.rmtree(folder)
    await until(lambda: "no agent" in caplog.text)
    assert await greeting(dialogs)


async def test_without_agents_there_is_nothing_to_watch():
    await read_dialogs(()).watch()
