"""Asks questions, aloud or typed, and notes when which answer came."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import vivavoce
from benchmarks.sla.pace import FORMAT, Microphone
from benchmarks.sla.scripts import spoken
from benchmarks.speechsquad.questions import Ending

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from benchmarks.speechsquad.questions import Plan, Turn
    from modelkit.squad import Question

PATIENCE_SECONDS = 10.0
"""Budget of every reply: nothing is cut off, so that the time measured is that of the answer, not of a deadline."""
_PUSH_TO_TALK = vivavoce.Endpointing(disabled=True)


@dataclass(slots=True)
class Asked:
    """What became of a spoken question. Latencies are in seconds, None where nothing came.

    Attributes:
        question: what was asked.
        transcript: what was understood.
        text: the answer, "" where none was found.
        answer: last audio chunk of the question to the reply that carries the answer: SpeechSquad's latency. Where
            the service has to find the end, the silence that it waits for is a part of it.
        first_text: last audio chunk of the question to the final transcript.
        reply: end of the utterance to the reply, by the client's own clock.
        replies: how many came; more than one where the service took a pause for the end.
        speculated: whether the answer was worked out during the silence.
        error: gRPC status, or name of the error, that ended the conversation.
        late_sending: the longest that sending lagged behind the pace of speech.
    """

    question: Question
    transcript: str = ""
    text: str = ""
    answer: float | None = None
    first_text: float | None = None
    reply: float | None = None
    replies: int = 0
    speculated: bool = False
    error: str | None = None
    late_sending: float = 0.0


def prepare_to_ask(address: str, plan: Plan) -> Callable[[], Awaitable[list[Asked]]]:
    """Makes of a plan what its stream does: it asks."""
    return partial(ask_aloud, address, plan)


async def ask_aloud(address: str, plan: Plan) -> list[Asked]:
    """Asks the questions of one stream when their time has come, whatever became of those before."""
    begun = time.monotonic()
    async with vivavoce.connect(address) as client:

        async def ask_in_time(turn: Turn) -> Asked:
            await asyncio.sleep(max(0.0, begun + turn.script.arrival_seconds - time.monotonic()))
            return await _ask(client, turn, plan.ending)

        return list(await asyncio.gather(*map(ask_in_time, plan.turns)))


async def ask_typed(address: str, questions: Sequence[Question]) -> dict[str, str]:
    """Types questions, one after another; returns the answers by the questions' identifiers."""
    async with vivavoce.connect(address) as client:
        replies = {
            question.id: await client.ask(
                question.text, documents=[question.context], reply_budget_seconds=PATIENCE_SECONDS
            )
            for question in questions
        }
    return {identifier: _text(reply) for identifier, reply in replies.items()}


async def _ask(client: vivavoce.Client, turn: Turn, ending: Ending) -> Asked:
    push_to_talk = ending is Ending.PUSH_TO_TALK
    asked = Asked(turn.question)
    microphone = Microphone(spoken(turn.script))
    last_chunk_seconds = turn.last_sound_seconds + (ending.trail_seconds if push_to_talk else 0.0)
    events = client.converse(
        microphone.chunks(),
        audio=FORMAT,
        interim_results=True,
        endpointing=_PUSH_TO_TALK if push_to_talk else None,
        documents=[turn.question.context],
        reply_budget_seconds=PATIENCE_SECONDS,
    )
    try:
        async for event in events:
            _note(asked, event, time.monotonic(), partial(microphone.sent_at, last_chunk_seconds))
    except vivavoce.VivavoceError as error:
        asked.error = error.code if isinstance(error, vivavoce.ServerError) else type(error).__name__
    asked.late_sending = microphone.late_seconds
    return asked


def _note(asked: Asked, event: vivavoce.Event, now: float, last_chunk: Callable[[], float]) -> None:
    """Notes an event; where a question was taken for several, the last reply counts."""
    match event:
        case vivavoce.Transcript(is_final=True):
            asked.transcript = f"{asked.transcript} {event.text}".strip()
            asked.first_text = now - last_chunk()
        case vivavoce.Reply():
            asked.replies += 1
            asked.text = _text(event)
            asked.answer = now - last_chunk()
            asked.reply = event.client_latency_seconds
            asked.speculated = event.speculated
        case _:
            pass


def _text(reply: vivavoce.Reply) -> str:
    return reply.answer.text if reply.answer else ""
