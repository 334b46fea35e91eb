"""The demonstration's agent for Home Assistant, typed, with the stand-in of its REST API on a real socket."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import demo
from pipelines.dialog.agent.folder import read_agent
from pipelines.dialog.by_example import ExampleUnderstanding
from pipelines.dialog.session import DialogSession
from service.fulfilment.fulfillers import fulfillers_of
from service.fulfilment.http_calls import HttpCalls
from tests.unit.service.fulfilment.home import TOKEN, Home, home_assistant

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

FOLDER = Path(demo.__file__).parent / "agents/home"
AGENT = read_agent(FOLDER)
UNDERSTAND = ExampleUnderstanding(AGENT)


@pytest.fixture
async def home() -> AsyncIterator[Home]:
    states = {
        "light__kitchen": "off",
        "light__living_room": "off",
        "lock__front_door": "locked",
        "cover__hall": "closed",
    }
    async with home_assistant(**states, vacuum__robot="docked", climate__office="heat") as home:
        home.entities["climate.office"]["attributes"]["current_temperature"] = 19.5
        yield home


async def talk(home: Home, *texts: str) -> list[str]:
    """Types some turns, and returns what the agent says to each."""
    calls = HttpCalls()
    environment = {"HOME_ASSISTANT_URL": home.server.url, "HOME_ASSISTANT_TOKEN": TOKEN}
    session = DialogSession(AGENT, fulfillers=fulfillers_of(AGENT, FOLDER, calls, environment))
    session.begin()
    said = []
    for text in texts:
        turns = [session.commit(session.preview(text, UNDERSTAND(text, dt.datetime.now(dt.UTC))))]
        for task in turns[0].begun:
            events = [event async for event in session.fulfillers[task.name].carry_out(task, session.id)]
            turns += map(session.happen, events)
        said.append(" ".join(turn.text for turn in turns if turn.text))
    await calls.close()
    return said


@pytest.mark.parametrize(
    ("texts", "said", "service", "data"),
    [
        (
            ["turn on the light", "the lounge"],
            "The light in the living room is on.",
            "light.turn_on",
            {"entity_id": "light.living_room"},
        ),
        (["turn off all lights"], "All lights are off.", "light.turn_off", {"entity_id": "all"}),
        (
            ["dim the light in the kitchen to 40 percent"],
            "The light in the kitchen is at 40 percent.",
            "light.turn_on",
            {"entity_id": "light.kitchen", "brightness_pct": 40},
        ),
        (
            ["make the light in the kitchen blue"],
            "The light in the kitchen is blue now.",
            "light.turn_on",
            {"entity_id": "light.kitchen", "color_name": "blue"},
        ),
        (
            ["heat the office to 21 degrees"],
            "I set the office to 21 degrees.",
            "climate.set_temperature",
            {"entity_id": "climate.office", "temperature": 21},
        ),
        (
            ["unlock the front door", "yes"],
            "The front door is unlocked.",
            "lock.unlock",
            {"entity_id": "lock.front_door"},
        ),
        (["lock the front door"], "The front door is locked.", "lock.lock", {"entity_id": "lock.front_door"}),
        (
            ["open the blinds in the hall"],
            "I open the blinds in the hall.",
            "cover.open_cover",
            {"entity_id": "cover.hall"},
        ),
        (["close the blinds"], "I close all blinds.", "cover.close_cover", {"entity_id": "all"}),
        (["start the vacuum cleaner"], "The vacuum cleaner starts.", "vacuum.start", {"entity_id": "vacuum.robot"}),
    ],
)
async def test_a_service(home: Home, texts: list[str], said: str, service: str, data: dict[str, object]):
    assert (await talk(home, *texts))[-1] == said
    assert home.called == [(service, data)]


async def test_states(home: Home):
    assert await talk(home, "how warm is it in the office", "is the front door locked") == [
        "It is 19.5 degrees in the office.",
        "Yes, the front door is locked.",
    ]
    home.entities["lock.front_door"]["state"] = "unlocked"
    assert await talk(home, "is the front door locked") == ["No, the front door is not locked."]
    assert home.called == []


async def test_nothing_is_unlocked_without_a_yes(home: Home):
    await talk(home, "unlock the front door", "no cancel that")
    assert home.called == []
    assert home.entities["lock.front_door"]["state"] == "locked"


@pytest.mark.parametrize("status", ["unavailable", "unknown"])
async def test_a_sensor_that_is_away(home: Home, status: str):
    home.entities["lock.front_door"]["state"] = status
    assert await talk(home, "is the front door locked") == ["Sorry, the house did not answer."]


async def test_an_entity_that_is_not_there(home: Home):
    assert await talk(home, "how warm is it in the kitchen") == ["Sorry, the house did not answer."]
