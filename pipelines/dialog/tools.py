"""Tools run by the caller's program: calls and results."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pipelines.data.dialog.events import MAX_OFFERS, Fulfilled, FulfilmentFailed
from pipelines.data.messages import Notice, NoticeCode, ToolCall

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from pipelines.data.dialog.actions import Fulfil
    from pipelines.dialog.agent.agent import Agent

logger = logging.getLogger(__name__)

MAX_REMEMBERED = 64
"""Calls that are over, of which a late result can be told apart from an unknown one."""
MAX_SAY_CHARACTERS = 1_000
MAX_VALUE_CHARACTERS = 1_000


@dataclass(frozen=True, slots=True)
class ToolResult:
    """Result of a tool.

    Attributes:
        id: of the call.
        slots: slots of the intent that get another value.
        say: what is said in place of the agent's own words; "": those.
        failed: whether it could not be done.
        parameters: session parameters that change.
        ask_again: slot that is asked for anew where it failed; "": none.
        offers: values that it may get.
    """

    id: str
    slots: Mapping[str, str] = field(default_factory=dict, repr=False)
    say: str = field(default="", repr=False)
    failed: bool = False
    parameters: Mapping[str, str] = field(default_factory=dict, repr=False)
    ask_again: str = ""
    offers: tuple[str, ...] = field(default=(), repr=False)


class ToolDesk:
    """The calls of one dialog's tools, and their results.

    Args:
        agent: whose slots and parameters results may name.
    """

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._waiting: dict[str, tuple[Fulfil, asyncio.Future[ToolResult | None]]] = {}
        self._over: OrderedDict[str, str] = OrderedDict()
        self._tell: Callable[[ToolCall | Notice], None] | None = None
        self._is_open = False

    def open(self, tell: Callable[[ToolCall | Notice], None]) -> None:
        """Begin a stream, in which the caller can be asked.

        Args:
            tell: tells the caller.
        """
        self._tell, self._is_open = tell, True

    async def call(self, task: Fulfil, call_id: str, deadline_seconds: float) -> ToolResult | None:
        """Call a tool and await its result; None without one in time.

        Args:
            task: what is to be done.
            call_id: names the call.
            deadline_seconds: time within which the result must come.
        """
        if self._tell is None or not self._is_open:
            return None
        future: asyncio.Future[ToolResult | None] = asyncio.get_running_loop().create_future()
        self._waiting[call_id] = task, future
        self._remember(call_id, "came too late: the call was given up")
        try:
            slots, parameters = dict(task.slots), dict(task.parameters)
            self._tell(ToolCall(call_id, task.name, task.intent, slots, deadline_seconds, parameters))
            async with asyncio.timeout(deadline_seconds):
                return await future
        except TimeoutError:
            logger.warning("no result of the tool %s came within %g s", task.name, deadline_seconds)
            return None
        finally:
            del self._waiting[call_id]

    def take(self, result: ToolResult) -> None:
        """Take a result; an invalid one causes a notice and no change."""
        fault = self._fault(result)
        if not fault:
            _, future = self._waiting[result.id]
            future.set_result(result)
            self._remember(result.id, "came a second time: the first one counts")
        elif self._tell is not None:
            self._tell(Notice(NoticeCode.TOOL_RESULT_IGNORED, f"a tool result {fault}"))

    def close(self) -> None:
        """Give up all calls: this stream brings no more results."""
        self._tell, self._is_open = None, False
        for _, future in self._waiting.values():
            if not future.done():
                future.set_result(None)

    def _fault(self, result: ToolResult) -> str:
        """Return why a result cannot be taken; "" where it can."""
        waiting = self._waiting.get(result.id)
        if waiting is None or waiting[1].done():
            return self._over.get(result.id, "names an id that no tool_call has: send the id of a call")
        known = self._agent.slots_of(waiting[0].intent)
        for what, named, there in (
            ("slot", result.slots, known),
            ("slot", {result.ask_again: ""} if result.ask_again else {}, known),
            ("parameter", result.parameters, self._agent.form.parameters),
        ):
            for name, value in named.items():
                if name not in there:
                    return f"names the {what} {name[:64]!r}: the agent has {', '.join(there) or 'none'}"
                if len(value) > MAX_VALUE_CHARACTERS:
                    return f"has a value of {what} {name!r} over {MAX_VALUE_CHARACTERS:,} characters: shorten it"
        if len(result.say) > MAX_SAY_CHARACTERS:
            return f"says {len(result.say):,} characters: {MAX_SAY_CHARACTERS:,} are the most"
        if len(result.offers) > MAX_OFFERS or any(len(one) > MAX_VALUE_CHARACTERS for one in result.offers):
            return f"offers too much: {MAX_OFFERS} values of {MAX_VALUE_CHARACTERS:,} characters are the most"
        return ""

    def _remember(self, call_id: str, fault: str) -> None:
        self._over[call_id] = fault
        while len(self._over) > MAX_REMEMBERED:
            self._over.popitem(last=False)


@dataclass(frozen=True, slots=True)
class ToolFulfiller:
    """Fulfiller by the caller's program; see ``pipelines.dialog.fulfilment``.

    Attributes:
        desk: asks for tools.
        deadline_seconds: time within which a result must come.
        clock: time in seconds, which never goes back.
    """

    desk: ToolDesk
    deadline_seconds: float
    clock: Callable[[], float] = time.monotonic

    async def carry_out(self, task: Fulfil, session: str) -> AsyncIterator[Fulfilled | FulfilmentFailed]:
        """Ask for the tool and wait for its result.

        Args:
            task: what is to be done.
            session: the dialog's name among all dialogs.
        """
        result = await self.desk.call(task, f"{session}-{task.number}", self.deadline_seconds)
        if result is None:
            yield FulfilmentFailed(self.clock(), task.number)
        elif result.failed:
            yield FulfilmentFailed(self.clock(), task.number, result.say, result.ask_again, result.offers)
        else:
            yield Fulfilled(self.clock(), task.number, result.slots, result.say, result.parameters)


def tools_of(agent: Agent, desk: ToolDesk) -> dict[str, ToolFulfiller]:
    """Make the fulfillers of an agent's tools, by their names."""
    return {
        name: ToolFulfiller(desk, form.tool.deadline_seconds)
        for name, form in agent.form.fulfilments.items()
        if form.tool is not None
    }
