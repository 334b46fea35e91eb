"""Home Assistant's services and states, over its REST API on a real socket."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pipelines.data.dialog.actions import Fulfil
from pipelines.data.dialog.events import Fulfilled
from pipelines.dialog.agent.fulfilments import HomeAssistant
from service.fulfilment.home_assistant import HomeFulfiller
from service.fulfilment.http_calls import CallFailedError, HttpCalls
from tests.unit.service.fulfilment.home import TOKEN, Home, home_assistant
from tests.unit.service.fulfilment.server import answers, breaks_off, closes, serving

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

LIGHT = {"service": "light.turn_on", "entity": "light.{room}"}
READ = {"entity": "sensor.{room}_temperature", "into": "state"}


@pytest.fixture
async def calls() -> AsyncIterator[HttpCalls]:
    calls = HttpCalls()
    yield calls
    await calls.close()


async def ask(calls: HttpCalls, url: str, form: dict[str, Any], token: str = TOKEN, **slots: str) -> Fulfilled:
    fulfiller = HomeFulfiller(HomeAssistant.model_validate(form), calls, url, token, lambda: 7.0)
    task = Fulfil(2, "lights", "lights_on", slots)
    (event,) = [event async for event in fulfiller.carry_out(task, "session")]
    return event


@pytest.fixture
async def home() -> AsyncIterator[Home]:
    async with home_assistant(light__living_room="off", light__cafe="off", sensor__kitchen_temperature="21.5") as home:
        home.entities["climate.hall"] = {"state": "heat", "attributes": {"current_temperature": 19, "modes": ["heat"]}}
        yield home


async def test_a_service(calls: HttpCalls, home: Home):
    assert await ask(calls, home.server.url, LIGHT, room="Living Room") == Fulfilled(7.0, 2)
    assert home.called == [("light.turn_on", {"entity_id": "light.living_room"})]
    assert home.entities["light.living_room"]["state"] == "on"


async def test_names_are_written_as_home_assistant_does(calls: HttpCalls, home: Home):
    await ask(calls, f"{home.server.url}/", LIGHT, room="Café")
    assert home.called == [("light.turn_on", {"entity_id": "light.cafe"})]


async def test_entities_of_another_name(calls: HttpCalls, home: Home):
    form = {**LIGHT, "entities": {"light.lounge": "light.living_room"}}
    await ask(calls, home.server.url, form, room="lounge")
    assert home.called[0][1]["entity_id"] == "light.living_room"


@pytest.mark.parametrize(
    ("datum", "value", "told"),
    [
        ("{x}", "40", 40),
        ("{x}", "-2.5", -2.5),
        ("{x}", "warm white", "warm white"),
        ("{x}", "007", "007"),
        ("{x}", "1e5", "1e5"),
        ("about {x} percent", "40", "about 40 percent"),
        (40, "", 40),
        (True, "", True),
    ],
)
async def test_data(calls: HttpCalls, home: Home, datum: object, value: str, told: object):
    await ask(calls, home.server.url, {**LIGHT, "data": {"key": datum}}, room="living room", x=value)
    assert home.called[0][1] == {"key": told, "entity_id": "light.living_room"}
    assert type(home.called[0][1]["key"]) is type(told)


async def test_data_that_comes_out_empty_is_left_out(calls: HttpCalls, home: Home):
    await ask(calls, home.server.url, {**LIGHT, "data": {"brightness_pct": "{level}"}}, room="living room")
    assert home.called == [("light.turn_on", {"entity_id": "light.living_room"})]


async def test_a_service_without_an_entity(calls: HttpCalls, home: Home):
    await ask(calls, home.server.url, {"service": "light.turn_off"})
    assert home.called == [("light.turn_off", {})]


async def test_a_state(calls: HttpCalls, home: Home):
    assert await ask(calls, home.server.url, READ, room="kitchen") == Fulfilled(7.0, 2, {"state": "21.5"})


async def test_an_attribute(calls: HttpCalls, home: Home):
    form = {"entity": "climate.{room}", "attribute": "current_temperature", "into": "degrees"}
    assert await ask(calls, home.server.url, form, room="hall") == Fulfilled(7.0, 2, {"degrees": "19"})


@pytest.mark.parametrize(
    ("form", "room", "problem"),
    [
        (READ, "attic", "the server answers with status 404"),
        (READ, "", "the entity's id came out incomplete"),
        (LIGHT, "…", "the entity's id came out incomplete"),
        ({**LIGHT, "service": "vacuum.start"}, "hall", "the server answers with status 400"),
        ({"entity": "climate.{room}", "attribute": "modes", "into": "x"}, "hall", "does not know the state"),
        ({"entity": "climate.{room}", "attribute": "speed", "into": "x"}, "hall", "does not know the state"),
    ],
)
async def test_what_is_not_there(calls: HttpCalls, home: Home, form: dict[str, Any], room: str, problem: str):
    with pytest.raises(CallFailedError, match=problem):
        await ask(calls, home.server.url, form, room=room)


async def test_a_sensor_that_is_away(calls: HttpCalls, home: Home):
    home.entities["sensor.kitchen_temperature"]["state"] = "unavailable"
    with pytest.raises(CallFailedError, match="does not know the state"):
        await ask(calls, home.server.url, READ, room="kitchen")


async def test_wrong_token(calls: HttpCalls, home: Home):
    with pytest.raises(CallFailedError, match="status 401"):
        await ask(calls, home.server.url, LIGHT, token="wrong", room="living room")
    assert home.called == []


@pytest.mark.parametrize("answer", [answers(b"[]"), answers(b"{"), answers({"state": {}}), answers({"state": ""})])
async def test_an_answer_of_another_form(calls: HttpCalls, answer: Any):
    async with serving(answer) as server:
        with pytest.raises(CallFailedError, match=r"does not know the state|is no JSON"):
            await ask(calls, server.url, READ, room="kitchen")


@pytest.mark.parametrize("behaviour", [closes, breaks_off])
async def test_a_service_that_may_have_been_called_is_not_called_again(calls: HttpCalls, behaviour: Any):
    async with serving(behaviour, answers([])) as server:
        with pytest.raises(CallFailedError):
            await ask(calls, server.url, LIGHT, room="kitchen")
        assert len(server.requests) == 1


async def test_a_state_is_read_again(calls: HttpCalls):
    async with serving(closes, answers({"state": "20"})) as server:
        assert await ask(calls, server.url, READ, room="kitchen") == Fulfilled(7.0, 2, {"state": "20"})
