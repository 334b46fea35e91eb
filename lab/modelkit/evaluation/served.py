"""The engines behind a running service, as its callers reach them."""

from __future__ import annotations

import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import vivavoce
from engines.bert.intent_decoding import NO_INTENT, Understanding
from engines.bert.slots import Slot
from modelkit.errors import EngineError
from modelkit.evaluation.engines import Turn
from modelkit.evaluation.partials import Followed

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from modelkit.evaluation.recordings import Clip

_PATIENT_SECONDS = 60.0
"""A budget that no turn overruns: what is judged is what is answered, not when."""


@asynccontextmanager
async def connected(connect: Callable[[], vivavoce.Client]) -> AsyncIterator[ServedEngines]:
    """Connects to a running service."""
    async with connect() as client:
        yield ServedEngines(client)


class ServedEngines:
    """Asks a running service (:class:`modelkit.evaluation.engines.TextEngines` and ``SpeechEngines``).

    Its methods raise :class:`vivavoce.VivavoceError`, and :class:`modelkit.errors.EngineError` where a stage failed.
    """

    def __init__(self, client: vivavoce.Client) -> None:
        self._client = client

    async def understand(self, text: str) -> Understanding:
        """Finds intent and slots of ``text``."""
        reply = _whole(await self._client.ask(text, reply_budget_seconds=_PATIENT_SECONDS))
        slots = tuple(Slot(slot.name, slot.start, slot.end) for slot in reply.slots)
        intent = reply.intent or vivavoce.Intent(NO_INTENT, 0.0)
        kind = "" if intent.kind is vivavoce.UtteranceKind.UNSPECIFIED else intent.kind.value.lower()
        return Understanding(intent.name, intent.confidence, slots, kind, intent.negated)

    async def answer(self, question: str, document: str) -> str:
        """Finds the answer; "" where the document holds none."""
        reply = _whole(await self._client.ask(question, documents=[document], reply_budget_seconds=_PATIENT_SECONDS))
        return reply.answer.text if reply.answer else ""

    async def hear(self, clip: Clip, hints: Sequence[vivavoce.PhraseHints], *, one_utterance: bool) -> list[Turn]:
        """Sends a recording as fast as the service takes it; returns its turns."""
        conversation = self._client.converse(
            clip.chunks(),
            audio=vivavoce.AudioFormat(sample_rate_hz=clip.sample_rate_hz),
            endpointing=vivavoce.Endpointing(disabled=True) if one_utterance else None,
            phrase_hints=hints,
            reply_budget_seconds=_PATIENT_SECONDS,
            # What is judged is what the hints that are given here bring.
            ignore_engine_hints=True,
        )
        replies = [event async for event in conversation if isinstance(event, vivavoce.Reply)]
        return [_turn(_whole(reply)) for reply in replies if reply.status is not vivavoce.ReplyStatus.PARTIAL]

    async def follow(self, clip: Clip) -> list[Followed]:
        """Sends a recording at the pace of speech; returns its turns with all that was told of them."""
        began = time.monotonic()
        conversation = self._client.converse(
            vivavoce.pace(clip.chunks(), clip.sample_rate_hz),
            audio=vivavoce.AudioFormat(sample_rate_hz=clip.sample_rate_hz),
            interim_results=True,
            reply_budget_seconds=_PATIENT_SECONDS,
        )
        partials: dict[int, list[tuple[float, str]]] = {}
        finals: dict[int, str] = {}
        async for event in conversation:
            if isinstance(event, vivavoce.Transcript) and event.is_final:
                finals[event.turn] = event.text
            elif isinstance(event, vivavoce.Transcript):
                after_onset = time.monotonic() - began - event.start_seconds
                partials.setdefault(event.turn, []).append((after_onset, event.text))
        return [Followed(tuple(partials.get(turn, ())), text) for turn, text in finals.items()]

    async def texts(self, clip: Clip) -> list[str]:
        """Sends a recording as fast as the service takes it; returns the final texts."""
        return [turn.transcript for turn in await self.hear(clip, (), one_utterance=False)]


def _whole(reply: vivavoce.Reply) -> vivavoce.Reply:
    if reply.status is vivavoce.ReplyStatus.PARTIAL:
        late = " and ".join(stage.value for stage in reply.overran)
        raise EngineError(
            f"the service's {late} took more than {_PATIENT_SECONDS:.0f} s for an item; see what holds it up"
        )
    if reply.status is not vivavoce.ReplyStatus.COMPLETE:
        raise EngineError("a stage of the service failed on an item; its log says which and why")
    return reply


def _turn(reply: vivavoce.Reply) -> Turn:
    intent = reply.intent.name if reply.intent else NO_INTENT
    return Turn(reply.transcript, intent, tuple((slot.name, slot.value) for slot in reply.slots))
