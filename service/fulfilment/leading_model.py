"""Language models that lead agents, with intents and documents as tools."""

from __future__ import annotations

import asyncio
import contextlib
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pipelines.data.dialog.lead import Lead
from pipelines.dialog.agent.fulfilments import SEARCH_TOOL
from pipelines.dialog.intent_tools import MAX_ARGUMENT_CHARACTERS, CallError, read_arguments, read_call, tools_of
from pipelines.dialog.leader import LeadError
from service.fulfilment.chat_completions import MAX_PASSAGE_CHARACTERS, SPOKEN, ChatCompletions
from service.fulfilment.http_calls import CallFailedError
from service.fulfilment.spoken_sentences import MAX_SENTENCE_CHARACTERS, SpokenSentences

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pipelines.data.dialog.lead import Wish
    from pipelines.dialog.agent.fulfilments import LeadingModel
    from pipelines.dialog.leader import Brief
    from service.fulfilment.chat_completions import CallDelta
    from service.fulfilment.http_calls import HttpCalls

MAX_CALLS = 8
"""Tools that one answer may call."""
_RULES = (
    "Call a tool as soon as the caller wants what it is for, with the details that the caller has given, and no others."
    " What is missing is asked for after your call, what matters is confirmed with the caller, and then it is carried"
    " out: never ask for a confirmation yourself, and never say that something is done, booked or sent. Without a tool"
    " for it, say that you cannot do it. Facts come from these instructions and from documents alone: of anything else"
    " say that you do not know."
)
_UNKNOWN = "Nothing was found: say that you do not know."


@dataclass(slots=True)
class _Call:
    id: str
    name: str = ""
    arguments: str = ""


@dataclass(slots=True)
class _Answer:
    """An answer of a model, as far as it has come."""

    text: str = ""
    calls: list[_Call] = field(default_factory=list)
    _by_index: dict[int, _Call] = field(default_factory=dict)

    def add(self, delta: CallDelta) -> None:
        """Take a piece of a call.

        Raises:
            LeadError: the calls are too many, or too long.
        """
        call = self._by_index.get(delta.index)
        if call is None or (delta.id and delta.id != call.id):
            # Some servers give every call the index 0, and send each in one piece.
            call = self._by_index[delta.index] = _Call(delta.id or f"call_{len(self.calls)}")
            self.calls.append(call)
        call.name += delta.function.name or ""
        call.arguments += delta.function.arguments or ""
        if len(self.calls) > MAX_CALLS:
            raise LeadError(f"it calls over {MAX_CALLS} tools at once")
        if len(call.name) + len(call.arguments) > MAX_ARGUMENT_CHARACTERS:
            raise LeadError("it calls a tool with arguments without end")


@dataclass(frozen=True, slots=True)
class ModelLeader:
    """Asks the models of agents; see :class:`pipelines.dialog.leader.Leader`.

    Attributes:
        calls: makes requests.
        environment: variables by name, checked when the agent was read.
    """

    calls: HttpCalls
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)

    async def lead(self, brief: Brief) -> Lead:
        """Ask a model until it calls an intent or answers in words.

        Raises:
            LeadError: it does not in its rounds, or in time.
        """
        form = brief.agent.form.language_model
        assert form is not None, "only agents with a model are led"
        try:
            async with asyncio.timeout(brief.seconds):
                return await self._rounds(brief, form)
        except TimeoutError:
            raise LeadError(f"it takes over {brief.seconds:g} s") from None
        except CallFailedError as error:
            raise LeadError(str(error)) from None

    async def _rounds(self, brief: Brief, form: LeadingModel) -> Lead:
        server = ChatCompletions(self.calls, self._value(form.url, form.url_env), self._value("", form.key_env))
        messages = _messages(brief, form)
        tools = tools_of(brief.agent, brief.state, has_documents=brief.search is not None)
        request: dict[str, object] = {"model": form.model, "messages": messages, "tools": tools}
        request |= {} if form.temperature is None else {"temperature": form.temperature}
        request |= {} if form.max_tokens is None else {"max_tokens": form.max_tokens}
        for _ in range(form.rounds):
            answer = await _answer(server, request, brief.seconds, form.max_sentences)
            if not answer.calls:
                say = _spoken(answer.text, form.max_sentences)
                if not say:
                    raise LeadError("it says nothing and calls nothing")
                return Lead(say=say)
            wishes, results = await _results(brief, answer.calls)
            if results is None:
                return Lead(tuple(wishes))
            messages += [_as_message(answer), *results]
        raise LeadError(f"it calls tools in vain, {form.rounds} times in one turn")

    def _value(self, text: str | None, variable: str | None) -> str:
        return text or (self.environment.get(variable, "").strip() if variable else "")


