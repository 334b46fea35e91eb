"""One client: its events are answered in order."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from wyoming.asr import Transcribe, Transcript
from wyoming.audio import AudioChunk, AudioFormat, AudioStart, AudioStop
from wyoming.handle import NotHandled
from wyoming.info import Describe, SelectProgram
from wyoming.intent import Intent, Recognize
from wyoming.ping import Ping, Pong
from wyoming.tts import Synthesize, SynthesizeChunk, SynthesizeStart, SynthesizeStop, SynthesizeVoice

import vivavoce
from vivavoce.wyoming import info, replies
from vivavoce.wyoming.errors import RefusedError, error_event
from vivavoce.wyoming.speech_out import Speaking, speak
from vivavoce.wyoming.transcription import Hearing

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from wyoming.error import Error
    from wyoming.event import Event, Eventable

    from vivavoce._tasks import TaskScope
    from vivavoce.wyoming.transcription import Send

_SYNTHESIZE = (Synthesize, SynthesizeStart, SynthesizeChunk, SynthesizeStop)

_Handler: TypeAlias = "Callable[[Connection, Any], Awaitable[None]]"


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of all clients."""

    documents: Sequence[vivavoce.Document] = ()
    """Texts that answers are looked for in."""
    reply_budget_seconds: float | None = None
    """Time within which a text is answered; None leaves it to the service."""
    agent: str = ""
    """Agent that answers texts; "": every text stands alone."""
    knowledge: Sequence[str] = ()
    """Knowledge bases that answers are looked for in."""
    variants: Mapping[str, str] = field(default_factory=dict)
    """The engine of a role by its name, where the service has several."""
    languages: Sequence[str] = (info.LANGUAGE,)
    """Codes of what recognizer and voices serve, which clients are told and may choose from."""


