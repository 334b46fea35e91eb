"""Scripts of fake services, turn by turn."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import grpc

from vivavoce._config import AudioFormat, Encoding
from vivavoce._events import EndReason, Event, Notice, NoticeCode, SpeechBegan, SpeechEnded, Started, Transcript
from vivavoce._pauses import SpeechPaused, SpeechResumed
from vivavoce._reply import Answer, Latency, Reply, ReplyStatus, Stage
from vivavoce._spoken import Interrupted, InterruptionReason, ReplyAudio
from vivavoce._understood import Intent, Slot
from vivavoce.testing._messages import abort, reply_of, response_of
from vivavoce.v1 import conversation_pb2 as pb
from vivavoce.v1 import reply_pb2

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vivavoce._errors import VivavoceError

Script: TypeAlias = Callable[[Iterator[pb.ConverseRequest], grpc.ServicerContext], Iterator[pb.ConverseResponse]]
"""Behaviour of a service in a conversation, in messages of `vivavoce.v1`; made by `scripted`, or by hand."""

Answers: TypeAlias = Callable[[pb.AskRequest, grpc.ServicerContext], reply_pb2.Reply]
"""Answer of a service to `Client.ask`; made by `answering`, or by hand."""

_NO_INTENT = Intent("none", 1.0)
_NO_LATENCY = Latency(0.0, ())
_ROUNDING_SECONDS = 1e-6
_WORD_SECONDS = 0.1
_SAMPLE_BYTES = {pb.AUDIO_ENCODING_MULAW: 1, pb.AUDIO_ENCODING_ALAW: 1, pb.AUDIO_ENCODING_LINEAR_PCM_FLOAT32: 4}


@dataclass(frozen=True)
class Turn:
    """Utterance of a fake service's script, with its reply."""

    transcript: str
    """The final transcript; of a typed turn, the text that is answered so."""
    partials: tuple[str, ...] = ()
    """Transcripts that are told before, if `interim_results` are wanted."""
    pauses: tuple[tuple[str, float], ...] = ()
    """Pauses that are told before, each as the text so far and the probability that the turn is over. Speech goes on
    after each whose text is not the final transcript."""
    intent: Intent | None = _NO_INTENT
    """Intent of the reply."""
    slots: tuple[Slot, ...] = ()
    """Slots of the reply."""
    answer: Answer | None = None
    """Answer of the reply."""
    status: ReplyStatus = ReplyStatus.COMPLETE
    """Status of the reply."""
    overran: tuple[Stage, ...] = ()
    """Stages that the reply lacks."""
    latency: Latency = _NO_LATENCY
    """Latency that the reply tells."""
    speculated: bool = False
    """Whether the reply was worked out in the silence."""
    audio_seconds: float | None = None
    """How much audio the utterance takes until silence ends it; None: it lasts until it is ended, or the audio ends."""
    notices: tuple[tuple[NoticeCode, str], ...] = ()
    """Notices that go before the reply."""
    delay_seconds: float = 0.0
    """How long the reply takes."""
    error: VivavoceError | None = None
    """Raised in the client in place of the reply: the call ends."""
    speech_text: str = ""
    """What is spoken of the reply, where speech is asked for: a tenth of a second of silence for each word."""
    interrupted_after_words: int | None = None
    """The spoken reply is interrupted when so many words were heard; None: it is heard to its end."""
    results: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, hash=False)
    """What stages of the server's own found, by their names."""

    def spoken(self, number: int, sample_rate_hz: int, sample_bytes: int) -> Iterator[ReplyAudio | Interrupted]:
        """Yield the spoken reply to turn `number`, in the format that was asked for."""
        words = self.speech_text.split()
        piece = bytes(sample_bytes * round(_WORD_SECONDS * sample_rate_hz))
        heard = words[: self.interrupted_after_words]
        for at, _ in enumerate(heard):
            is_last = at + 1 == len(words) and self.interrupted_after_words is None
            yield ReplyAudio(number, piece, at * _WORD_SECONDS, is_last)
        if self.interrupted_after_words is not None:
            yield Interrupted(number, len(heard) * _WORD_SECONDS, " ".join(heard), InterruptionReason.SPEECH)

    def reply(self, number: int, text: str, request_id: str = "") -> Reply:
        """Return the reply, to turn `number` in which `text` was said or typed."""
        return Reply(
            turn=number,
            transcript=text,
            intent=self.intent,
            slots=self.slots,
            answer=self.answer,
            status=self.status,
            overran=self.overran,
            latency=self.latency,
            speculated=self.speculated,
            request_id=request_id,
            speech_text=self.speech_text,
            results=self.results,
        )


