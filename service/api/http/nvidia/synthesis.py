"""Synthesis for NVIDIA's client: ``WS /v1/realtime?intent=synthesize``."""

from __future__ import annotations

import asyncio
import base64
import contextlib
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.responses import JSONResponse

from pipelines.audio.encoding import SpeechFormat
from pipelines.audio.formats import SPEECH_RATE_HZ, Encoding
from pipelines.errors import InvalidInputError
from pipelines.models.contracts import TTS
from pipelines.models.synthesis_port import DEFAULT_VOICE
from pipelines.speech.lexicon import Lexicon
from pipelines.speech.script import MAX_TEXT_CHARACTERS, sentences_of_text
from pipelines.speech.synthesis import LANGUAGE, Speech, Voice
from service.api.http.json_reading import check_beside, read_json
from service.api.http.openai.bodies import complaint
from service.api.http.openai.realtime.sending import new_id
from service.api.http.openai.realtime.session_form import REALTIME, default_session
from service.api.riva.tts.settings import to_voice
from service.refusals import IdleStreamError, MessageTooLargeError
from service.security.client_secrets import DEFAULT_SECONDS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request
    from starlette.responses import Response

    from service.api.http.openai.realtime.sending import EventSender
    from service.sessions.host import SessionHost

INTENT = "synthesize"
_SEED = 0
_DEFAULTS = {
    "input_text_synthesis": {"language_code": LANGUAGE, "voice_name": DEFAULT_VOICE},
    "output_audio_params": {"sample_rate_hz": SPEECH_RATE_HZ, "num_channels": 1, "audio_format": "LINEAR_PCM"},
}


class _Text(msgspec.Struct, frozen=True):
    language_code: str = ""
    voice_name: str = ""


class _Audio(msgspec.Struct, frozen=True):
    sample_rate_hz: int = 0
    audio_format: str = ""


class _Session(msgspec.Struct, frozen=True):
    input_text_synthesis: _Text = _Text()
    output_audio_params: _Audio = _Audio()


class _Event(msgspec.Struct, frozen=True):
    type: str
    event_id: str | None = None
    text: str = ""
    session: _Session = _Session()


def default_synthesis() -> dict[str, Any]:
    """Return a session as it begins."""
    return {"id": new_id("sess"), "object": "realtime.synthesis_session", **_DEFAULTS}


class SynthesisEndpoint:
    """Sessions and voices for NVIDIA's client, before it has texts spoken.

    Args:
        host: has the voices, and makes secrets.
    """

    def __init__(self, host: SessionHost) -> None:
        self._host = host

    async def make_session(self, _: Request) -> Response:
        """Return a new synthesis session with a client secret."""
        self._host.admission.check()
        session = default_session(REALTIME, new_id("sess"))
        value, secret = self._host.client_secrets.make(DEFAULT_SECONDS, session)
        return JSONResponse(
            {**default_synthesis(), "client_secret": {"value": value, "expires_at": int(secret.expires)}}
        )

    async def list_voices(self, _: Request) -> Response:
        """List the voices by language."""
        listed: dict[str, dict[str, list[str]]] = {}
        for voice in self._host.voices:
            language = LANGUAGE if LANGUAGE.startswith(voice.language) else voice.language
            listed.setdefault(language, {"voices": []})["voices"].append(voice.name)
        return JSONResponse(listed)