class Connection:
    """Answers the events of one client.

    Args:
        client: The service.
        settings: What holds for all clients.
        send: Sends an event to this client.
        tasks: Runs what is worked on while further events arrive.

    Attributes:
        ended: Whether the connection is to be closed, because what the client waits for will not come.
    """

    def __init__(self, client: vivavoce.Client, settings: Settings, send: Send, tasks: TaskScope) -> None:
        self._client = client
        self._settings = settings
        self._send = send
        self._tasks = tasks
        self._request = Transcribe()
        self._hearing: Hearing | None = None
        self._speaking: Speaking | None = None
        self._ignoring_audio = False
        self._own_session = secrets.token_hex(8)
        self.ended = False

    async def handle(self, event: Event) -> None:
        """Answer one event; unknown ones are ignored.

        After an error in a stream of audio the rest of it is ignored: one error a stream. An error where the client now
        waits for a reply ends the connection: Home Assistant may know no errors, and waits until it is hung up on.
        """
        try:
            for kind, handler in self._handlers:
                if kind.is_type(event.type):
                    await handler(self, _parse(kind, event))
        except (RefusedError, vivavoce.VivavoceError) as error:
            if _is_one_of(event, Transcribe, AudioStart, AudioChunk):
                self.abandon()
                self._ignoring_audio = True
            await self._send(error_event(error))
            self.ended = _is_one_of(event, AudioStop, Recognize, Transcript, Intent, *_SYNTHESIZE)

    def abandon(self) -> None:
        """Stop hearing; nothing more is sent of the stream under way."""
        if self._hearing is not None:
            self._hearing.abandon()
            self._hearing = None
        if self._speaking is not None:
            self._speaking.abandon()
            self._speaking = None

    async def _describe(self, _: Describe) -> None:
        await self._send(info.describe(self._settings.languages))

    async def _select(self, selection: SelectProgram) -> None:
        _check_program(selection.name)

    async def _ping(self, ping: Ping) -> None:
        await self._send(Pong(text=ping.text))

    async def _transcribe(self, request: Transcribe) -> None:
        self.abandon()
        self._ignoring_audio = False
        _check_program(request.name)
        self._check_language(request.language)
        self._request = request

    async def _audio_start(self, start: AudioStart) -> None:
        if self._hearing is not None:
            message = "An audio-start came before the audio-stop of the stream under way; begin anew with transcribe."
            raise RefusedError("bad-order", message)
        if not self._ignoring_audio:
            self._begin(start)

    async def _audio_chunk(self, chunk: AudioChunk) -> None:
        if not self._ignoring_audio:
            hearing = self._hearing or self._begin(chunk)
            await hearing.chunk(chunk)

    async def _audio_stop(self, _: AudioStop) -> None:
        hearing, ignoring = self._hearing, self._ignoring_audio
        self._request, self._hearing, self._ignoring_audio = Transcribe(), None, False
        if hearing is not None:
            await hearing.stop()
            self.ended = hearing.failed
        elif ignoring:
            self.ended = True
        else:
            raise RefusedError("bad-order", "An audio-stop came without audio; send audio-start and audio-chunk first.")

    async def _recognize(self, request: Recognize) -> None:
        await self._send(replies.recognized(await self._ask(request.text, request.context), request.context))

    async def _answer(self, transcript: Transcript) -> None:
        try:
            _check_language(transcript.language, (info.LANGUAGE,))
            reply = replies.handled(await self._ask(transcript.text, transcript.context), transcript.context)
        except (RefusedError, vivavoce.VivavoceError) as error:
            await self._fail_to_handle(error_event(error), transcript)
        else:
            await self._send(reply)

    async def _fail_to_handle(self, error: Error, transcript: Transcript) -> None:
        """Send an error twice: an older Home Assistant reads `not-handled` alone."""
        await self._send(error)
        await self._send(NotHandled(text=error.text, context=transcript.context))
        self.ended = True

    async def _refuse_intent(self, intent: Intent) -> None:
        await self._send(NotHandled(text="Nothing here carries commands out.", context=intent.context))

    async def _synthesize(self, request: Synthesize) -> None:
        # Behind a text that is streamed the whole of it comes again, for servers that take none in pieces.
        if self._speaking is None:
            language = self._language_of(request.voice)
            await speak(self._client, request.text, request.text_format, language, self._send)

    async def _synthesize_start(self, start: SynthesizeStart) -> None:
        self.abandon()
        language = self._language_of(start.voice)
        if start.text_format not in {None, "text"}:
            raise RefusedError("bad-event", "SSML is not spoken in pieces; send it with synthesize.")
        self._speaking = Speaking(self._client, language, self._send, self._tasks)

    async def _synthesize_chunk(self, chunk: SynthesizeChunk) -> None:
        if self._speaking is None:
            raise RefusedError("bad-order", "A synthesize-chunk came without its start; send synthesize-start first.")
        await self._speaking.add(chunk.text)

    async def _synthesize_stop(self, _: SynthesizeStop) -> None:
        if self._speaking is None:
            raise RefusedError("bad-order", "A synthesize-stop came without its start; send synthesize-start first.")
        await self._speaking.stop()
        self.ended, self._speaking = self._speaking.failed, None

    def _begin(self, audio: AudioFormat) -> Hearing:
        self._hearing = Hearing(self._client, self._request, self._settings.variants, audio, self._send, self._tasks)
        return self._hearing

    def _language_of(self, voice: SynthesizeVoice | None) -> str:
        """Return the tag of what a voice is to speak; "" for the voice's own.

        Raises:
            RefusedError: There is no such voice, or none that speaks the language.
        """
        if voice is None:
            return ""
        _check_program(voice.name)
        self._check_language(voice.language)
        return voice.language or ""

    def _check_language(self, tag: object) -> None:
        _check_language(tag, self._settings.languages)

    async def _ask(self, text: object, context: object) -> vivavoce.Reply:
        if not isinstance(text, str):
            raise RefusedError("bad-event", "The text of an event must be a text.")
        settings = self._settings
        return await self._client.ask(
            text,
            documents=settings.documents,
            reply_budget_seconds=settings.reply_budget_seconds,
            variants=settings.variants,
            knowledge=settings.knowledge,
            agent=settings.agent,
            session=vivavoce.Session(self._session_of(context)) if settings.agent else None,
        )

    def _session_of(self, context: object) -> str:
        """Return the session of a text: its conversation, or this connection."""
        conversation = context.get("conversation_id") if isinstance(context, dict) else None
        return conversation if isinstance(conversation, str) and conversation else self._own_session

    _handlers: ClassVar[Sequence[tuple[type[Eventable], _Handler]]] = (
        (Describe, _describe),
        (SelectProgram, _select),
        (Ping, _ping),
        (Transcribe, _transcribe),
        (AudioStart, _audio_start),
        (AudioChunk, _audio_chunk),
        (AudioStop, _audio_stop),
        (Recognize, _recognize),
        (Transcript, _answer),
        (Intent, _refuse_intent),
        (Synthesize, _synthesize),
        (SynthesizeStart, _synthesize_start),
        (SynthesizeChunk, _synthesize_chunk),
        (SynthesizeStop, _synthesize_stop),
    )


def _parse(kind: type[Eventable], event: Event) -> Eventable:
    """Read an event; the package expects of the client that nothing is missing."""
    try:
        return kind.from_event(event)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise RefusedError("bad-event", f"The event {event.type} lacks what it must hold; see the protocol.") from error


def _is_one_of(event: Event, *kinds: type[Eventable]) -> bool:
    return any(kind.is_type(event.type) for kind in kinds)


def _check_program(name: object) -> None:
    if not info.check_program(name):
        raise RefusedError(
            "unknown-program", f"There is no program or model of that name; choose {info.NAME}, or none."
        )


def _check_language(tag: object, languages: Sequence[str]) -> None:
    if not info.check_language(tag, languages):
        named = ", ".join(languages)
        raise RefusedError("unsupported-language", f"That language is not served; choose {named}, or none.")
