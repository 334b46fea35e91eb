"""A caller of an agent: says, types or presses something, and hears the replies.

Audio goes out at the pace of speech, with faint noise between what is said, as from a microphone.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

import vivavoce
from pipelines.dialog.rehearsal import CLOCK

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from numpy.typing import NDArray

RATE_HZ = 16_000
CHUNK = RATE_HZ // 20
"""Samples that are sent at a time: 50 ms."""
NOISE_RMS = 0.0005
QUIET_SECONDS = 1.2
"""After so long without a sound of the caller, and with all turns replied to, the agent has the floor."""
PATIENT_SECONDS = 30.0
BUDGET_SECONDS = 10.0
"""A budget that no turn overruns on a busy machine: what is judged is what is said, not when."""


class NoReplyError(RuntimeError):
    """The agent did not answer in time."""


@dataclass
class Heard:
    """What came of one thing that the caller did.

    Attributes:
        transcripts: what was recognized.
        replies: what the agent said, in order.
        turn_seconds: from the last sound to each reply, where that is known.
    """

    transcripts: list[str] = field(default_factory=list)
    replies: list[vivavoce.Reply] = field(default_factory=list)
    turn_seconds: list[float] = field(default_factory=list)

    @property
    def said(self) -> str:
        """All that the agent said."""
        return " ".join(reply.speech_text for reply in self.replies if reply.speech_text)

    @property
    def dialog(self) -> vivavoce.Dialog:
        """The dialog as it is now."""
        return next((one.dialog for one in reversed(self.replies) if one.dialog is not None), vivavoce.Dialog())

    @property
    def fulfilments(self) -> list[vivavoce.Fulfilment]:
        """What the caller's program is to carry out."""
        return [each for reply in self.replies if reply.dialog is not None for each in reply.dialog.fulfilments]

    @property
    def ends(self) -> str:
        """How the dialog ended: ``end`` or ``hand_over``; "": it goes on."""
        ends = [reply.dialog.end for reply in self.replies if reply.dialog is not None and reply.dialog.end is not None]
        return {"DONE": "end"}.get(ends[-1].value, ends[-1].value.lower()) if ends else ""