class SynthesisSession:
    """Speaks the texts of one client.

    Args:
        host: has the models; a text takes the place of a typed turn while it is spoken.
        sender: sends events.
        receive: returns the next message; None when the client is gone.
    """

    def __init__(self, host: SessionHost, sender: EventSender, receive: Callable[[], Awaitable[str | None]]) -> None:
        self._host, self._sender, self._receive = host, sender, receive
        self._shown = default_synthesis()
        self._voice, self._format = Voice(), SpeechFormat()
        self._text = ""

    async def run(self) -> None:
        """Return when the client is gone, or everything is spoken after its end.

        Raises:
            IdleStreamError: nothing was sent for too long.
            ModelError: the model does not speak.
        """
        conversation = {"id": new_id("conv"), "object": "realtime.conversation"}
        await self._sender.send("conversation.created", conversation=conversation)
        while True:
            try:
                event = await self._next()
                if event is None:
                    return
            except (InvalidInputError, MessageTooLargeError) as error:
                await self._sender.error(error)
                continue
            try:
                if await self._act(event):
                    return
            except InvalidInputError as error:
                await self._sender.error(error, event.event_id)

    async def _next(self) -> _Event | None:
        try:
            async with asyncio.timeout(self._host.limits.idle_seconds):
                message = await self._receive()
        except TimeoutError:
            raise IdleStreamError from None
        return None if message is None else await read_json(message, _read)

    async def _act(self, event: _Event) -> bool:
        """Act on an event; return whether it was the last one."""
        match event.type:
            case "synthesize_session.update":
                self._update(event.session)
                await self._sender.send("synthesize_session.updated", session=self._shown)
            case "input_text.append":
                if len(self._text) + len(event.text) > MAX_TEXT_CHARACTERS:
                    message = f"the text has over {MAX_TEXT_CHARACTERS:,} characters: commit it in parts"
                    raise InvalidInputError("text", "TEXT_TOO_LONG", message)
                self._text += event.text
            case "input_text.commit":
                await self._speak()
                await self._completed(is_last=False)
            case "input_text.done":
                if self._text.strip():
                    await self._speak()
                await self._completed(is_last=True)
                return True
            case _:
                message = "the event is unknown: send synthesize_session.update, input_text.append, commit or done"
                raise InvalidInputError("type", "UNKNOWN_EVENT", message)
        return False

    def _update(self, session: _Session) -> None:
        text, audio = session.input_text_synthesis, session.output_audio_params
        path = "session.input_text_synthesis"
        name = text.voice_name
        voice = to_voice(name, self._host, f"{path}.voice_name", text.language_code)
        field = "session.output_audio_params"
        names = {encoding.value: encoding for encoding in Encoding}
        encoding = names.get((audio.audio_format or "LINEAR_PCM").upper())
        if encoding is None:
            message = "the audio format is unknown: choose LINEAR_PCM, MULAW, ALAW or OGGOPUS"
            raise InvalidInputError(f"{field}.audio_format", "UNKNOWN_ENCODING", message)
        rate = audio.sample_rate_hz or SPEECH_RATE_HZ
        self._format = SpeechFormat(encoding, rate, f"{field}.audio_format", f"{field}.sample_rate_hz")
        self._voice = voice
        self._shown |= {
            "input_text_synthesis": {"language_code": text.language_code or LANGUAGE, "voice_name": name or voice.name},
            "output_audio_params": {"sample_rate_hz": rate, "num_channels": 1, "audio_format": encoding.value},
        }

    async def _speak(self) -> None:
        text, self._text = self._text, ""
        sentences = sentences_of_text(text, Lexicon(), field="text", language=self._voice.language)
        host = self._host
        speech = Speech(host.models.get(TTS, self._voice.variant), sentences, _SEED, host.workload.bulk)
        async with host.admission.typed_turn(), contextlib.aclosing(speech.encoded(self._format)) as pieces:
            async for piece in pieces:
                audio = base64.b64encode(piece.audio).decode()
                await self._sender.send("conversation.item.speech.data", audio=audio)

    async def _completed(self, *, is_last: bool) -> None:
        await self._sender.send("conversation.item.speech.completed", is_last_result=is_last, synthesis_metadata={})


def _read(message: bytes) -> _Event:
    try:
        event = msgspec.json.decode(message, type=_Event)
    except msgspec.ValidationError as error:
        field, sentence = complaint(error)
        raise InvalidInputError(field, "INVALID_VALUE", f"{sentence}, in {field}") from error
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise InvalidInputError("body", "INVALID_JSON", "this is no JSON: send one event a message") from error
    check_beside(msgspec.to_builtins(event))
    return event