async def _answer(server: ChatCompletions, request: dict[str, object], seconds: float, max_sentences: int) -> _Answer:
    answer = _Answer()
    finished = ""
    async with contextlib.aclosing(server.stream(request, seconds)) as choices:
        async for choice in choices:
            finished = choice.finish_reason or finished
            answer.text += choice.delta.content or ""
            for delta in choice.delta.tool_calls or ():
                answer.add(delta)
            if not answer.calls and len(answer.text) > 2 * max_sentences * MAX_SENTENCE_CHARACTERS:
                # More is not said, whatever follows.
                return answer
    if finished == "length" and answer.calls:
        raise LeadError("its call of a tool was cut off: let `max_tokens` be larger")
    return answer


async def _results(brief: Brief, calls: list[_Call]) -> tuple[list[Wish], list[dict[str, Any]] | None]:
    """Return an answer's wishes, and results of its calls; None if it is a lead."""
    wishes: list[Wish] = []
    results: list[dict[str, Any]] = []
    is_over = True
    for call in calls:
        told = "noted: call it again beside your other calls"
        try:
            if call.name == SEARCH_TOOL and brief.search is not None:
                is_over = False
                question = str(read_arguments(call.arguments).get("question", ""))[:MAX_PASSAGE_CHARACTERS].strip()
                found = await brief.search(question) if question else ""
                told = found[:MAX_PASSAGE_CHARACTERS] or _UNKNOWN
            else:
                wishes.append(read_call(brief.agent, brief.state, call.name, call.arguments, brief.now))
        except CallError as error:
            is_over, told = False, f"error: {error}"
        results.append({"role": "tool", "tool_call_id": call.id, "content": told})
    return wishes, None if is_over else results


def _as_message(answer: _Answer) -> dict[str, Any]:
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in answer.calls
    ]
    return {"role": "assistant", "content": answer.text, "tool_calls": calls}


def _messages(brief: Brief, form: LeadingModel) -> list[dict[str, Any]]:
    """Return instructions, what is under way, and the last turns."""
    state = brief.state
    known = [f"It is {brief.now:%A, %d %B %Y, %H:%M}."]
    known += [f"{name}: {value}" for name, value in state.parameters.items() if value]
    if state.form is not None:
        filled = ", ".join(f"{name} = {value.said}" for name, value in state.form.slots.items())
        known.append(f"Under way: {state.form.intent}{f' with {filled}' if filled else ''}.")
        asked = "a yes or no" if state.form.confirming else state.form.asked
        known.append(f"The caller was asked for {asked}." if asked else "")
    system = "\n\n".join((form.instructions, _RULES, SPOKEN, "\n".join(filter(None, known))))
    if brief.passage:
        system += f"\n\nFound in the documents:\n{brief.passage[:MAX_PASSAGE_CHARACTERS]}"
    shown = state.lines[-2 * form.turns :] if form.turns else ()
    messages = [{"role": "user" if line.is_caller else "assistant", "content": line.text} for line in shown]
    return [{"role": "system", "content": system}, *messages, {"role": "user", "content": brief.text}]


def _spoken(text: str, max_sentences: int) -> str:
    gathered = SpokenSentences()
    sentences = [*gathered.add(text), *gathered.rest()]
    return " ".join(sentences[:max_sentences])
