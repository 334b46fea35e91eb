"""Agents led by a language model over a real socket: its tools, the dialog's consent, and models with bad manners."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import vivavoce
from pipelines.data.understanding import Understanding
from pipelines.dialog.agent.fulfilment_checks import faults_of_fulfilments
from pipelines.dialog.agent.problems import AgentError
from pipelines.dialog.leading import led_turn
from pipelines.dialog.session import DialogSession
from pipelines.dialog.sessions import DialogSessions
from pipelines.text.values import find_values
from service.fulfilment.fulfillers import fulfillers_of
from service.fulfilment.http_calls import HttpCalls
from service.fulfilment.leading_model import ModelLeader
from service.sessions.dialogs import Dialogs, read_dialogs
from tests.unit.pipelines.dialog.agents import BAR, NOW, agent_of
from tests.unit.service.fulfilment.server import answers, closes, drips, hangs, serving
from tests.unit.service.fulfilment.test_fulfillers import FOLDER
from tests.unit.service.fulfilment.test_language_model import chunk, streams
from tests.unit.service.harness import Harness
from tests.unit.service.test_dialogs import TEMPLATE, OrderingModels

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from pipelines.data.dialog.turn import DialogTurn
    from tests.unit.service.fulfilment.server import Behaviour, Server


def called(*calls: tuple[str, object], pieces: int = 3, same_index: bool = False) -> Behaviour:
    """Calls tools; arguments come in pieces, as servers stream them."""
    chunks = []
    for number, (name, arguments) in enumerate(calls):
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        size = max(1, len(text) // pieces)
        parts = [text[at : at + size] for at in range(0, len(text), size)] if not same_index else [text]
        for at, part in enumerate(parts):
            function = {"arguments": part} | ({"name": name} if not at else {})
            call: dict[str, Any] = {"index": 0 if same_index else number, "function": function}
            call |= {} if at else {"id": f"c{number}", "type": "function"}
            choice = {"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": None}
            chunks.append(f"data: {json.dumps({'choices': [choice]})}\n\n".encode())
    return streams(*chunks, chunk(finish="tool_calls"))


def says(text: str) -> Behaviour:
    return streams(*(chunk(text[at : at + 7]) for at in range(0, len(text), 7)))


@dataclass
class Talk:
    """A dialog that a model leads: what is said, and what the server was asked."""

    session: DialogSession
    server: Server
    documents: dict[str, str] = field(default_factory=dict)
    intent: str = "none"

    async def turn(self, text: str) -> DialogTurn:
        understanding = Understanding(self.intent, 0.9, values=find_values(text, NOW))
        preview = self.session.preview(text, understanding)
        search = self.search if self.documents else None
        return self.session.commit(await led_turn(self.session, preview, NOW, None, search))

    async def __call__(self, text: str) -> str:
        return (await self.turn(text)).text

    async def search(self, question: str) -> str:
        return next((found for word, found in self.documents.items() if word in question), "")


@contextlib.asynccontextmanager
async def led(*behaviours: Behaviour, **form: Any) -> AsyncIterator[Talk]:
    calls = HttpCalls()
    async with serving(*behaviours) as server:
        model = {"url": f"{server.url}/v1", "model": "small", "deadline_seconds": 2, **form}
        session = DialogSession(agent_of({**BAR, "language_model": model}), leader=ModelLeader(calls, {"KEY": "hush"}))
        session.begin()
        yield Talk(session, server)
    await calls.close()


async def test_the_model_fills_the_form_and_the_dialog_asks_confirms_and_fulfils():
    order = called(("order", {"drink": "latte"}))
    async with led(order) as talk:
        assert await talk("something milky and hot would be great") == "Which size?"
        # A bare answer and a yes are the dialog's own.
        assert await talk("small") == "1 small latte?"
        done = await talk.turn("yes please")
        assert [(one.name, dict(one.slots)) for one in done.fulfilled] == [
            ("order", {"drink": "latte", "size": "small", "count": "1"})
        ]
        assert done.text == "Done."
        assert len(talk.server.requests) == 1


@pytest.mark.parametrize("again", [{"drink": "latte", "size": "small"}, {}, {"count": 1}])
async def test_the_model_confirms_nothing(again: dict[str, object]):
    order = called(("order", {"drink": "latte", "size": "big"}))
    async with led(order, called(("order", again)), says("Your latte is ordered. Shall I go on?")) as talk:
        assert await talk("a big latte") == "1 large latte?"
        for _ in range(2):
            turn = await talk.turn("that sounds like what my mother would want")
            assert not turn.fulfilled
            assert turn.text.endswith("latte?")
            assert talk.session.state.form is not None
            assert talk.session.state.form.confirming
        assert not (await talk.turn("sure, but not today")).fulfilled


async def test_a_correction_is_confirmed_again():
    first = called(("order", {"drink": "latte", "size": "small"}))
    async with led(first, called(("order", {"size": "big", "count": "two"}))) as talk:
        assert await talk("a small latte") == "1 small latte?"
        assert await talk("hmm, rather the big ones, and my wife wants one as well") == "Two large latte?"
        (done,) = (await talk.turn("yes")).fulfilled
        assert (done.slots["size"], done.slots["count"]) == ("large", "2")


async def test_a_value_is_taken_away():
    first = called(("order", {"drink": "latte", "size": "small", "roast": "light roast"}))
    async with led(first, called(("order", {"roast": "", "size": None}))) as talk:
        assert await talk("a small light latte") == "1 small light roast latte?"
        assert await talk("oh, I care for neither roast nor size") == "Which size?"


async def test_words_of_control_never_reach_the_model():
    async with led(called(("order", {"drink": "latte"}))) as talk:
        for text, said in (("repeat that please", "Hello."), ("help", "Tell me what I can do for you.")):
            assert await talk(text) == said
        assert talk.server.requests == []
        assert (await talk.turn("can I talk to a real person please")).ends == "hand_over"
        assert talk.server.requests == []


async def test_sensitive_slots_are_the_dialogs_own():
    async with led(called(("book", {"date": "tomorrow", "time": "19:30"}))) as talk:
        assert await talk("I would love to come round tomorrow evening") == "Which name?"
        assert await talk("it is Ada Lovelace") == "Tomorrow, Ada Lovelace?"
        assert len(talk.server.requests) == 1
        (book,) = (tool for tool in talk.server.requests[0].json["tools"] if tool["function"]["name"] == "book")
        assert list(book["function"]["parameters"]["properties"]) == ["date", "time"]


async def test_several_wishes_follow_each_other():
    both = (("hours", {"day": "Friday"}), ("person", {}))
    for same_index in (False, True):
        async with led(called(*both, same_index=same_index)) as talk:
            turn = await talk.turn("when are you open, and let me talk to your boss")
            assert turn.text == "At nine on Friday. Of course. I will hand you over to a colleague."
            assert turn.ends == "hand_over"


async def test_an_act_without_confirmation_is_not_done_where_it_is_denied():
    form = {**BAR, "intents": {**BAR["intents"], "ring": {"fulfilment": "ring", "response": "Ringing."}}}
    async with led(called(("ring", {}))) as talk:
        talk.session.agent = agent_of({**form, "language_model": talk.session.agent.form.language_model})
        assert not (await talk.turn("please do not ring the bell")).fulfilled
        assert not (await talk.turn("ring the bell when I leave")).fulfilled
        assert (await talk.turn("I want somebody to hear the bell")).fulfilled


async def test_words_are_said_and_the_open_question_follows():
    async with led(called(("order", {"drink": "latte"})), says("**All** our cups are big \N{HOT BEVERAGE}. ")) as talk:
        assert await talk("milk and coffee") == "Which size?"
        assert await talk("how come nobody ever tells me how they look") == "All our cups are big. Which size?"
    async with led(says("Do you prefer tea?")) as talk:
        assert await talk("I am so tired") == "Do you prefer tea?"


async def test_what_is_asked():
    async with led(
        called(("order", {"drink": "latte"})), says("Yes."), key_env="KEY", instructions="Be brief."
    ) as talk:
        await talk("milk and coffee, so to say")
        await talk("and what would that cost me")
        first, second = (request.json for request in talk.server.requests)
        assert talk.server.requests[0].headers["authorization"] == "Bearer hush"
    assert (first["model"], first["stream"], first["max_tokens"]) == ("small", True, 400)
    assert first["messages"][0]["content"].startswith("Be brief.\n\nCall a tool")
    assert "It is Monday, 05 January 2026, 09:00.\nhouse: the bar" in first["messages"][0]["content"]
    assert first["messages"][1:] == [
        {"role": "assistant", "content": "Hello."},
        {"role": "user", "content": "milk and coffee, so to say"},
    ]
    assert (
        "Under way: order with drink = latte, count = 1.\nThe caller was asked for size."
        in (second["messages"][0]["content"])
    )
    tools = {tool["function"]["name"]: tool["function"] for tool in first["tools"]}
    # "wait" needs a context that is not open.
    assert list(tools) == ["order", "hours", "book", "person"]
    assert tools["order"]["parameters"]["properties"]["size"]["enum"] == ["small", "medium", "large", ""]
    assert tools["order"]["description"].endswith("The dialog asks the caller to confirm it.")


async def test_documents_are_a_tool():
    search = called(("search_documents", {"question": "how much is parking"}))
    async with led(search, says("It costs two euros.")) as talk:
        talk.documents = {"parking": "Parking costs 2 euros an hour."}
        assert await talk("can I leave my car there and at what price") == "It costs two euros."
        *_, asked, result = talk.server.requests[1].json["messages"]
        assert asked["tool_calls"][0]["function"]["name"] == "search_documents"
        assert result == {"role": "tool", "tool_call_id": "c0", "content": "Parking costs 2 euros an hour."}
    async with led(search, says("I do not know.")) as talk:
        talk.documents = {"dogs": "No dogs."}
        assert await talk("can I leave my car there and at what price") == "I do not know."
        assert talk.server.requests[1].json["messages"][-1]["content"].startswith("Nothing was found")


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (("pay", {}), "there is no tool 'pay': call one of order, hours, book, person"),
        (("wait", {}), "there is no tool 'wait'"),
        (("search_documents", {"question": "x"}), "there is no tool 'search_documents'"),
        (("order", {"milk": "oat"}), "order has no argument 'milk': its arguments are drink, size, roast, count"),
        (("order", {"drink": "gin"}), "drink is none of latte, mocha, iced mocha, iced coffee"),
        (("order", {"count": "several"}), "count is no number"),
        (("order", {"drink": ["latte"]}), "drink is no text"),
        (("order", {"drink": "x" * 1_001}), "drink is too long"),
        (("order", "{"), "the arguments are no JSON"),
        (("order", "[]"), "the arguments are no JSON object"),
        (("book", {"name": "Ada"}), "book has no argument 'name'"),
        (("hours", {"day": "purple"}), "day is no date"),
    ],
)
async def test_a_wrong_call_is_told_to_the_model_once_more(call: tuple[str, object], problem: str):
    async with led(called(call), called(("order", {"drink": "latte"}))) as talk:
        assert await talk("something milky") == "Which size?"
        result = talk.server.requests[1].json["messages"][-1]
        assert result["content"].startswith(f"error: {problem}")


@pytest.mark.parametrize(
    ("behaviour", "problem"),
    [
        (called(("pay", {})), "it calls tools in vain, 3 times in one turn"),
        (called(*[("order", {})] * 9), "over 8 tools at once"),
        (called(("order", '{"drink": "' + "x" * 20_000), pieces=400), "arguments without end"),
        (streams(), "says nothing and calls nothing"),
        (streams(chunk("\N{HONEYBEE}")), "says nothing and calls nothing"),
        (streams(chunk("I will"), done=False), "broke off"),
        (streams(b'data: {"error": "no such model"}\n\n'), "reports an error"),
        (streams(b'data: {"choices": [{"delta": {"tool_calls": 7}}]}\n\n'), "no stream of chat completions"),
        (answers(status=401), "status 401"),
        (answers({}), "no event stream"),
        (closes, "cannot be reached"),
        (hangs, "over 0.4 s"),
        (drips, "no event stream"),
        (streams(chunk("a"), pause=60), "over 0.4 s"),
        (streams(*[chunk("| " * 10)] * 400), "says nothing"),
    ],
)
async def test_without_the_model_the_intents_of_the_engine_lead(
    behaviour: Behaviour, problem: str, caplog: pytest.LogCaptureFixture
):
    async with led(behaviour, deadline_seconds=0.4) as talk:
        talk.intent = "order"
        assert await talk("a secret latte please") == "Which size?"
        assert len(talk.server.requests) <= 3
    (record,) = (record for record in caplog.records if "does not lead" in record.message)
    assert problem in record.message
    assert "secret" not in caplog.text


async def test_a_model_that_talks_for_ever_is_cut():
    async with led(streams(*[chunk("Word after word. ")] * 5_000), max_sentences=2) as talk:
        assert await talk("tell me a story") == "Word after word. Word after word."


async def test_a_preview_and_a_commit_ask_once():
    async with led(called(("order", {"drink": "latte"}))) as talk:
        preview = talk.session.preview("something milky", Understanding())
        turn = await led_turn(talk.session, preview, NOW)
        talk.session.change({"house": "Ada's"})
        assert talk.session.commit(turn).text == "Which size?"
        assert len(talk.server.requests) == 1


async def test_a_led_agent_in_service():
    calls = HttpCalls()
    behaviours = (called(("order", {"drink": "latte"})), hangs, says("They are all the same. "))
    async with serving(*behaviours) as server:
        model = {"url": server.url, "model": "small", "deadline_seconds": 1}
        dialogs = Dialogs(
            {"bar": agent_of({**BAR, "language_model": model})},
            DialogSessions(),
            leader=lambda: ModelLeader(calls),
        )
        async with Harness.running(models=OrderingModels(0.001, 0.001, 0.001), dialogs=dialogs) as harness:
            texts = ("something milky", "what do your cups look like", "and your spoons", "small", "yes")
            async with vivavoce.connect(harness.address) as client:
                conversation = client.converse([vivavoce.TypedTurn(text) for text in texts], audio=None, agent="bar")
                replies = [event async for event in conversation if isinstance(event, vivavoce.Reply)]
    await calls.close()
    said = [reply.speech_text for reply in replies if reply.dialog is not None]
    assert said == [
        "Which size?",
        "Sorry? Which size?",
        "They are all the same. Which size?",
        "1 small latte?",
        "Done.",
    ]
    assert [one.name for reply in replies if reply.dialog for one in reply.dialog.fulfilments] == ["order"]


def test_what_is_wrong_with_the_file_is_told():
    def faults(**model: Any) -> list[str]:
        agent = agent_of({**BAR, "language_model": {"model": "small", **model}})
        return [f"{'.'.join(map(str, place))}: {message}" for place, message in faults_of_fulfilments(agent)]

    assert faults(url="http://127.0.0.1:1/v1") == []
    assert faults(url="http://example.com/v1")[0].startswith("language_model.url: http beyond this machine")
    assert faults()[0].startswith("language_model: exactly one of `url` and `url_env`")


async def test_a_variable_that_is_missing_is_told():
    model = {"model": "small", "url_env": "MODEL_URL", "key_env": "MODEL_KEY"}
    agent, calls = agent_of({**BAR, "language_model": model}), HttpCalls()
    with pytest.raises(AgentError, match="`language_model`: the environment variable MODEL_URL is not set"):
        fulfillers_of(agent, FOLDER, calls, {"MODEL_KEY": "hush"})
    assert fulfillers_of(agent, FOLDER, calls, {"MODEL_KEY": "hush", "MODEL_URL": "https://example.com/v1"}) == {}
    await calls.close()


async def test_chat_and_service_are_led_by_the_model_of_the_file(tmp_path: Path):
    folder = tmp_path / "tables"
    shutil.copytree(TEMPLATE, folder)
    async with serving(called(("book_table", {"people": "four"})), says("We sell no cars.")) as server:
        with (folder / "agent.yaml").open("a") as file:
            file.write(f'language_model: {{url: "{server.url}", model: small}}\n')
        dialogs = read_dialogs((folder,))
        async with dialogs.open("my_agent", "", {}) as session:
            assert session is not None
            assert session.leader is not None
        chat = (Path(sys.executable).with_name("vivavoce"), "agent", "chat", folder)
        process = await asyncio.create_subprocess_exec(*chat, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        said, _ = await process.communicate(b"my family and I are hungry\nand do you sell cars by any chance\n")
    assert said.decode().splitlines()[1:] == ["For which day?", "We sell no cars. For which day?"]


async def test_documents_of_the_conversation_are_searched_for_the_model():
    calls, document = HttpCalls(), vivavoce.Document("The bar opens at nine. Dogs may come in.", id="bar.txt")
    search = called(("search_documents", {"question": "may dogs come in"}))
    async with serving(search, says("They may.")) as server:
        model = {"url": server.url, "model": "small"}
        agent = agent_of({**BAR, "language_model": model})
        dialogs = Dialogs({"bar": agent}, DialogSessions(), leader=lambda: ModelLeader(calls))
        async with (
            Harness.running(models=OrderingModels(0.001, 0.001, 0.001), dialogs=dialogs) as harness,
            vivavoce.connect(harness.address) as client,
        ):
            reply = await client.ask("my poodle is with me", agent="bar", documents=[document])
    await calls.close()
    assert reply.speech_text == "They may."
    assert [tool["function"]["name"] for tool in server.requests[0].json["tools"]][-1] == "search_documents"
    assert server.requests[1].json["messages"][-1]["content"] == "The bar opens at nine. Dogs may come in."


async def test_what_the_file_does_not_allow_is_refused_to_the_model_as_well():
    order = BAR["intents"]["order"]
    few = {"type": "number", "default": "1", "allow": {"between": ["1", "4"], "refused": "Four at most."}}
    form = {**BAR, "intents": {"order": {**order, "slots": {**order["slots"], "count": few}}}}
    calls = (called(("order", {"drink": "latte", "size": "small"})), called(("order", {"count": "twenty"})))
    async with led(*calls) as talk:
        talk.session.agent = agent_of({**form, "language_model": talk.session.agent.form.language_model})
        assert await talk("something small and milky") == "1 small latte?"
        assert await talk("hmm, my whole football team is here with me") == "Four at most. 1 small latte?"
