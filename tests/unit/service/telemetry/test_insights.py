"""Insights from the log of a service, and from files that are none."""

from __future__ import annotations

import json
import logging
import os
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from pipelines.dialog.sessions import DialogSessions
from service.insights_cli import insights
from service.sessions.dialogs import Dialogs
from service.telemetry.insights import read_insights
from service.telemetry.log_formats import LOG_FORMATTERS
from service.telemetry.log_output import logging_to
from service.telemetry.turn_log import TurnLog
from tests.unit.pipelines.dialog.agents import agent_of
from tests.unit.service.harness import Harness
from tests.unit.service.test_dialogs import OrderingModels, requests

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

SPOKEN = ("hrmpf mumbleword", "Ada Mumbleword")


def line(turn: int = 1, conversation: str = "a", agent: str = "bar", **fields: Any) -> bytes:
    told = {"conversation": conversation, "turn": turn, "agent": agent, "cause": "turn", **fields}
    return json.dumps(told).encode() + b"\n"


def content(path: Path) -> bytes:
    return path.read_bytes()


@pytest.fixture
async def log(tmp_path: Path) -> AsyncIterator[Path]:
    """The log of conversations that went well and badly."""
    path = tmp_path / "serve.log"
    dialogs = Dialogs({"bar": agent_of()}, DialogSessions())
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT)
    with logging_to(descriptor, logging.INFO, LOG_FORMATTERS["json"]()):
        models = OrderingModels(0.001, 0.001, 0.001)
        async with Harness.running(models=models, dialogs=dialogs, turn_observer=TurnLog()) as harness:
            for texts in (
                ("a latte please", "small", "yes", "goodbye"),
                ("a latte please", SPOKEN[0]),
                ("a latte please", SPOKEN[0], "small"),
                (SPOKEN[1],),
            ):
                await harness.converse(requests(*texts))
    os.close(descriptor)
    return path


async def test_what_a_service_logs_tells_where_callers_leave(log: Path):
    found = read_insights(content(log).splitlines())["bar"]
    assert (found.conversations, found.turns, found.missed) == (4, 10, 3)
    assert dict(found.ends) == {"end": 1, "left": 2, "quiet": 1}
    assert dict(found.fulfilments) == {"order": 1}
    size, confirmation = found.places["order", "size"], found.places["order", "(confirmation)"]
    assert (size.asked, size.again, size.missed, size.left, size.handed_over) == (3, 2, 2, 1, 0)
    assert (confirmation.asked, confirmation.left) == (2, 1)
    assert "mumbleword" not in content(log).decode().lower()


async def test_table_json_and_picture(log: Path, tmp_path: Path):
    run = CliRunner().invoke(insights, [str(log), "--plot", str(tmp_path / "a.svg")])
    assert run.exit_code == 0, run.output
    assert run.output.startswith(
        "bar: 4 conversations, 10 turns, 3 missed; 1 ended, 0 handed over, 2 left in the middle"
    )
    assert "order 1\n" in run.output
    cells = [row.replace("│", " ").split() for row in run.output.splitlines() if "size" in row]
    assert cells == [["order", "size", "3", "2", "2", "1", "0"]]
    assert b"<!-- order: size -->" in content(tmp_path / "a.svg")
    told = json.loads(CliRunner().invoke(insights, [str(log), "--json"]).output)
    assert told["places"][0] == {
        "intent": "order", "slot": "size", "asked": 3, "again": 2, "missed": 2, "left": 1, "handed_over": 0
    }  # fmt: skip


def test_a_dialog_that_is_handed_over():
    lines = [line(1, intent="order", asked="size"), line(2, intent="order", asked="size", ends="hand_over")]
    found = read_insights(lines)["bar"]
    assert dict(found.ends) == {"hand_over": 1}
    assert found.places["order", "size"].handed_over == 1


def test_a_completion_is_counted_once():
    found = read_insights([line(1, missed=True), line(1, missed=True, completes=True)])["bar"]
    assert (found.turns, found.missed) == (1, 1)


@pytest.mark.parametrize(
    "bad",
    [
        b"",
        b'{"agent"',
        b'{"agent": 7}\n',
        b'"agent"\n',
        b'\xff"agent"\n',
        b'{"agent": "", "conversation": "a", "turn": 1}\n',
        line(agent="x" * 201),
        line()[:-20],
        b"[" * 100_000 + b'"agent"',
    ],
)
def test_other_lines_are_passed_over(bad: bytes):
    assert read_insights([bad]) == {}


def test_errors_tell_the_cure(tmp_path: Path):
    path = tmp_path / "log"
    path.write_bytes(b"2026-01-05 09:00:00 INFO  started\n")
    run = CliRunner().invoke(insights, [str(path)])
    assert run.exit_code == 1
    assert "These logs tell of no dialog" in run.output
    path.write_bytes(line(agent="ba\x1br", intent="order", asked="si\x1b[7mze"))
    run = CliRunner().invoke(insights, [str(path), "--plot", str(tmp_path / "a.docx")])
    assert run.exit_code == 1
    assert "name a file that ends in .png or .svg" in run.output
    assert "\x1b" not in run.output
