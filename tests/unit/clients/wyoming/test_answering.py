"""From texts to intents and answers, through the package's own client."""

from __future__ import annotations

from typing import TYPE_CHECKING

import grpc
import pytest
from wyoming.asr import Transcript
from wyoming.client import AsyncTcpClient
from wyoming.error import Error
from wyoming.handle import Handled, NotHandled
from wyoming.info import Describe, Info, SelectProgram
from wyoming.intent import Entity, Intent, NotRecognized, Recognize
from wyoming.ping import Ping, Pong

from tests.unit.clients.fake_service import make_answer, make_reply
from tests.unit.clients.wyoming.conftest import PATIENCE_SECONDS
from tests.unit.clients.wyoming.events import hear, hear_rest, say
from vivavoce.v1 import reply_pb2
from vivavoce.wyoming import Settings, WyomingServer

if TYPE_CHECKING:
    import vivavoce
    from tests.unit.clients.fake_service import FakeService

CONTEXT = {"conversation_id": "c-7"}


def _answer_with(service: FakeService, **changes: object) -> None:
    service.answer = lambda request, _: make_reply(transcript=request.text, **changes)


def _without_intent(service: FakeService, *, answer: reply_pb2.Answer | None = None) -> None:
    reply = reply_pb2.Reply(status=reply_pb2.REPLY_STATUS_COMPLETE, intent=reply_pb2.Intent(name="none"), answer=answer)
    service.answer = lambda *_: reply


async def test_the_server_describes_what_it_can_do(home: AsyncTcpClient) -> None:
    await say(home, Describe())

    info = await hear(home, Info)
    [asr], [intent], [handle] = info.asr, info.intent, info.handle
    assert asr.supports_transcript_streaming
    assert all(program.installed for program in (asr, intent, handle))
    assert [model.languages for program in (asr, intent, handle) for model in program.models] == [["en"]] * 3
    assert not handle.supports_home_control


async def test_our_programs_can_be_selected(home: AsyncTcpClient) -> None:
    await say(home, SelectProgram("vivavoce"), Ping("still there?"))

    assert (await hear(home, Pong)).text == "still there?"


async def test_an_intent_is_recognized_with_its_slots_as_entities(service: FakeService, home: AsyncTcpClient) -> None:
    await say(home, Recognize("turn on the light", context=CONTEXT))

    expected = Intent("iot_hue_lighton", [Entity("device_type", "light")], context=CONTEXT)
    assert await hear(home, Intent) == expected
    [asked] = service.asked
    assert asked.text == "turn on the light"


async def test_the_answer_is_the_text_of_an_intent(service: FakeService, home: AsyncTcpClient) -> None:
    _answer_with(service, answer=make_answer())

    await say(home, Recognize("when does it open"))

    assert (await hear(home, Intent)).text == "at nine"


async def test_an_agent_answers_the_texts_of_a_conversation(service: FakeService, client: vivavoce.Client) -> None:
    dialog = reply_pb2.Dialog(intent="order", asked="size")
    _answer_with(service, dialog=dialog, speech_text="Which size?")
    settings = Settings(agent="bar", knowledge=["menu"])

    async with (
        WyomingServer(client, settings).listening(("127.0.0.1", 0)) as uri,
        AsyncTcpClient.from_uri(uri, read_timeout=PATIENCE_SECONDS) as home,
    ):
        await say(home, Transcript("a latte please", context=CONTEXT))
        assert (await hear(home, Handled)).text == "Which size?"
        for _ in range(2):
            await say(home, Transcript("small"))
            await hear(home, Handled)

    named, *unnamed = service.asked
    assert (named.agent, named.session.id, named.knowledge) == ("bar", "c-7", ["menu"])
    # Without a name of the conversation the connection is one.
    assert unnamed[0].session.id == unnamed[1].session.id != ""


async def test_no_intent_is_not_recognized(service: FakeService, home: AsyncTcpClient) -> None:
    _without_intent(service)

    await say(home, Recognize("colourless green ideas", context=CONTEXT))

    refused = await hear(home, NotRecognized)
    assert refused.text
    assert refused.context == CONTEXT


async def test_a_transcript_is_handled_with_the_answer(service: FakeService, home: AsyncTcpClient) -> None:
    _answer_with(service, answer=make_answer())

    await say(home, Transcript("when does it open", language="en-GB", context=CONTEXT))

    assert await hear(home, Handled) == Handled("at nine", context=CONTEXT)
    [asked] = service.asked
    assert [document.id for document in asked.documents] == ["museum.txt"]


async def test_a_command_is_handled_with_a_sentence_about_it(home: AsyncTcpClient) -> None:
    await say(home, Transcript("turn on the light"))

    assert (await hear(home, Handled)).text == "Understood: iot hue lighton, device type light."


async def test_what_is_neither_command_nor_answered_is_not_handled(service: FakeService, home: AsyncTcpClient) -> None:
    _without_intent(service)

    await say(home, Transcript("colourless green ideas", context=CONTEXT))

    refused = await hear(home, NotHandled)
    assert refused.text
    assert refused.context == CONTEXT


async def test_an_answer_needs_no_intent(service: FakeService, home: AsyncTcpClient) -> None:
    _without_intent(service, answer=make_answer())

    await say(home, Transcript("when does it open"))

    assert (await hear(home, Handled)).text == "at nine"


async def test_a_structured_intent_is_not_handled(home: AsyncTcpClient) -> None:
    await say(home, Intent("HassTurnOn", [Entity("name", "lamp")]))

    assert (await hear(home, NotHandled)).text == "Nothing here carries commands out."


@pytest.mark.parametrize(
    ("request_event", "rest"),
    [(Recognize("turn on the light"), []), (Transcript("turn on the light"), ["not-handled"])],
)
async def test_a_late_reply_is_an_error_and_ends_the_connection(
    service: FakeService, home: AsyncTcpClient, request_event: Recognize | Transcript, rest: list[str]
) -> None:
    late = reply_pb2.Reply(status=reply_pb2.REPLY_STATUS_PARTIAL, overran=[reply_pb2.STAGE_NLU])
    service.answer = lambda *_: late

    await say(home, request_event)

    error = await hear(home, Error)
    assert error.code == "late"
    assert "Try again" in error.text
    assert [event.type for event in await hear_rest(home)] == rest


async def test_a_failure_is_a_not_handled_too_for_those_who_know_no_errors(
    service: FakeService, home: AsyncTcpClient
) -> None:
    service.answer = lambda _, context: context.abort(grpc.StatusCode.UNAVAILABLE, "the house is empty")

    await say(home, Transcript("turn on the light", context=CONTEXT))

    error = await hear(home, Error)
    assert error.code == "server-unavailable"
    assert await hear(home, NotHandled) == NotHandled(text=error.text, context=CONTEXT)
    assert await hear_rest(home) == []


async def test_a_text_in_another_language_is_refused_likewise(home: AsyncTcpClient) -> None:
    await say(home, Transcript("mach das Licht an", language="de"))

    error = await hear(home, Error)
    assert error.code == "unsupported-language"
    assert (await hear(home, NotHandled)).text == error.text
    assert await hear_rest(home) == []
