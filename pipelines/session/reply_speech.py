"""Spoken replies of a conversation: tasks that synthesize, encode and send."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pipelines.audio.encoding import SpeechEncoder
from pipelines.audio.formats import SPEECH_RATE_HZ
from pipelines.data.messages import ReplyAudio
from pipelines.data.speech import Mark
from pipelines.data.stages import SPEECH
from pipelines.errors import InvalidInputError, ModelError
from pipelines.models.contracts import TTS
from pipelines.speech.reply_voice import DEFAULT_LEAD_SECONDS
from pipelines.speech.script import sentences_of_text
from pipelines.speech.synthesis import Speech, encode, parts
from pipelines.turns import events, speech_effects
from pipelines.unexpected_errors import MISTAKE, log_mistake

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np
    import numpy.typing as npt

    from pipelines.models.bulk import BulkGate
    from pipelines.models.ports import Models
    from pipelines.models.synthesis_port import Synthesizer
    from pipelines.session.config import ConversationConfig
    from pipelines.session.outbox import Outbox
    from pipelines.speech.reply_voice import ReplyVoice
    from pipelines.turns.state import State

logger = logging.getLogger(__name__)


_NOTHING_SECONDS = 1e-3
"""What remains of a wait after rounding, and is too short for a clock to tell."""

_PIECE_SECONDS = 0.08
_PIECE_SAMPLES = round(_PIECE_SECONDS * SPEECH_RATE_HZ)


@dataclass(eq=False)
class _SpokenReply:
    """One reply that is spoken, or prepared."""

    turn: int
    text: str
    started: asyncio.Event = field(default_factory=asyncio.Event)
    flowing: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None
    sent_seconds: float = 0.0
    is_heard: bool = False


class ReplySpeech:
    """The spoken replies of one conversation.

    Args:
        config: how the conversation is held.
        models: one of them speaks.
        bulk: sentences after the first wait here for replies that are due.
        outbox: takes the audio.
        state: returns the state of the conversation's machine.
        on_event: called with what becomes of them.
        on_failure: called with the turn that cannot be spoken, the name of the stage, why, and the event for it.

    Attributes:
        on_first_audio: called with the turn and the time when the first audio of a reply goes out.
    """

    def __init__(
        self,
        config: ConversationConfig,
        models: Models,
        bulk: BulkGate,
        outbox: Outbox,
        state: Callable[[], State],
        on_event: Callable[[events.Event], None],
        on_failure: Callable[[int, str, ModelError, events.Event], None],
    ) -> None:
        self._voice = config.reply_voice
        self._lead_seconds = config.reply_voice.lead_seconds if config.reply_voice else DEFAULT_LEAD_SECONDS
        self._models, self._bulk, self._outbox = models, bulk, outbox
        self._state, self._on_event, self._on_failure = state, on_event, on_failure
        self.on_first_audio: Callable[[int, float], None] = lambda *_: None
        self._loop = asyncio.get_running_loop()
        self._spoken: dict[int, _SpokenReply] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._hurried = asyncio.Event()
        self._buffered_until = 0.0
        self._reported: dict[int, float] = {}

    def report_playback(self, turn: int, seconds: float, *, finished: bool) -> None:
        """Take in how far the caller has played the reply of a turn.

        Raises:
            InvalidInputError: replies are not spoken, there is no such turn, or the position runs backwards.
        """
        self._check(turn, "playback", least=1)
        before = self._reported.get(turn, 0.0)
        if seconds < before:
            message = f"playback of turn {turn} went back from {before:g} s to {seconds:g} s: send how far it has come"
            raise InvalidInputError("playback.position", "PLAYBACK_RUNS_BACKWARDS", message)
        self._reported = {turn: seconds}
        now = self._loop.time()
        spoken = self._spoken.get(turn)
        if spoken is not None:
            self._buffered_until = now + max(0.0, spoken.sent_seconds - seconds)
        self._on_event(events.PlaybackReported(turn, seconds, finished, now))

    def cancel(self, turn: int) -> None:
        """Stop the speech of a turn; turn 0: the present one and those waiting.

        Raises:
            InvalidInputError: replies are not spoken, or there is no such turn.
        """
        self._check(turn, "cancel_reply", least=0)
        self._on_event(events.CancelRequested(turn, self._loop.time()))

    def stop_at(self, turn: int, seconds: float) -> None:
        """Stop the speech of a turn's reply, of which the caller has played so much."""
        heard = max(seconds, self._reported.get(turn, 0.0))
        self.report_playback(turn, heard, finished=False)
        self.cancel(turn)

    def perform(self, effect: speech_effects.SpeechEffect) -> None:
        """Carry out what the machine decided."""
        match effect:
            case speech_effects.PrepareSpeech(turn, text):
                self._prepare(turn, text)
            case speech_effects.StartSpeech(turn, text):
                self._prepare(turn, text)
                spoken = self._spoken[turn]
                spoken.started.set()
                spoken.flowing.set()
            case speech_effects.HoldSpeech(turn):
                if turn in self._spoken:
                    self._spoken[turn].flowing.clear()
            case speech_effects.ResumeSpeech(turn):
                if turn in self._spoken:
                    self._spoken[turn].flowing.set()
            case speech_effects.DropSpeech(turn) | speech_effects.StopSpeech(turn):
                self._stop(turn)
            case speech_effects.HurrySpeech():
                self._hurried.set()

    def cancel_all(self) -> None:
        """Stop all speech."""
        for turn in tuple(self._spoken):
            self._stop(turn)

    async def wait(self) -> None:
        """Wait until all speech is over."""
        if self._tasks:
            await asyncio.wait(tuple(self._tasks))

    def _check(self, turn: int, field_name: str, *, least: int) -> None:
        if self._voice is None:
            message = f"{field_name} came, but replies are not spoken: send reply_audio in the config"
            raise InvalidInputError(field_name, "NO_REPLY_AUDIO", message)
        if not least <= turn < self._state().next_turn:
            message = f"there is no turn {turn}: send the number of one that was told"
            raise InvalidInputError(f"{field_name}.turn", "UNKNOWN_TURN", message)

    def _prepare(self, turn: int, text: str) -> None:
        """Begin to synthesize a text, unless that has been begun."""
        assert self._voice is not None
        known = self._spoken.get(turn)
        if known is not None and known.text == text:
            return
        self._stop(turn)
        spoken = _SpokenReply(turn, text)
        task = asyncio.create_task(self._speak(spoken, self._voice), name=f"speech-{turn}")
        self._spoken[turn] = spoken
        spoken.task = task
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _stop(self, turn: int) -> None:
        spoken = self._spoken.pop(turn, None)
        if spoken is not None and spoken.task is not None:
            self._outbox.withdraw(lambda message: isinstance(message, ReplyAudio) and message.turn == turn)
            self._buffered_until = 0.0 if spoken.started.is_set() else self._buffered_until
            if spoken.task is not asyncio.current_task():
                spoken.task.cancel()

    async def _speak(self, spoken: _SpokenReply, voice: ReplyVoice) -> None:
        try:
            await self._send_all(spoken, voice)
        except ModelError as error:
            await self._fail(spoken, error)
        except Exception as error:  # noqa: BLE001 - the conversation goes on without speech
            log_mistake(logger, "a reply could not be spoken", error)
            await self._fail(spoken, ModelError(MISTAKE))
        if self._spoken.get(spoken.turn) is spoken:
            del self._spoken[spoken.turn]

    async def _fail(self, spoken: _SpokenReply, error: ModelError) -> None:
        await spoken.started.wait()
        if self._spoken.get(spoken.turn) is spoken:
            if spoken.sent_seconds:
                self._outbox.put(ReplyAudio(spoken.turn, b"", spoken.sent_seconds, is_last=True))
            self._on_failure(spoken.turn, SPEECH, error, events.SpeechFailed(spoken.turn, str(error)))

    async def _send_all(self, spoken: _SpokenReply, voice: ReplyVoice) -> None:
        """Send a reply's audio as it is synthesized; before the start, prepare it."""
        sentences = sentences_of_text(spoken.text, voice.lexicon, voice.speed, language=voice.voice.language)
        model: Synthesizer = self._models.get(TTS, voice.voice.variant)
        speech = Speech(model, sentences, voice.seed, self._bulk)
        encoder, position = SpeechEncoder(voice.audio_format), 0
        marks: tuple[Mark, ...] = ()
        async with contextlib.aclosing(speech.samples(spoken.started.wait)) as pieces:
            async for samples, begins in pieces:
                if begins is not None:
                    marks = (*marks, Mark(begins.text, position / SPEECH_RATE_HZ))
                for piece in _pieces(samples):
                    encoded = await encode(encoder, piece)
                    await self._may_send(spoken)
                    position += len(piece)
                    self._send(spoken, encoded, position / SPEECH_RATE_HZ, marks)
                    marks = ()
        rest = encoder.flush()
        await self._may_send(spoken)
        self._send(spoken, rest, position / SPEECH_RATE_HZ, marks, is_last=True)

    def _send(
        self, spoken: _SpokenReply, encoded: bytes, end: float, marks: tuple[Mark, ...], *, is_last: bool = False
    ) -> None:
        """Hand a piece, which reaches up to ``end``, on to the caller."""
        start, now = spoken.sent_seconds, self._loop.time()
        if encoded and not spoken.is_heard:
            spoken.is_heard = True
            self.on_first_audio(spoken.turn, now)
        *most, last = [*parts(encoded)] or [b""]
        for part in most:
            self._outbox.put(ReplyAudio(spoken.turn, part, start))
        if last or is_last:
            # An encoder may keep a piece back; with the next one it comes.
            self._outbox.put(ReplyAudio(spoken.turn, last, start, is_last=is_last))
        spoken.sent_seconds = end
        self._buffered_until = max(now, self._buffered_until) + end - start
        self._on_event(events.SpeechSent(spoken.turn, end - start, now, marks, is_last))

    async def _may_send(self, spoken: _SpokenReply) -> None:
        """Wait until a reply may go on: spoken, not held, read, and little unplayed."""
        while True:
            await spoken.flowing.wait()
            lead = self._buffered_until + _PIECE_SECONDS - self._loop.time() - self._lead_seconds
            if self._outbox.is_waiting:
                await self._outbox.emptied()
            elif lead > _NOTHING_SECONDS and not self._hurried.is_set():
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(lead):
                        await self._hurried.wait()
            else:
                return


def _pieces(samples: npt.NDArray[np.float32]) -> Iterator[npt.NDArray[np.float32]]:
    for start in range(0, len(samples), _PIECE_SAMPLES):
        yield samples[start : start + _PIECE_SAMPLES]
