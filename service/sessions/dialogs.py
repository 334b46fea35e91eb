"""The agents that a service has, and the sessions of their dialogs."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pipelines.errors import InvalidInputError
from service.security.principal import current_principal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from pipelines.dialog.agent.agent import Agent
    from pipelines.dialog.fulfilment import Fulfiller
    from pipelines.dialog.session import DialogSession
    from pipelines.dialog.sessions import DialogSessions

MAX_PARAMETERS = 50
MAX_PARAMETER_CHARACTERS = 1_000
"""Of a session parameter and its name."""


@dataclass(frozen=True, slots=True)
class Dialogs:
    """Opens the dialogs of conversations.

    Attributes:
        agents: by the names that callers choose them by.
        sessions: keeps dialogs between streams; None: there are no agents.
    """

    agents: Mapping[str, Agent] = field(default_factory=dict)
    sessions: DialogSessions | None = None

    @contextlib.contextmanager
    def open(self, agent: str, session_id: str, parameters: Mapping[str, str]) -> Iterator[DialogSession | None]:
        """Opens the dialog of a stream, which belongs to the caller's principal.

        Args:
            agent: name of an agent; "": every turn stands alone, and there is no dialog.
            session_id: chosen by the caller; "": the dialog ends with the stream.
            parameters: session parameters.

        Raises:
            InvalidInputError: there is no such agent, the session cannot be opened, or a parameter is too long.
        """
        if not agent:
            if session_id or parameters:
                message = "a session belongs to an agent: name one in config.agent, or leave the session out"
                raise InvalidInputError("config.session", "SESSION_WITHOUT_AGENT", message)
            yield None
            return
        if agent not in self.agents or self.sessions is None:
            there = f"choose one of {', '.join(sorted(self.agents))}" if self.agents else "the server has none"
            message = f"there is no agent {agent!r}: {there}"
            raise InvalidInputError("config.agent", "UNKNOWN_AGENT", message)
        check_parameters(parameters, "config.session.parameters")
        owner = current_principal().key
        with self.sessions.open(self.agents[agent], session_id, parameters, owner) as session:
            yield session


def read_dialogs(folders: Sequence[Path], cleanup: contextlib.AsyncExitStack | None = None) -> Dialogs:
    """Reads the agents of a service.

    Args:
        folders: of the agents.
        cleanup: closes connections of their fulfilments; None: they are left to the end of the process.

    Raises:
        AgentError: one of them cannot be used, two have one name, or a variable of the environment is missing.
    """
    if not folders:
        return Dialogs()
    # Reading agents needs pydantic, which takes time and memory that other services are spared.
    from pipelines.dialog.agent.folder import read_agent  # noqa: PLC0415
    from pipelines.dialog.agent.problems import AgentError, Problem  # noqa: PLC0415
    from pipelines.dialog.sessions import DialogSessions  # noqa: PLC0415

    agents: dict[str, Agent] = {}
    for folder in folders:
        agent = read_agent(folder)
        name = agent.form.name
        if name in agents:
            raise AgentError([Problem(folder, 0, f"a second agent is called {name!r}: rename one of the two")])
        agents[name] = agent
    fulfillers = _fulfillers(list(zip(agents.values(), folders, strict=True)), cleanup)
    return Dialogs(agents, DialogSessions(fulfillers=fulfillers))


def _fulfillers(
    agents: Sequence[tuple[Agent, Path]], cleanup: contextlib.AsyncExitStack | None
) -> Mapping[str, Mapping[str, Fulfiller]]:
    """Makes what carries out fulfilments over HTTP, by agent and fulfilment; nothing is loaded where none does."""
    if all(form.endpoint is None for agent, _ in agents for form in agent.form.fulfilments.values()):
        return {}
    from service.fulfilment.fulfillers import fulfillers_of  # noqa: PLC0415 - httpx, which few services need
    from service.fulfilment.http_calls import HttpCalls  # noqa: PLC0415

    calls = HttpCalls()
    if cleanup is not None:
        cleanup.push_async_callback(calls.close)
    return {agent.form.name: fulfillers_of(agent, folder, calls) for agent, folder in agents}


def check_parameters(parameters: Mapping[str, str], field_name: str) -> None:
    """Checks session parameters that a caller sends.

    Raises:
        InvalidInputError: they are too many, or one is too long.
    """
    if len(parameters) > MAX_PARAMETERS:
        message = f"there are {len(parameters)} session parameters: {MAX_PARAMETERS} are the most"
        raise InvalidInputError(field_name, "TOO_MANY_PARAMETERS", message)
    if any(len(name) + len(value) > MAX_PARAMETER_CHARACTERS for name, value in parameters.items()):
        message = f"a session parameter is longer than {MAX_PARAMETER_CHARACTERS:,} characters: shorten it"
        raise InvalidInputError(field_name, "PARAMETER_TOO_LONG", message)
