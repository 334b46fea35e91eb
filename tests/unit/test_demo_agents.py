"""The agents of the demonstration: they are in order, and their scripts pass."""

from __future__ import annotations

from pathlib import Path

import pytest

import demo
from pipelines.dialog.agent.folder import check, read_agent, read_agent_scripts
from pipelines.dialog.by_example import ExampleUnderstanding
from pipelines.dialog.rehearsal import rehearse

AGENTS = sorted((Path(demo.__file__).parent / "agents").iterdir())
SCRIPTS = [(folder, script) for folder in AGENTS for script in read_agent_scripts(folder)]


@pytest.mark.parametrize("folder", AGENTS, ids=lambda folder: folder.name)
def test_agent_is_in_order(folder: Path):
    assert check(folder) == ()
    assert read_agent(folder).form.name == folder.name


@pytest.mark.parametrize(("folder", "script"), SCRIPTS, ids=[f"{one.name}: {script.name}" for one, script in SCRIPTS])
def test_script_passes(folder: Path, script):
    agent = read_agent(folder)
    outcome = rehearse(agent, script, ExampleUnderstanding(agent))
    assert outcome.failures == [], "\n".join(outcome.lines)
