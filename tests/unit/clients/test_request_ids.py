"""Which request an event answers, as programs see it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import vivavoce
from tests.unit.clients.fake_service import FakeService, one_turn
from tests.unit.clients.lost_servers import collect

if TYPE_CHECKING:
    from collections.abc import Iterator

    import grpc

    from vivavoce.v1 import conversation_pb2 as pb

pytestmark = pytest.mark.usefixtures("no_task_left")

SECOND_OF_AUDIO = bytes(32_000)


async def test_answers_name_the_requests_that_they_answer(service: FakeService, client: vivavoce.Client) -> None:
    said = [SECOND_OF_AUDIO, vivavoce.EndOfUtterance("end"), vivavoce.TypedTurn("What time is it?", "typed")]

    events = [event async for event in client.converse([*said, SECOND_OF_AUDIO, vivavoce.EndOfUtterance()])]

    assert [event.request_id for event in events if isinstance(event, vivavoce.SpeechEnded)] == ["end", "request-5"]
    finals = [event for event in events if isinstance(event, vivavoce.Transcript) and event.is_final]
    assert [final.request_id for final in finals] == ["end", "request-5"]
    replies = [event.request_id for event in events if isinstance(event, vivavoce.Reply)]
    assert replies == ["end", "typed", "request-5"]


@pytest.fixture
def older(service: FakeService) -> FakeService:
    """A server of before, which does not name the request that it answers."""

    def script(requests: Iterator[pb.ConverseRequest], context: grpc.ServicerContext) -> Iterator[pb.ConverseResponse]:
        def unnamed() -> Iterator[pb.ConverseRequest]:
            for request in requests:
                request.ClearField("request_id")
                yield request

        yield from one_turn(unnamed(), context)

    service.script = script
    return service


async def test_an_older_server_answers_requests_without_their_names(
    older: FakeService, client: vivavoce.Client
) -> None:
    said = [SECOND_OF_AUDIO, vivavoce.EndOfUtterance("end"), vivavoce.TypedTurn("hello"), SECOND_OF_AUDIO]
    replies = [event async for event in client.converse(said) if isinstance(event, vivavoce.Reply)]

    assert [reply.request_id for reply in replies] == ["", "", ""]
    assert [reply.client_latency_seconds is None for reply in replies] == [True, True, False]


@pytest.mark.parametrize("request_", [vivavoce.EndOfUtterance(), vivavoce.TypedTurn("hello")])
async def test_with_an_older_server_reconnecting_says_what_it_needs(
    older: FakeService, client: vivavoce.Client, request_: vivavoce.Utterable
) -> None:
    with pytest.raises(vivavoce.Incompatible, match="update the server, or leave reconnect_seconds at 0"):
        await collect(client.converse([SECOND_OF_AUDIO, request_], reconnect_seconds=5))


async def test_a_name_that_is_no_text_is_refused(client: vivavoce.Client) -> None:
    with pytest.raises(vivavoce.InvalidRequest, match="not valid Unicode") as caught:
        async for _ in client.converse([vivavoce.TypedTurn("hello", "\ud800")]):
            pass

    assert caught.value.field == "request_id"
