"""One telephone call: a conversation in which an agent speaks, behind any switch."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from pipelines.audio.encoding import SpeechFormat
from pipelines.audio.formats import AudioFormat
from pipelines.data import messages
from pipelines.errors import InvalidInputError, PipelineError
from pipelines.models.contracts import TTS
from pipelines.session.config import ConversationConfig
from pipelines.speech.reply_voice import ReplyVoice
from pipelines.speech.script import sentences_of_text
from pipelines.speech.synthesis import Speech
from pipelines.turns.state import TurnSettings
from pipelines.vad.endpointing import EndpointingConfig
from pipelines.vad.turn_end import EndpointingMode
from service.sessions.driver import Opening, converse
from service.sessions.reply_queue import LEAD_SECONDS
from service.telephone.playout import Playout

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from pipelines.audio.formats import Encoding
    from pipelines.data.messages import Message
    from pipelines.session.conversation import Conversation
    from service.sessions.host import SessionHost
    from service.telephone.recordings import Recorder, Recording

logger = logging.getLogger(__name__)

TOGETHER_SECONDS = 0.02
"""Sound that is handed on at a time: a frame of most switches. More would be latency."""

_NO_TURN = 0
"""Of what is said outside of turns."""
LAST_WORDS_SECONDS = 30.0
"""Time for the last words of an agent to be heard before the call is ended."""


@dataclass(frozen=True, slots=True)
class Sound:
    """Audio from the caller."""

    audio: bytes


@dataclass(frozen=True, slots=True)
class Keys:
    """Keys that the caller has pressed."""

    pressed: str


class Switch(Protocol):
    """Requests to a telephone switch, whatever it speaks.

    Attributes:
        name: of the call.
    """

    name: str

    def events(self) -> AsyncIterator[Sound | Keys]:
        """Yield what comes of the caller, until the caller hangs up."""

    async def play(self, frame: bytes) -> None:
        """Send 20 ms of speech to the caller."""

    async def clear(self) -> None:
        """Throw away speech that the caller has not heard yet."""


@dataclass(frozen=True, slots=True)
class Line:
    """Line on which calls come: its sound, and the agent behind it.

    Attributes:
        encoding: of the audio, both ways.
        sample_rate_hz: samples a second.
        bytes_per_sample: of the encoding.
        agent: who answers; "": nobody, every turn stands alone.
        knowledge: knowledge bases that answers are looked for in.
        recording: how calls are recorded; None: they are not.
    """

    encoding: Encoding
    sample_rate_hz: int = 8_000
    bytes_per_sample: int = 2
    agent: str = ""
    knowledge: tuple[str, ...] = ()
    recording: Recording | None = None


class Call:
    """A call, from the first sound to the last.

    Args:
        host: makes the conversation.
        line: how it is answered.
        switch: the other side.
        session_id: names the session of the dialog; "": it ends with the call.
        parameters: session parameters, such as the caller's number.
    """

    def __init__(
        self,
        host: SessionHost,
        line: Line,
        switch: Switch,
        session_id: str = "",
        parameters: Mapping[str, str] | None = None,
    ) -> None:
        self._host, self._line, self._switch = host, line, switch
        self._session_id, self._parameters = session_id, parameters or {}
        self._hangs_up = asyncio.Event()
        self._conversation: Conversation | None = None
        self._last_turn = 0
        self._heard = b""
        self._least_bytes = round(TOGETHER_SECONDS * line.sample_rate_hz) * line.bytes_per_sample
        self._playout = Playout(line.sample_rate_hz * line.bytes_per_sample, self._play, self._played)
        self._recorder: Recorder | None = None
        spoken = SpeechFormat(line.encoding, line.sample_rate_hz)
        self._voice = ReplyVoice(spoken, host.choose_voice("", "call.voice"), lead_seconds=1.0)

    async def hold(self) -> None:
        """Hold the call until the caller hangs up, or the agent ends it.

        Raises:
            ReportedError: it cannot be held; see `StreamSession.run`.
        """
        host, line = self._host, self._line
        host.admission.check()
        config = ConversationConfig(
            AudioFormat(line.encoding, line.sample_rate_hz),
            TurnSettings(endpointing=EndpointingConfig(mode=EndpointingMode.MODEL), speculates=host.speculates),
            knowledge=host.bases_of(line.agent, line.knowledge, "call.knowledge"),
            reply_voice=self._voice,
        )
        playing = asyncio.create_task(self._playout.run(), name="playout")
        try:
            await converse(host, Opening(config, line.agent, self._session_id, self._parameters), self, self._events())
        finally:
            playing.cancel()
            await asyncio.wait((playing,))
            if self._recorder is not None:
                self._recorder.close()
        logger.info("a call has ended")

    async def opened(self, conversation: Conversation, _: str) -> None:
        """Take the conversation; see `Door`."""
        self._conversation = conversation
        logger.info("a call has begun")
        if self._line.recording is not None:
            await self._announce(self._line.recording, self._voice)

    async def _announce(self, recording: Recording, voice: ReplyVoice) -> None:
        """Say that the call is recorded; until that was heard, the caller is not."""
        host, line = self._host, self._line
        audio_format = AudioFormat(line.encoding, line.sample_rate_hz)
        self._recorder = recording.recordings.begin(self._session_id or self._switch.name, audio_format)
        sentences = sentences_of_text(recording.announcement, voice.lexicon, language=voice.voice.language)
        speech = Speech(host.models.get(TTS, voice.voice.variant), sentences, voice.seed, host.workload.bulk)
        async with contextlib.aclosing(speech.encoded(voice.audio_format)) as pieces:
            async for piece in pieces:
                self._playout.add(_NO_TURN, 0.0, piece.audio, is_last=False)
        await self._playout.silence()
        self._recorder.listen()

    async def _play(self, frame: bytes) -> None:
        if self._recorder is not None:
            self._recorder.speak(frame)
        await self._switch.play(frame)

    async def _events(self) -> AsyncIterator[Sound | Keys]:
        """Yield what comes of the caller, until one of the two hangs up."""
        events = aiter(self._switch.events())
        ending = asyncio.create_task(self._hangs_up.wait())
        try:
            while True:
                coming = asyncio.ensure_future(anext(events, None))
                await asyncio.wait((coming, ending), return_when=asyncio.FIRST_COMPLETED)
                if not coming.done():
                    coming.cancel()
                    await asyncio.wait((coming,))
                    return
                event = coming.result()
                if event is None:
                    return
                yield event
        finally:
            ending.cancel()

    async def take(self, event: Sound | Keys) -> None:
        """Hand on what comes of the caller; see `Door`."""
        assert self._conversation is not None
        match event:
            case Sound(audio):
                self._heard += audio
                if len(self._heard) >= self._least_bytes:
                    heard, self._heard = self._heard, b""
                    if self._recorder is not None:
                        self._recorder.hear(heard)
                    await self._conversation.add_audio(heard)
            case Keys(pressed):
                # Without an agent nobody has asked for keys.
                with contextlib.suppress(InvalidInputError):
                    self._conversation.dialog.press(pressed)

    async def tell(self, _: int, message: Message) -> None:
        """Play what the agent says; see `Door`."""
        match message:
            case messages.ReplyAudio(turn, audio, start_seconds, is_last):
                self._playout.add(turn, start_seconds, audio, is_last=is_last)
            case messages.ReplyHeld(turn):
                self._playout.hold(turn)
                await self._switch.clear()
            case messages.ReplyResumed(turn):
                self._playout.resume(turn)
            case messages.Interrupted(turn):
                self._playout.drop(turn)
                await self._switch.clear()
                if turn == self._last_turn:
                    self._hangs_up.set()
            case messages.Reply(turn=turn, dialog=dialog) if dialog is not None and dialog.ends:
                # The caller hears the last words; then the line is given back.
                self._last_turn = turn
                left = LAST_WORDS_SECONDS if message.speech_text else 0.0
                asyncio.get_running_loop().call_later(left, self._hangs_up.set)

    def _played(self, turn: int, seconds: float, is_all: bool) -> None:
        assert self._conversation is not None
        # What was interrupted meanwhile is played no more.
        with contextlib.suppress(PipelineError):
            self._conversation.speech.report_playback(turn, seconds, finished=is_all)
        if is_all and turn == self._last_turn:
            asyncio.get_running_loop().call_later(LEAD_SECONDS, self._hangs_up.set)
