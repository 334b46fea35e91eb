"""The agents that a service has, and the sessions of their dialogs."""

from __future__ import annotations

import contextlib
import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pipelines.data.dialog.state import SPEAKER
from pipelines.errors import InvalidInputError
from pipelines.models.contracts import EMBED
from pipelines.stages.understanding import understand
from service.security.principal import current_principal

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence
    from pathlib import Path

    from pipelines.dialog.agent.agent import Agent
    from pipelines.dialog.fulfilment import Fulfiller
    from pipelines.dialog.leader import Leader
    from pipelines.dialog.session import DialogSession
    from pipelines.dialog.sessions import Sessions
    from pipelines.models.ports import Engines
    from service.fulfilment.http_calls import HttpCalls
    from service.sessions.agent_watch import AgentWatch

    MakeSessions = Callable[[Mapping[str, Mapping[str, Fulfiller]]], Sessions]

logger = logging.getLogger(__name__)

MAX_PARAMETERS = 50
MAX_PARAMETER_CHARACTERS = 1_000
"""Of a session parameter and its name."""


@dataclass(frozen=True, slots=True)
class Dialogs:
    """Opens the dialogs of conversations.

    Attributes:
        agents: by the names that callers choose them by.
        sessions: keeps dialogs between streams; None: there are no agents.
        agent_watch: reads agents anew whose files change; None: there are none.
        hears_speakers: whether enrolled voices are told, in the session parameter ``speaker``.
        leader: returns what leads agents that name a language model; None: none does.
    """

    agents: Mapping[str, Agent] = field(default_factory=dict)
    sessions: Sessions | None = None
    agent_watch: AgentWatch | None = None
    hears_speakers: bool = False
    leader: Callable[[], Leader | None] = lambda: None

    async def watch(self) -> None:
        """Read agents anew whose files change, until it is cancelled."""
        if self.agent_watch is not None:
            await self.agent_watch.watch()

    async def prepare(self, models: Engines) -> None:
        """Embed the sentences of agents that the engine does not know.

        Raises:
            ModelError: a model does not answer.
        """
        if not self.agents:
            return
        from pipelines.dialog.by_example import embed_sentences, is_unknown_to  # noqa: PLC0415 - reads agents

        for name, agent in self.agents.items():
            texts = agent.examples.texts
            if texts and is_unknown_to(agent, await understand(models.intents, texts[0])):
                logger.info(
                    "the engine knows no intent of the agent %s, which is understood by its sentences: training an "
                    "engine on them understands more (vivavoce train nlu)",
                    name,
                )
                await embed_sentences(agent, models.get(EMBED))

    @contextlib.asynccontextmanager
    async def open(
        self, agent: str, session_id: str, parameters: Mapping[str, str]
    ) -> AsyncIterator[DialogSession | None]:
        """Open the dialog of a stream, which belongs to the caller's principal.

        Args:
            agent: name of an agent; "": every turn stands alone, and there is no dialog.
            session_id: chosen by the caller; "": the dialog ends with the stream.
            parameters: session parameters.

        Raises:
            InvalidInputError: there is no such agent, the session cannot be opened, or a parameter is too long.
            SessionsUnavailableError: sessions are kept in a Redis that does not answer.
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
        if self.hears_speakers:
            parameters = {name: value for name, value in parameters.items() if name != SPEAKER}
        async with self.sessions.open(self.agents[agent], session_id, parameters, owner) as session:
            if self.hears_speakers:
                session.hear_speakers()
            session.leader = self.leader()
            yield session


def read_dialogs(
    folders: Sequence[Path],
    make_sessions: MakeSessions | None = None,
    cleanup: contextlib.AsyncExitStack | None = None,
) -> Dialogs:
    """Read the agents of a service.

    Args:
        folders: of the agents.
        make_sessions: makes what keeps their sessions, of the agents' fulfillers; None: they are kept in memory.
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
    from service.sessions.agent_watch import AgentWatch  # noqa: PLC0415

    making = _Fulfilments(cleanup)

    def read(folder: Path) -> tuple[Agent, Mapping[str, Fulfiller]]:
        agent = read_agent(folder)
        return agent, making.fulfillers_of(agent, folder)

    agents: dict[str, Agent] = {}
    fulfillers: dict[str, Mapping[str, Fulfiller]] = {}
    places: dict[str, Path] = {}
    for folder in folders:
        agent, of_agent = read(folder)
        name = agent.form.name
        if name in agents:
            raise AgentError([Problem(folder, 0, f"a second agent is called {name!r}: rename one of the two")])
        agents[name], fulfillers[name], places[name] = agent, of_agent, folder
    sessions = make_sessions(fulfillers) if make_sessions else DialogSessions(fulfillers=fulfillers)
    return Dialogs(agents, sessions, AgentWatch(places, agents, fulfillers, read), leader=lambda: making.leader)


class _Fulfilments:
    """Factory of fulfillers over HTTP; loads nothing where none is needed.

    Args:
        cleanup: closes connections; None: they are left to the end of the process.
    """

    def __init__(self, cleanup: contextlib.AsyncExitStack | None) -> None:
        self._cleanup = cleanup
        self._calls: HttpCalls | None = None
        self._leader: Leader | None = None

    def fulfillers_of(self, agent: Agent, folder: Path) -> Mapping[str, Fulfiller]:
        """Return what carries out the fulfilments of an agent, by name.

        Raises:
            AgentError: a variable of the environment is missing.
        """
        is_led = agent.form.language_model is not None
        if not is_led and all(form.endpoint is None for form in agent.form.fulfilments.values()):
            return {}
        from service.fulfilment.fulfillers import fulfillers_of  # noqa: PLC0415 - httpx, which few services need
        from service.fulfilment.http_calls import HttpCalls  # noqa: PLC0415
        from service.fulfilment.leading_model import ModelLeader  # noqa: PLC0415

        if self._calls is None:
            self._calls = HttpCalls()
            if self._cleanup is not None:
                self._cleanup.push_async_callback(self._calls.close)
        made = fulfillers_of(agent, folder, self._calls)
        if is_led:
            self._leader = self._leader or ModelLeader(self._calls)
        return made

    @property
    def leader(self) -> Leader | None:
        """Leads the agents that name a language model; None as long as none does."""
        return self._leader


def check_parameters(parameters: Mapping[str, str], field_name: str) -> None:
    """Check session parameters that a caller sends.

    Raises:
        InvalidInputError: they are too many, or one is too long.
    """
    if len(parameters) > MAX_PARAMETERS:
        message = f"there are {len(parameters)} session parameters: {MAX_PARAMETERS} are the most"
        raise InvalidInputError(field_name, "TOO_MANY_PARAMETERS", message)
    if any(len(name) + len(value) > MAX_PARAMETER_CHARACTERS for name, value in parameters.items()):
        message = f"a session parameter is longer than {MAX_PARAMETER_CHARACTERS:,} characters: shorten it"
        raise InvalidInputError(field_name, "PARAMETER_TOO_LONG", message)
