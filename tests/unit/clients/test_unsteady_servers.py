"""Conversations with a server that ends them again and again, in the middle of anything; through a real socket."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING

import grpc
import pytest

import vivavoce
from tests.unit.clients.fake_service import error_info, refuse, seconds
from tests.unit.clients.lost_servers import SILENCE, collect, hearing, replies, word
from vivavoce._timeout import timeout
from vivavoce.v1 import conversation_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from tests.unit.clients.fake_service import FakeService, Script
    from vivavoce import Utterable

pytestmark = pytest.mark.usefixtures("no_task_left")

WORDS = 6
PIECE_BYTES = 3_200


def _unsteady(chance: random.Random) -> Script:
    """Makes a script that ends after a few responses, in one of the ways in which servers do, unless all was said."""

    def script(requests: Iterator[pb.ConverseRequest], context: grpc.ServicerContext) -> Iterator[pb.ConverseResponse]:
        last = chance.randint(1, 9)
        for count, response in enumerate(hearing("unsteady")(requests, context), start=1):
            yield response
            if count == last:
                yield from end(context)
                return

    def end(context: grpc.ServicerContext) -> Iterator[pb.ConverseResponse]:
        match chance.choice(["lost", "cancelled", "leaving"]):
            case "lost":
                refuse(context, grpc.StatusCode.UNAVAILABLE, "It is gone.", error_info("NOT_READY"))
            case "cancelled":
                refuse(context, grpc.StatusCode.CANCELLED, "It is gone.")
            case "leaving":
                away = pb.GoingAway(reason=pb.GOING_AWAY_REASON_SHUTDOWN, grace=seconds(5))
                yield pb.ConverseResponse(going_away=away)

    return script


async def _speech(chance: random.Random) -> AsyncIterator[Utterable]:
    """Says every word, ends it in one of two ways, and then types it."""
    for number in range(1, WORDS + 1):
        audio = word(number)
        for start in range(0, len(audio), PIECE_BYTES):
            yield audio[start : start + PIECE_BYTES]
            await asyncio.sleep(chance.random() * 0.004)
        yield chance.choice([SILENCE, vivavoce.EndOfUtterance()])
        yield vivavoce.TypedTurn(f"typed {number}")
    yield SILENCE  # Something is left to say also when the last turn's reply was the server's last word.


@pytest.mark.parametrize("seed", range(4))
async def test_every_turn_is_answered_once_however_often_the_server_ends(service: FakeService, seed: int) -> None:
    chance = random.Random(seed)
    service.script = _unsteady(chance)

    async with vivavoce.connect(service.address) as client, timeout(60):
        events = await collect(client.converse(_speech(chance), reconnect_seconds=30))

    said = [text for number in range(1, WORDS + 1) for text in (str(number), f"typed {number}")]
    assert sorted(replies(events)) == list(enumerate(said, start=1))
    assert any(isinstance(event, vivavoce.Reconnected) for event in events)