def scripted(*turns: Turn, repeated: bool = False) -> Script:
    """Make the script of conversations with these turns.

    Each utterance is the next turn; behind the last one nobody is heard. A typed turn is answered as the turn with
    its text, or else by a reply without intent.

    Args:
        turns: The turns of a conversation, in order.
        repeated: Whether the turns begin anew behind the last one.
    """

    def script(requests: Iterator[pb.ConverseRequest], context: grpc.ServicerContext) -> Iterator[pb.ConverseResponse]:
        spoken = itertools.cycle(turns) if repeated else iter(turns)
        try:
            yield from map(response_of, _Conversation(turns, spoken).events(requests))
        except _ScriptedError as scripted_error:
            abort(context, scripted_error.error)

    return script


def answering(*turns: Turn) -> Answers:
    """Make the answers to `Client.ask`: of the turn with its text, or no intent."""

    def answer(request: pb.AskRequest, context: grpc.ServicerContext) -> reply_pb2.Reply:
        turn = _turn_of(turns, request.text)
        time.sleep(turn.delay_seconds)
        if turn.error is not None:
            abort(context, turn.error)
        return reply_of(turn.reply(1, request.text))

    return answer


def failing(error: VivavoceError) -> Script:
    """Make the script of a service that refuses conversations with `error`."""

    def script(requests: Iterator[pb.ConverseRequest], context: grpc.ServicerContext) -> Iterator[pb.ConverseResponse]:
        next(requests, None)
        abort(context, error)
        yield  # It is a generator, as gRPC expects.

    return script


class _ScriptedError(Exception):
    def __init__(self, error: VivavoceError) -> None:
        super().__init__(error)
        self.error = error


class _Conversation:
    """One conversation that goes by a script."""

    def __init__(self, known: tuple[Turn, ...], spoken: Iterator[Turn]) -> None:
        self._known = known
        self._spoken = spoken
        self._format = AudioFormat()
        self._interim = False
        self._voice: pb.ReplyAudioConfig | None = None
        self._number = 0
        self._position = self._began = 0.0
        self._turn: Turn | None = None
        self._spoken_number = 0

    def events(self, requests: Iterator[pb.ConverseRequest]) -> Iterator[Event]:
        for request in requests:
            match request.WhichOneof("request"):
                case "config":
                    self._configure(request.config)
                    yield Started("fake")
                case "audio":
                    yield from self._hear(request.audio)
                case "text":
                    self._number += 1
                    turn = _turn_of(self._known, request.text)
                    yield from self._replied(turn, self._number, request.text, request.request_id)
                case "end_of_utterance":
                    yield from self._end(EndReason.REQUESTED, request.request_id)
        if self._turn is not None:
            yield from self._end(EndReason.HALF_CLOSE)

    def _configure(self, config: pb.ConversationConfig) -> None:
        self._interim = config.interim_results
        self._voice = config.reply_audio if config.HasField("reply_audio") else None
        if config.HasField("audio"):
            audio = config.audio
            self._format = AudioFormat(Encoding(audio.encoding), audio.sample_rate_hz, audio.channel_count or 1)

    def _hear(self, audio: bytes) -> Iterator[Event]:
        if self._turn is None:
            self._turn = next(self._spoken, None)
            if self._turn is not None:
                self._number += 1
                self._spoken_number, self._began = self._number, self._position
                yield SpeechBegan(self._spoken_number, self._began)
                for text in self._turn.partials if self._interim else ():
                    yield Transcript(self._spoken_number, text, False, self._began, self._began)
        self._position += self._format.duration_seconds(len(audio)) or 0.0
        lasts = None if self._turn is None else self._turn.audio_seconds
        if lasts is not None and self._position - self._began >= lasts - _ROUNDING_SECONDS:
            yield from self._end(EndReason.SILENCE)

    def _end(self, reason: EndReason, request_id: str = "") -> Iterator[Event]:
        turn, self._turn = self._turn, None
        if turn is None:
            yield Notice(NoticeCode.NO_SPEECH, "nobody has spoken: send audio first", None, request_id)
            return
        number, text = self._spoken_number, turn.transcript
        yield from self._pauses(turn, number)
        yield SpeechEnded(number, self._position, reason, request_id)
        yield Transcript(number, text, True, self._began, self._position, request_id=request_id)
        yield from self._replied(turn, number, text, request_id)

    def _pauses(self, turn: Turn, number: int) -> Iterator[Event]:
        for text, probability in turn.pauses:
            yield SpeechPaused(number, text, probability, self._began, self._position, 0.0)
            if text != turn.transcript:
                yield SpeechResumed(number, self._position)

    def _replied(self, turn: Turn, number: int, text: str, request_id: str) -> Iterator[Event]:
        time.sleep(turn.delay_seconds)
        for code, message in turn.notices:
            yield Notice(code, message, number, request_id)
        if turn.error is not None:
            raise _ScriptedError(turn.error)
        reply = turn.reply(number, text, request_id)
        if self._voice is None:
            yield replace(reply, speech_text="")
            return
        yield reply
        yield from turn.spoken(number, self._voice.sample_rate_hz or 24_000, _SAMPLE_BYTES.get(self._voice.encoding, 2))


def _turn_of(turns: tuple[Turn, ...], text: str) -> Turn:
    return next((turn for turn in turns if turn.transcript == text), Turn(text))
