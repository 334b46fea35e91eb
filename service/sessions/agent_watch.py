"""Reload of changed agents, for dialogs that begin from then on."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from pipelines.dialog.agent.problems import AgentError, Problem
from pipelines.unexpected_errors import log_mistake

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, MutableMapping
    from pathlib import Path

    from pipelines.dialog.agent.agent import Agent
    from pipelines.dialog.fulfilment import Fulfiller

    Fulfillers = Mapping[str, Fulfiller]
    Stamp = tuple[tuple[str, int, int], ...]

logger = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
"""So often it is looked. A change is read when it is as old: then the files are written to their end."""

_READ = ("*.yaml", "values/*.txt", "sentences/*.txt", "tables/*.csv")


class AgentWatch:
    """Reads agents anew while they serve.

    Args:
        folders: by the names of their agents.
        agents: by name; a changed one takes the place of the former.
        fulfillers: what carries out fulfilments, by agent; likewise.
        read: reads an agent's folder, and makes what carries out its fulfilments.
    """

    def __init__(
        self,
        folders: Mapping[str, Path],
        agents: MutableMapping[str, Agent],
        fulfillers: MutableMapping[str, Fulfillers],
        read: Callable[[Path], tuple[Agent, Fulfillers]],
    ) -> None:
        self._folders, self._agents, self._fulfillers, self._read = folders, agents, fulfillers, read
        self._known = {name: _stamp(folder) for name, folder in folders.items()}
        self._seen = dict(self._known)

    async def watch(self) -> None:
        """Look again and again, until it is cancelled."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            for name, folder in self._folders.items():
                try:
                    await self._look(name, folder)
                except OSError as error:
                    log_mistake(logger, "an agent could not be looked at", error)

    async def _look(self, name: str, folder: Path) -> None:
        stamp = await asyncio.to_thread(_stamp, folder)
        is_settled, self._seen[name] = stamp == self._seen[name], stamp
        if stamp == self._known[name] or not is_settled:
            return
        self._known[name] = stamp
        try:
            agent, fulfillers = await asyncio.to_thread(self._read_as, name, folder)
        except AgentError as error:
            logger.warning("the agent %s stays as it was, for its files cannot be used: %s", name, error)
            return
        self._agents[name], self._fulfillers[name] = agent, fulfillers
        logger.info("the agent %s was read anew: dialogs that begin are held by it", name)

    def _read_as(self, name: str, folder: Path) -> tuple[Agent, Fulfillers]:
        agent, fulfillers = self._read(folder)
        if agent.form.name != name:
            message = f"it is called {agent.form.name!r} now: give it back its name {name!r}, or restart the service"
            raise AgentError([Problem(folder, 0, message)])
        return agent, fulfillers


def _stamp(folder: Path) -> Stamp:
    """Return what changes with the files of an agent: their names, sizes and times."""
    files = sorted(path for pattern in _READ for path in folder.glob(pattern))
    return tuple((str(path), status.st_size, status.st_mtime_ns) for path in files for status in (path.stat(),))
