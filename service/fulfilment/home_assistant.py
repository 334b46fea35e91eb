"""Home Assistant: services are called and states are read over its REST API."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec
from anyascii import anyascii

from pipelines.data.dialog.events import Fulfilled
from pipelines.dialog.agent.templates import names_in, required_names_in, substituted
from service.fulfilment.http_calls import Call, CallFailedError, decoded

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from pipelines.data.dialog.actions import Fulfil
    from pipelines.dialog.agent.fulfilments import HomeAssistant
    from service.fulfilment.http_calls import HttpCalls

_ENTITY = re.compile(r"all|[a-z0-9_]+\.[a-z0-9_]+")
_NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,15})?")
_UNKNOWN = frozenset(("unavailable", "unknown"))


@dataclass(frozen=True, slots=True)
class HomeFulfiller:
    """Asks Home Assistant; see ``pipelines.dialog.fulfilment``.

    Attributes:
        form: what is called or read.
        calls: makes requests.
        url: of Home Assistant, without ``/api``.
        token: long-lived access token.
        clock: time in seconds, which never goes back.
    """

    form: HomeAssistant
    calls: HttpCalls
    url: str
    token: str = field(repr=False)
    clock: Callable[[], float] = time.monotonic

    async def carry_out(self, task: Fulfil, session: str) -> AsyncIterator[Fulfilled]:  # noqa: ARG002 - of the port
        """Call the service, or read the state.

        Raises:
            CallFailedError: Home Assistant does not answer as it should.
        """
        values = {**task.parameters, **task.slots}
        entity = _entity(self.form, values)
        slots = {}
        if self.form.service is not None:
            await self.calls.read(self._service_call(self.form.service, entity, values))
        else:
            slots[self.form.into or ""] = _state(
                await self.calls.read(self._call("GET", f"states/{entity}")), self.form
            )
        yield Fulfilled(self.clock(), task.number, slots)

    def _service_call(self, service: str, entity: str, values: Mapping[str, str]) -> Call:
        data = {key: _datum(datum, values) for key, datum in self.form.data.items()}
        told = {key: datum for key, datum in data.items() if datum != ""}
        if entity:
            told["entity_id"] = entity
        return self._call("POST", f"services/{service.replace('.', '/')}", msgspec.json.encode(told))

    def _call(self, method: str, path: str, body: bytes = b"") -> Call:
        headers = {"Authorization": f"Bearer {self.token}", "Accept": "application/json"}
        url = f"{self.url.rstrip('/')}/api/{path}"
        return Call(method, url, headers, body, self.form.deadline_seconds, self.form.retries, method == "GET")


def _entity(form: HomeAssistant, values: Mapping[str, str]) -> str:
    """Return the entity's id in Home Assistant's form; "" if the form names none."""
    if form.entity is None:
        return ""
    slugs = {name: re.sub(r"[^a-z0-9]+", "_", anyascii(value).lower()).strip("_") for name, value in values.items()}
    entity = substituted(form.entity, slugs)
    entity = form.entities.get(entity, entity)
    if not _ENTITY.fullmatch(entity) or not all(slugs.get(name) for name in required_names_in(form.entity)):
        raise CallFailedError("the entity's id came out incomplete: let the slots in `entity` be required")
    return entity


def _datum(datum: object, values: Mapping[str, str]) -> object:
    """Return a service's data; a lone placeholder with a number becomes one."""
    if not isinstance(datum, str):
        return datum
    names = names_in(datum)
    if len(names) == 1 and datum == f"{{{next(iter(names))}}}":
        value = values.get(next(iter(names)), "")
        return msgspec.json.decode(value) if _NUMBER.fullmatch(value) and not re.match(r"-?0\d", value) else value
    return substituted(datum, values)


def _state(body: bytes, form: HomeAssistant) -> str:
    answer = decoded(body)
    state = answer.get("state") if isinstance(answer, dict) else None
    if form.attribute is not None and isinstance(answer, dict):
        attributes = answer.get("attributes")
        state = attributes.get(form.attribute) if isinstance(attributes, dict) else None
    if not isinstance(state, str | int | float) or state in _UNKNOWN or not 0 < len(str(state)) <= 255:
        raise CallFailedError("Home Assistant does not know the state at present")
    return str(state)