class Partner:
    """One side of a conversation; see :func:`talking`."""

    def __init__(self, agent: str) -> None:
        self._agent = agent
        self.greeting = ""
        self._said: asyncio.Queue[NDArray[np.float32] | vivavoce.TypedTurn | vivavoce.ConversationUpdate | None] = (
            asyncio.Queue()
        )
        self._noise = np.random.default_rng(0)
        self._speaking = 0
        self._open: set[int] = set()
        self._heard = Heard()
        self._changed = asyncio.Event()
        self._quiet_from = time.monotonic()
        self._error: BaseException | None = None
        self._ended = False
        self._conversation: vivavoce.Conversation | None = None
        self._awaited = 0

    async def say(self, samples: NDArray[np.float32]) -> Heard:
        """Says something, float32 ``[samples]`` at 16 kHz, and waits until the agent has answered all of it."""
        self._heard, self._awaited = Heard(), 1
        self._speaking += 1
        self._said.put_nowait(samples)
        return await self._answered()

    async def type(self, text: str) -> Heard:
        """Types something."""
        self._heard, self._awaited = Heard(), 1
        self._said.put_nowait(vivavoce.TypedTurn(text))
        return await self._answered()

    async def press(self, keys: str) -> Heard:
        """Presses keys."""
        assert self._conversation is not None
        self._heard, self._awaited = Heard(), 1
        self._conversation.press_keys(keys)
        return await self._answered()

    async def be_silent(self, seconds: float) -> Heard:
        """Says nothing for some time."""
        self._heard, self._awaited = Heard(), 0
        await asyncio.sleep(seconds)
        return self._heard

    def set_parameters(self, parameters: dict[str, str]) -> None:
        """Changes session parameters."""
        self._said.put_nowait(vivavoce.ConversationUpdate(parameters=parameters))

    async def sound(
        self, *, spoken: bool
    ) -> AsyncIterator[NDArray[np.float32] | vivavoce.TypedTurn | vivavoce.ConversationUpdate]:
        """What goes out: audio at the pace of speech, or typed turns alone."""
        due = time.monotonic()
        while True:
            try:
                one = self._said.get_nowait() if spoken else await self._said.get()
            except asyncio.QueueEmpty:
                one = np.empty(0, np.float32)
            if one is None:
                return
            if not isinstance(one, np.ndarray):
                yield one
                continue
            is_silence = not len(one)
            samples = np.concatenate([one, np.zeros(-len(one) % CHUNK or CHUNK * is_silence, np.float32)])
            for start in range(0, len(samples), CHUNK):
                piece = samples[start : start + CHUNK]
                yield np.clip(piece + self._noise.normal(0, NOISE_RMS, len(piece)), -1, 1).astype(np.float32)
                due = max(due + CHUNK / RATE_HZ, time.monotonic() - 1.0)
                await asyncio.sleep(max(0.0, due - time.monotonic()))
            if not is_silence:
                self._speaking -= 1
                self._quiet_from = time.monotonic()

    async def listen(self, conversation: vivavoce.Conversation) -> None:
        """Takes in what the service says, until it ends."""
        self._conversation = conversation
        try:
            async for event in conversation:
                self._take(event)
                self._changed.set()
        except vivavoce.VivavoceError as error:
            self._error = error
        finally:
            self._ended = True
            self._changed.set()

    def hang_up(self) -> None:
        """Says nothing more."""
        self._said.put_nowait(None)

    def _take(self, event: vivavoce.Event) -> None:
        match event:
            case vivavoce.Started():
                self.greeting = event.greeting
            case vivavoce.SpeechBegan():
                self._open.add(event.turn)
            case vivavoce.Transcript() if event.is_final:
                self._heard.transcripts.append(event.text)
            case vivavoce.Reply(status=vivavoce.ReplyStatus.PARTIAL):
                pass  # The whole follows.
            case vivavoce.Reply():
                self._open.discard(event.turn)
                self._heard.replies.append(event)
                self._quiet_from = time.monotonic()
                if event.turn_latency_seconds is not None:
                    self._heard.turn_seconds.append(event.turn_latency_seconds)

    async def _answered(self) -> Heard:
        end = time.monotonic() + PATIENT_SECONDS
        while True:
            if self._error is not None:
                raise self._error
            if self._ended:
                raise NoReplyError("the conversation has ended")
            heard = self._heard
            quiet = time.monotonic() - self._quiet_from
            is_over = not self._speaking and not self._open and len(heard.replies) >= self._awaited
            answered = not self._agent or any(reply.speech_text or reply.dialog for reply in heard.replies)
            if is_over and answered and (quiet >= QUIET_SECONDS or heard.ends or not heard.transcripts):
                return heard
            if time.monotonic() > end:
                raise NoReplyError(f"no answer came within {PATIENT_SECONDS:.0f} s; heard: {heard.transcripts}")
            self._changed.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), 0.1)


@asynccontextmanager
async def talking(
    client: vivavoce.Client, agent: str, *, spoken: bool, parameters: dict[str, str] | None = None
) -> AsyncIterator[Partner]:
    """Begins to talk to an agent, and hangs up in the end.

    Args:
        client: of the service.
        agent: by its name; "" for none.
        spoken: whether there is audio; else everything is typed.
        parameters: session parameters.
    """
    partner = Partner(agent)
    conversation = client.converse(
        partner.sound(spoken=spoken),
        audio=vivavoce.AudioFormat(sample_rate_hz=RATE_HZ) if spoken else None,
        agent=agent,
        session=vivavoce.Session(parameters=parameters) if parameters else None,
        reply_budget_seconds=BUDGET_SECONDS,
        # When scripts are held: "tomorrow" is always the same day.
        current_time=CLOCK,
    )
    async with conversation:
        listening = asyncio.create_task(partner.listen(conversation))
        try:
            yield partner
        finally:
            partner.hang_up()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(listening, PATIENT_SECONDS)
