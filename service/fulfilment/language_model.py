"""Language model: OpenAI's ``/chat/completions``, spoken as it streams."""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pipelines.data.dialog.events import Fulfilled, Progressed
from service.fulfilment.chat_completions import MAX_PASSAGE_CHARACTERS, SPOKEN, ChatCompletions
from service.fulfilment.http_calls import CallFailedError
from service.fulfilment.spoken_sentences import MAX_SENTENCE_CHARACTERS, SpokenSentences

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable

    from pipelines.data.dialog.actions import Fulfil
    from pipelines.dialog.agent.fulfilments import LanguageModel
    from service.fulfilment.http_calls import HttpCalls

_UNSPOKEN_SENTENCES = 8
"""Room in an answer for Markdown and what else is not spoken."""


@dataclass(frozen=True, slots=True)
class LanguageModelFulfiller:
    """Asks a language model; see ``pipelines.dialog.fulfilment``.

    Attributes:
        form: what it is asked for.
        calls: makes requests.
        url: of the API, such as ``http://localhost:11434/v1``.
        key: API key; "": none is sent.
        clock: time in seconds, which never goes back.
    """

    form: LanguageModel
    calls: HttpCalls
    url: str
    key: str = field(default="", repr=False)
    clock: Callable[[], float] = time.monotonic

    async def carry_out(self, task: Fulfil, session: str) -> AsyncIterator[Progressed | Fulfilled]:  # noqa: ARG002 - of the port
        """Say the sentences of the model one by one.

        Args:
            task: what is to be done, with what was said last and what was found in documents.
            session: the dialog's name among all dialogs, which the model is not told.

        Raises:
            CallFailedError: the model says nothing, or its answer breaks off.
        """
        said = 0
        async with contextlib.aclosing(self._sentences(task)) as sentences:
            async for sentence in sentences:
                said += 1
                yield Progressed(self.clock(), task.number, sentence)
                if said == self.form.max_sentences:
                    break
        if not said:
            raise CallFailedError("the language model says nothing")
        yield Fulfilled(self.clock(), task.number)

    async def _sentences(self, task: Fulfil) -> AsyncGenerator[str, None]:
        gathered = SpokenSentences()
        finished, left = "", (self.form.max_sentences + _UNSPOKEN_SENTENCES) * MAX_SENTENCE_CHARACTERS
        server = ChatCompletions(self.calls, self.url, self.key)
        request = _request(self.form, task)
        async with contextlib.aclosing(server.stream(request, self.form.deadline_seconds)) as choices:
            async for choice in choices:
                finished = choice.finish_reason or finished
                content = (choice.delta.content or "")[:left]
                left -= len(content)
                for sentence in gathered.add(content):
                    yield sentence
                    await asyncio.sleep(0)
                if not left:
                    # Rows of marks are no sentences, and would go on until the deadline.
                    return
        if finished != "length":
            for sentence in gathered.rest():
                yield sentence


def _request(form: LanguageModel, task: Fulfil) -> dict[str, object]:
    """Return the request: instructions, session, answer and last turns."""
    known = [f"Wish of the caller: {task.intent}"]
    known += [f"{name}: {value}" for name, value in {**task.parameters, **task.slots}.items() if value]
    system = f"{form.instructions}\n\n{SPOKEN}\n\n" + "\n".join(known)
    if task.passage:
        system += f"\n\nFound in the documents:\n{task.passage[:MAX_PASSAGE_CHARACTERS]}"
    messages = [{"role": "system", "content": system}]
    lines = task.lines
    if not lines or not lines[-1].is_caller:
        # Keys and confirmations have no words of their own; models want to be asked.
        messages.append({"role": "user", "content": "; ".join(known)})
    else:
        shown = lines[-(2 * form.turns + 1) :]
        messages += [{"role": "user" if line.is_caller else "assistant", "content": line.text} for line in shown]
    request: dict[str, object] = {"model": form.model, "messages": messages}
    return request if form.temperature is None else {**request, "temperature": form.temperature}
