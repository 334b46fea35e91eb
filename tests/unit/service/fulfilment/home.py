"""A stand-in of Home Assistant's REST API on a real socket: entities with states, and services that change them."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.unit.service.fulfilment.server import Server, answers, serving

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncIterator

    from tests.unit.service.fulfilment.server import Request

TOKEN = "a-long-lived-token"
_STATES = {"turn_on": "on", "turn_off": "off", "lock": "locked", "unlock": "unlocked", "open_cover": "open"}


@dataclass
class Home:
    """Entities by id, each with its state and attributes, and the services that were called."""

    server: Server
    entities: dict[str, dict[str, Any]] = field(default_factory=dict)
    called: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    async def answer(self, request: Request, writer: asyncio.StreamWriter) -> None:
        await self._answer(request)(request, writer)

    def _answer(self, request: Request) -> Any:
        if request.headers.get("authorization") != f"Bearer {TOKEN}":
            return answers(b"401: Unauthorized", 401, "text/plain")
        match request.method, request.path.strip("/").split("/"):
            case "GET", ["api", "states", entity] if entity in self.entities:
                return answers({"entity_id": entity, **self.entities[entity]})
            case "GET", ["api", "states", _]:
                return answers({"message": "Entity not found."}, 404)
            case "POST", ["api", "services", domain, service]:
                return self._serve(f"{domain}.{service}", request.json)
        return answers(b"404: Not Found", 404, "text/plain")

    def _serve(self, service: str, data: dict[str, Any]) -> Any:
        entity = data.get("entity_id", "")
        domain, _, name = service.partition(".")
        if domain not in {one.partition(".")[0] for one in self.entities}:
            return answers(b"400: Bad Request", 400, "text/plain")
        self.called.append((service, data))
        if entity not in self.entities:
            # As Home Assistant does: a service for an entity that is not there changes nothing.
            return answers([])
        self.entities[entity]["state"] = _STATES.get(name, self.entities[entity]["state"])
        return answers([{"entity_id": entity, **self.entities[entity]}])


@contextlib.asynccontextmanager
async def home_assistant(**states: str) -> AsyncIterator[Home]:
    """Runs a home; a keyword is an entity's id with ``__`` for the dot."""
    async with serving() as server:
        entities = {name.replace("__", "."): {"state": state, "attributes": {}} for name, state in states.items()}
        home = Home(server, entities)
        server.behaviours.append(home.answer)
        yield home
