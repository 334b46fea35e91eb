"""The fulfillers of agents, made of their files and the environment."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pipelines.dialog.agent.agent import AGENT_FILE
from pipelines.dialog.agent.problems import AgentError, Problem
from pipelines.dialog.agent.urls import fault_of_url
from service.fulfilment.home_assistant import HomeFulfiller
from service.fulfilment.language_model import LanguageModelFulfiller
from service.fulfilment.reporting import ReportingFulfiller
from service.fulfilment.signature import secret_of
from service.fulfilment.webhook import WebhookFulfiller

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pipelines.dialog.agent.agent import Agent
    from pipelines.dialog.agent.fulfilments import Endpoint, HomeAssistant, LanguageModel, McpTool, Webhook
    from pipelines.dialog.fulfilment import Fulfiller
    from service.fulfilment.http_calls import HttpCalls


def fulfillers_of(
    agent: Agent, folder: Path, calls: HttpCalls, environment: Mapping[str, str] | None = None
) -> dict[str, Fulfiller]:
    """Make what carries out an agent's fulfilments over HTTP, by their names.

    Args:
        agent: as it was read.
        folder: its folder, for problems.
        calls: makes requests.
        environment: variables by name; None: those of the process.

    Raises:
        AgentError: a variable that the agent names is missing or cannot be used; all problems are told.
    """
    making = _Making(agent, calls, os.environ if environment is None else environment)
    made: dict[str, Fulfiller] = {}
    for name, form in agent.form.fulfilments.items():
        if form.reply is not None and form.endpoint is not None and not making.is_set(form.variable):
            continue
        fulfiller: Fulfiller | None = None
        if form.webhook is not None:
            fulfiller = making.webhook(name, form.webhook)
        elif form.home_assistant is not None:
            fulfiller = making.home(name, form.home_assistant)
        elif form.language_model is not None:
            fulfiller = making.model(name, form.language_model)
        elif form.mcp is not None:
            fulfiller = making.mcp(name, form.mcp)
        if fulfiller is not None:
            made[name] = ReportingFulfiller(fulfiller, agent.form.name)
    if agent.form.language_model is not None:
        making.check_leader(agent.form.language_model)
    if making.problems:
        raise AgentError([Problem(folder / AGENT_FILE, 0, message) for message in making.problems])
    return made


LEADER = ""
"""In place of a fulfilment's name, for the language model that leads an agent."""


def _shown(name: str) -> str:
    return f"fulfilment {name!r}" if name != LEADER else "`language_model`"


@dataclass(slots=True)
class _Making:
    agent: Agent
    calls: HttpCalls
    environment: Mapping[str, str]
    problems: list[str] = field(default_factory=list)

    def is_set(self, variable: str | None) -> bool:
        return variable is not None and bool(self.environment.get(variable, "").strip())

    def webhook(self, name: str, form: Webhook) -> Fulfiller:
        secret = b""
        if form.secret_env is not None and (text := self._variable(name, form.secret_env)):
            try:
                secret = secret_of(text)
            except ValueError as error:
                self.problems.append(f"{_shown(name)}: the secret in {form.secret_env} {error}")
        headers = {header: self._variable(name, variable) for header, variable in form.headers_env.items()}
        url = self._url(name, form)
        seconds, retries = form.deadline_seconds, form.retries
        return WebhookFulfiller(self.agent, self.calls, url, secret, headers, seconds, retries, form.safe)

    def home(self, name: str, form: HomeAssistant) -> Fulfiller:
        return HomeFulfiller(form, self.calls, self._url(name, form), self._variable(name, form.token_env))

    def model(self, name: str, form: LanguageModel) -> Fulfiller:
        key = self._variable(name, form.key_env) if form.key_env is not None else ""
        return LanguageModelFulfiller(form, self.calls, self._url(name, form), key)

    def mcp(self, name: str, form: McpTool) -> Fulfiller | None:
        try:
            from service.fulfilment.mcp_tool import McpFulfiller  # noqa: PLC0415 - needs an extra
        except ImportError:
            self.problems.append(f'fulfilment {name!r}: MCP needs more packages: pip install "vivavoce-server[mcp]"')
            return None
        headers = {header: self._variable(name, variable) for header, variable in form.headers_env.items()}
        if form.command_env is None:
            return McpFulfiller(self.agent, form, self.calls, self._url(name, form), headers)
        variables = {variable: self._variable(name, variable) for variable in form.variables}
        command: list[str] = []
        if line := self._variable(name, form.command_env):
            try:
                command = shlex.split(line)
            except ValueError:
                self.problems.append(f"fulfilment {name!r}: {form.command_env} has a quote without its partner: add it")
        return McpFulfiller(self.agent, form, self.calls, tuple(command), environment=variables)

    def check_leader(self, form: LanguageModel) -> None:
        """Check the variables of the language model that leads the agent."""
        self._url(LEADER, form)
        if form.key_env is not None:
            self._variable(LEADER, form.key_env)

    def _url(self, name: str, form: Endpoint) -> str:
        if form.url is not None:
            return form.url
        assert form.url_env is not None, "checked with the agent's files"
        url = self._variable(name, form.url_env)
        if url and (fault := fault_of_url(url, allow_http=form.allow_http)):
            self.problems.append(f"{_shown(name)}: {form.url_env}: {fault}")
        return url

    def _variable(self, name: str, variable: str) -> str:
        """Return what is to stand in a header or URL: printable, and not empty."""
        value = self.environment.get(variable, "").strip()
        if not value:
            self.problems.append(f"{_shown(name)}: the environment variable {variable} is not set: set it")
        elif not (value.isascii() and value.isprintable()):
            self.problems.append(f"{_shown(name)}: {variable} holds characters that no header takes: write it anew")
        return value
