"""Fulfillers are made of an agent's files and the environment; what is missing there is told at the start."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pipelines.data.dialog.actions import Fulfil
from pipelines.data.dialog.events import Fulfilled
from pipelines.dialog.agent.problems import AgentError
from service.fulfilment.fulfillers import fulfillers_of
from service.fulfilment.http_calls import HttpCalls
from tests.unit.pipelines.dialog.agents import BAR, agent_of
from tests.unit.service.fulfilment.server import answers, serving

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from pipelines.dialog.agent.agent import Agent

FOLDER = Path("agents/bar")
SECRET = "whsec_" + "c2l4dGVlbiBieXRlcyBhbmQgbW9yZQ=="


@pytest.fixture
async def calls() -> AsyncIterator[HttpCalls]:
    calls = HttpCalls()
    yield calls
    await calls.close()


def agent(**kind: Any) -> Agent:
    return agent_of({**BAR, "fulfilments": {"order": kind}})


async def test_a_webhook_of_the_environment(calls: HttpCalls):
    form = agent(webhook={"url_env": "BAR_URL", "secret_env": "BAR_SECRET", "headers_env": {"X-Key": "BAR_KEY"}})
    async with serving(answers({"say": "Done."})) as server:
        environment = {"BAR_URL": f"{server.url}/orders?a=b", "BAR_SECRET": SECRET, "BAR_KEY": " key\n"}
        fulfillers = fulfillers_of(form, FOLDER, calls, environment)
        events = [event async for event in fulfillers["order"].carry_out(Fulfil(1, "order", "order", {}), "s")]
    assert [event.say for event in events if isinstance(event, Fulfilled)] == ["Done."]
    assert server.requests[0].path == "/orders?a=b"
    assert server.requests[0].headers["x-key"] == "key"
    assert server.requests[0].headers["webhook-signature"].startswith("v1,")


async def test_agents_without_fulfilments_have_no_fulfillers(calls: HttpCalls):
    assert fulfillers_of(agent_of(), FOLDER, calls, {}) == {}
    assert fulfillers_of(agent(reply={}), FOLDER, calls, {}) == {}


async def test_the_caller_is_told_where_the_environment_has_no_url(calls: HttpCalls):
    form = agent(webhook={"url_env": "BAR_URL", "secret_env": "BAR_SECRET"}, reply={})
    assert fulfillers_of(form, FOLDER, calls, {}) == {}
    assert fulfillers_of(form, FOLDER, calls, {"BAR_URL": " "}) == {}
    assert "order" in fulfillers_of(form, FOLDER, calls, {"BAR_URL": "https://a", "BAR_SECRET": SECRET})
    with pytest.raises(AgentError, match="BAR_SECRET is not set"):
        fulfillers_of(form, FOLDER, calls, {"BAR_URL": "https://a"})


@pytest.mark.parametrize(
    ("kind", "environment", "problem"),
    [
        ({"webhook": {"url_env": "URL"}}, {}, "'order': the environment variable URL is not set: set it"),
        ({"webhook": {"url_env": "URL"}}, {"URL": "  "}, "the environment variable URL is not set"),
        ({"webhook": {"url_env": "URL"}}, {"URL": "http://example.com"}, "URL: http beyond this machine"),
        ({"webhook": {"url": "https://a", "secret_env": "S"}}, {}, "the environment variable S is not set"),
        ({"webhook": {"url": "https://a", "secret_env": "S"}}, {"S": "short"}, "the secret in S has 5 bytes: write 16"),
        ({"webhook": {"url": "https://a", "secret_env": "S"}}, {"S": "whsec_#"}, "the secret in S is no base64"),
        ({"webhook": {"url": "https://a", "headers_env": {"X": "S"}}}, {"S": "a\nb"}, "S holds characters that no"),
        ({"home_assistant": {"service": "a.b"}}, {"HOME_ASSISTANT_TOKEN": "t"}, "HOME_ASSISTANT_URL is not set"),
        ({"home_assistant": {"service": "a.b", "url": "https://a"}}, {}, "HOME_ASSISTANT_TOKEN is not set"),
    ],
)
async def test_problem(calls: HttpCalls, kind: dict[str, Any], environment: dict[str, str], problem: str):
    with pytest.raises(AgentError) as caught:
        fulfillers_of(agent(**kind), FOLDER, calls, environment)
    assert str(caught.value).startswith("agents/bar/agent.yaml: fulfilment 'order': ")
    assert problem in str(caught.value)
    assert "short" not in str(caught.value)


async def test_all_problems_are_told(calls: HttpCalls):
    form = agent(webhook={"url_env": "URL", "secret_env": "SECRET", "headers_env": {"X": "KEY"}})
    with pytest.raises(AgentError) as caught:
        fulfillers_of(form, FOLDER, calls, {})
    assert len(caught.value.problems) == 3
