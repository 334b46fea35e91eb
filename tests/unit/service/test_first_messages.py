"""Calls that wait for their first message, in virtual time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from service.grpc_server.first_messages import FirstMessages
from service.refusals import TooManyWaitingError
from service.security.principal import Principal, acting_for
from tests import virtual_time

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

HOUR = 3600.0


def sent_after(seconds: float, message: str) -> Callable[[], Awaitable[str]]:
    async def read() -> str:
        await asyncio.sleep(seconds)
        return message

    return read


class Crowd:
    """Calls over one ``FirstMessages``."""

    def __init__(self, limit: int, share: int) -> None:
        self.messages = FirstMessages(limit, share)
        self.tasks: list[asyncio.Task[str]] = []

    async def silent(self, connection: str, calls: int) -> None:
        """Opens calls that send nothing for an hour."""
        for _ in range(calls):
            reading = self.messages.read(sent_after(HOUR, "late"), connection, 2 * HOUR)
            self.tasks.append(asyncio.create_task(reading))
        await asyncio.sleep(0)

    async def seconds_to_be_read(self, connection: str) -> float:
        """Opens a call that sends its message at once."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        assert await self.messages.read(sent_after(0.0, "now"), connection, 5.0) == "now"
        return loop.time() - began

    async def refused(self) -> int:
        await asyncio.sleep(0.01)
        return sum(task.done() and isinstance(task.exception(), TooManyWaitingError) for task in self.tasks)

    async def leave(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        assert not self.messages._of_callers
        assert not self.messages._places._taken


def test_a_message_in_time_is_returned():
    async def main() -> None:
        messages = FirstMessages()
        assert await messages.read(sent_after(4.9, "hello"), "a", 5.0) == "hello"

    virtual_time.run(main())


def test_a_message_that_does_not_come_in_time_is_no_longer_waited_for():
    async def main() -> None:
        with pytest.raises(TimeoutError):
            await FirstMessages().read(sent_after(5.1, "hello"), "a", 5.0)

    virtual_time.run(main())


def test_silent_calls_of_one_connection_cost_others_nothing():
    async def main() -> None:
        crowd = Crowd(limit=64, share=16)
        await crowd.silent("attacker", 100)
        assert await crowd.seconds_to_be_read("other") == 0.0
        await crowd.leave()

    virtual_time.run(main())


def test_behind_one_connection_silent_calls_make_place_within_a_moment():
    async def main() -> None:
        crowd = Crowd(limit=64, share=16)
        await crowd.silent("proxy", 16)
        assert await crowd.seconds_to_be_read("proxy") == pytest.approx(0.15)
        assert await crowd.refused() == 1
        await asyncio.sleep(1.0)
        assert await crowd.seconds_to_be_read("proxy") == 0.0
        await crowd.leave()

    virtual_time.run(main())


def test_silent_calls_of_many_connections_make_place_the_longest_first():
    async def main() -> None:
        crowd = Crowd(limit=8, share=4)
        for number in range(8):
            await crowd.silent(f"attacker {number}", 1)
        await asyncio.sleep(1.0)
        assert await crowd.seconds_to_be_read("other") == 0.0
        assert await crowd.refused() == 1
        assert isinstance(crowd.tasks[0].exception(), TooManyWaitingError)
        await crowd.leave()

    virtual_time.run(main())


def test_silent_calls_of_one_principal_over_many_connections_cost_others_nothing():
    async def main() -> None:
        crowd = Crowd(limit=64, share=16)
        with acting_for(Principal("attacker", "token")):
            for number in range(100):
                await crowd.silent(f"connection {number}", 1)
        with acting_for(Principal("attacker", "certificate")):
            assert await crowd.seconds_to_be_read("other") == 0.0
        await asyncio.sleep(0.2)
        assert len(crowd.messages._places._taken) == 32
        await crowd.leave()

    virtual_time.run(main())


def test_a_burst_of_calls_that_send_at_once_is_served_whole():
    async def main() -> None:
        crowd = Crowd(limit=8, share=4)
        took = await asyncio.gather(*(crowd.seconds_to_be_read(f"{number % 3}") for number in range(300)))
        assert max(took) < 0.15
        await crowd.leave()

    virtual_time.run(main())


def test_the_queue_is_bounded():
    async def main() -> None:
        crowd = Crowd(limit=8, share=4)
        await crowd.silent("attacker", 1100)
        assert await crowd.refused() == 1100 - 1024
        with pytest.raises(TooManyWaitingError):
            await crowd.seconds_to_be_read("other")
        await crowd.leave()

    virtual_time.run(main())


def test_calls_over_a_unix_socket_have_no_shares():
    async def main() -> None:
        crowd = Crowd(limit=64, share=16)
        await crowd.silent("unix:", 60)
        assert await crowd.seconds_to_be_read("unix:") == 0.0
        await crowd.leave()

    virtual_time.run(main())
