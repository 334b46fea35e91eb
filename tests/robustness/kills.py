"""Utterances during which Triton or the process of a model is killed, or stopped as one that hangs is."""

from __future__ import annotations

import asyncio
import signal
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import psutil

import vivavoce

if TYPE_CHECKING:
    from demo.manifest import Utterance

TRITON = "tritonserver"
NOT_READY = "NOT_READY"
SIGNALS = {"kill": signal.SIGKILL, "stop": signal.SIGSTOP}
MAX_SECONDS = 90.0
_BUDGET_SECONDS = 1.0


@dataclass
class Heard:
    """What came of one utterance.

    Attributes:
        transcripts: the final ones.
        statuses: those of its replies.
        notices: their codes.
        late_seconds: from the end of the audio to the reply.
        error: what ended the conversation, if something did.
    """

    transcripts: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    late_seconds: float | None = None
    error: str = ""

    def is_whole(self, reference: Heard) -> bool:
        """Whether it was answered once and with as many words as without a kill."""
        return self.transcripts == reference.transcripts and self.statuses == ("COMPLETE",) and not self.error


def process_of(service: int, name: str) -> psutil.Process:
    """Returns the process of a service that runs Triton, or the first instance of a model."""
    family = psutil.Process(service).children(recursive=True)
    family = [one for one in family if one.status() != psutil.STATUS_ZOMBIE]
    if name == TRITON:
        return next(one for one in family if one.name() == TRITON)
    return next(one for one in family if f"{name}_0_0" in one.cmdline())


async def say(
    client: vivavoce.Client, utterance: Utterance, victim: psutil.Process | None, how: str, at: float
) -> Heard:
    """Says an utterance at the pace of speech, and sends a process a signal meanwhile.

    Args:
        client: the service.
        utterance: what is said.
        victim: the process; None: all are left alone.
        how: the name of the signal.
        at: when it comes, as a share of the utterance; not at all if the caller is refused.
    """
    recording = vivavoce.read_audio(utterance.path)
    heard, ended_at = Heard(), time.monotonic() + recording.duration_seconds

    async def disturb() -> None:
        await asyncio.sleep(at * recording.duration_seconds)
        if victim is not None:
            victim.send_signal(SIGNALS[how])

    disturbing = asyncio.create_task(disturb())
    speech = vivavoce.pace(recording.chunks(), recording.sample_rate_hz)
    documents = utterance.documents()
    try:
        async with asyncio.timeout(MAX_SECONDS):
            async for event in client.converse(
                speech, audio=recording.format, documents=documents, reply_budget_seconds=_BUDGET_SECONDS
            ):
                match event:
                    case vivavoce.Transcript(text=text, is_final=True):
                        heard.transcripts += (text,)
                    case vivavoce.Reply(status=status):
                        heard.statuses += (status.value,)
                        heard.late_seconds = time.monotonic() - ended_at
                    case vivavoce.Notice(code=code):
                        heard.notices += (code.value,)
    except (vivavoce.VivavoceError, TimeoutError) as error:
        heard.error = getattr(error, "reason", "") or type(error).__name__
    finally:
        if heard.error == NOT_READY:
            disturbing.cancel()
        await asyncio.wait([disturbing])
    return heard


async def say_when_let_in(
    client: vivavoce.Client, utterance: Utterance, victim: psutil.Process | None, how: str, at: float
) -> Heard:
    """Says an utterance, anew where it was refused at the door: the end of a model may be noticed only then."""
    heard = await say(client, utterance, victim, how, at)
    while heard.error == NOT_READY:
        await until_it_answers(client)
        heard = await say(client, utterance, victim, how, at)
    return heard


async def until_it_answers(client: vivavoce.Client, seconds: float = 60.0) -> None:
    """Waits until the service has answered a question whole."""
    document = vivavoce.Document("The ferry leaves at nine.")
    async with asyncio.timeout(seconds):
        while True:
            try:
                reply = await client.ask("when does the ferry leave", documents=[document], reply_budget_seconds=2)
                if reply.status is vivavoce.ReplyStatus.COMPLETE:
                    return
            except vivavoce.VivavoceError:
                pass
            await asyncio.sleep(0.2)
