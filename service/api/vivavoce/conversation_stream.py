"""Conversations and typed turns of ``vivavoce.v1`` over any transport."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
from typing import TYPE_CHECKING

from pipelines.data.messages import AwayReason
from pipelines.errors import InvalidInputError
from pipelines.models.contracts import ASR, TTS
from pipelines.session.typed_turn import answer_typed
from service.api.vivavoce import converters
from service.api.vivavoce.dialogs import to_keys
from service.api.vivavoce.replies import to_reply
from service.api.vivavoce.spoken_replies import seconds_of
from service.api.vivavoce.tools import to_tool_result
from service.api.vivavoce.updates import Choices, named_as_in_updates, to_update
from service.grpc_server.deserializers import refuse_malformed
from service.sessions.commands import (
    AddAudio,
    AddText,
    CancelReply,
    EndUtterance,
    PressKeys,
    ReportPlayback,
    TakeResult,
    Update,
    act,
    perform,
)
from service.sessions.driver import Opening, converse
from vivavoce.v1 import conversation_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping

    from pipelines.data.messages import Message
    from pipelines.session.conversation import Conversation
    from service.admission.quotas import Quotas
    from service.sessions.commands import Command
    from service.sessions.host import SessionHost

    Write = Callable[[pb.ConverseResponse], Awaitable[None]]

MAX_REQUEST_ID_CHARACTERS = 64
CALL_MARGIN_SECONDS = 0.1
"""So long before the deadline of a call its reply goes out with what is there, to be at the caller in time."""

_REFUSED = frozenset((AwayReason.SHUTDOWN, AwayReason.AGE))
"""A conversation in which nothing was sent for too long has nothing that could be lost: it ends with OK."""


async def hold_conversation(host: SessionHost, requests: AsyncIterator[pb.ConverseRequest], write: Write) -> None:
    """Hold a conversation until everything was said.

    Args:
        host: makes the conversation.
        requests: what the caller sends, the config first.
        write: writes a response; it waits for a caller who reads slowly.

    Raises:
        ReportedError: the conversation cannot go on; see ``StreamSession.run``.
    """
    host.admission.check()
    # A place is given to those who have said what they want, not to everybody who connects.
    first = await _first_config(requests, host.limits.config_seconds)
    variants = host.check_variants(first.variants, "config.variants")
    language = host.language(first.language_code, variants, "config.language_code")
    config = converters.to_config(first, host.speakers)
    reply_voice = config.reply_voice
    if reply_voice is not None:
        voice = host.choose_voice(reply_voice.voice.name, "config.reply_audio.voice", variant=variants.get(TTS, ""))
        reply_voice = dataclasses.replace(reply_voice, voice=voice)
    config = dataclasses.replace(
        config,
        reply_voice=reply_voice,
        turns=dataclasses.replace(config.turns, speculates=host.speculates),
        variants=variants,
        second_opinion=_second_opinion(host, first, "config.second_opinion"),
        recognition=dataclasses.replace(config.recognition, language=language),
        knowledge=host.bases_of(first.agent, first.knowledge, "config.knowledge"),
    )
    opening = Opening(config, first.agent, first.session.id, first.session.parameters)
    door = ConverseDoor(host.admission.quotas, _choices(host, first), write, prompts=first.prompts)
    await converse(host, opening, door, requests, _REFUSED)


class ConverseDoor:
    """Requests and responses of ``vivavoce.v1`` at one conversation; see `Door`.

    Args:
        quotas: what the caller's principal may send.
        choices: checks what the conversation may change to.
        write: writes a response.
        prompts: whether what an agent says by itself is a message of its own.
    """

    def __init__(self, quotas: Quotas, choices: Choices, write: Write, *, prompts: bool) -> None:
        self._quotas, self._choices, self._write = quotas, choices, write
        self._loop, self._prompts = asyncio.get_running_loop(), prompts
        self._conversation: Conversation

    async def opened(self, conversation: Conversation, greeting: str) -> None:
        """Take the conversation, and tell that it begins."""
        self._conversation = conversation
        await self._write(pb.ConverseResponse(started=pb.Started(conversation_id=conversation.name, greeting=greeting)))

    async def take(self, request: pb.ConverseRequest) -> None:
        """Hand a request on; see `Door`."""
        command = read(request, self._choices)
        if isinstance(command, Update):
            with named_as_in_updates():
                act(self._conversation, command)
        elif (waiting := perform(self._conversation, command, self._quotas)) is not None:
            await waiting

    async def tell(self, _: int, message: Message) -> None:
        """Write what the conversation says; see `Door`."""
        await self._write(converters.to_response(message, self._loop.time(), prompts=self._prompts))


async def _first_config(requests: AsyncIterator[pb.ConverseRequest], seconds: float) -> pb.ConversationConfig:
    """Read the first request; a stream that sends none must not be held for ever."""
    try:
        async with asyncio.timeout(seconds):
            async for request in requests:
                refuse_malformed(request)
                if request.WhichOneof("request") == "config":
                    return request.config
                break
    except TimeoutError:
        message = f"no config came within {seconds:g} s: send it first, and at once"
        raise InvalidInputError("config", "NO_CONFIG", message) from None
    raise InvalidInputError("config", "NO_CONFIG", "the first request must be a config")


def _choices(host: SessionHost, first: pb.ConversationConfig) -> Choices:
    """Return the checks of what a conversation may change to."""

    def engines(variants: Mapping[str, str], field_name: str) -> tuple[Mapping[str, str], str]:
        checked = host.check_variants(variants, field_name)
        if TTS in checked:
            message = "the voice of replies is fixed in a conversation: leave tts out, or open another stream"
            raise InvalidInputError(f"{field_name}[{TTS}]", "FIXED_FIELD", message)
        return checked, host.language(first.language_code, checked, field_name)

    return Choices(functools.partial(host.bases_of, first.agent), engines, functools.partial(_second_opinion, host))


def _second_opinion(
    host: SessionHost, asked: pb.ConversationConfig | pb.ConversationUpdate, field_name: str
) -> str | None:
    """Return the recognizer that reads turns again; None where nothing is said of it."""
    if not asked.HasField("second_opinion"):
        return None
    if asked.second_opinion:
        host.check_variant(ASR, asked.second_opinion, field_name)
    return asked.second_opinion


def read(request: pb.ConverseRequest, choices: Choices) -> Command:  # noqa: PLR0911 - one a request
    """Read what a request asks of the conversation.

    Raises:
        InvalidInputError: it cannot be served; the error names the field.
    """
    refuse_malformed(request)
    match request.WhichOneof("request"):
        case "audio":
            return AddAudio(converters.check_audio(request.audio))
        case "text":
            return AddText(converters.check_text(request.text), _check_request_id(request.request_id))
        case "end_of_utterance":
            return EndUtterance(_check_request_id(request.request_id))
        case "update":
            return to_update(request.update, choices)
        case "playback":
            playback = request.playback
            return ReportPlayback(playback.turn, seconds_of(playback.position), playback.finished)
        case "cancel_reply":
            return CancelReply(request.cancel_reply.turn)
        case "dtmf":
            return PressKeys(to_keys(request.dtmf))
        case "tool_result":
            return TakeResult(to_tool_result(request.tool_result))
        case "config":
            message = "a config came a second time: send an update, or open another stream"
            raise InvalidInputError("config", "SECOND_CONFIG", message)
        case _:
            raise InvalidInputError("request", "EMPTY_REQUEST", "a request is empty: send audio, text or an end")


def _check_request_id(request_id: str) -> str:
    """Return the caller's name for a request as it is.

    Raises:
        InvalidInputError: it is too long.
    """
    if len(request_id) > MAX_REQUEST_ID_CHARACTERS:
        message = f"the request_id has {len(request_id):,} characters: send at most {MAX_REQUEST_ID_CHARACTERS}"
        raise InvalidInputError("request_id", "REQUEST_ID_TOO_LONG", message)
    return request_id


async def answer(host: SessionHost, request: pb.AskRequest, seconds_left: float | None = None) -> pb.AskResponse:
    """Answer one typed turn; see the contract.

    Args:
        host: holds it.
        request: what was typed.
        seconds_left: time until the deadline of the call; None: it has none.

    Raises:
        ReportedError: it cannot be answered.
    """
    host.admission.check()
    variants = host.check_variants(request.variants, "variants")
    config = converters.to_ask_config(request)
    turns = dataclasses.replace(config.turns, late_seconds=host.late_seconds)
    bases = host.bases_of(request.agent, request.knowledge, "knowledge")
    config = dataclasses.replace(config, variants=variants, knowledge=bases, turns=turns)
    wait_seconds = None if seconds_left is None else seconds_left - CALL_MARGIN_SECONDS
    async with host.admission.typed_turn(), contextlib.AsyncExitStack() as stack:
        with _beside_the_text():
            opened = host.dialogs.open(request.agent, request.session.id, request.session.parameters)
            config = dataclasses.replace(config, dialog=await stack.enter_async_context(opened))
        bulk, observer = host.workload.bulk, host.typed_observer
        answer = await answer_typed(config, request.text, host.models, bulk, host.stages, observer, wait_seconds)
    now = asyncio.get_running_loop().time()
    return pb.AskResponse(
        reply=to_reply(answer.reply, now), followed=[to_reply(reply, now) for reply in answer.followed]
    )


@contextlib.contextmanager
def _beside_the_text() -> Iterator[None]:
    """Name fields as a typed turn has them, which has no config."""
    try:
        yield
    except InvalidInputError as error:
        raise InvalidInputError(
            error.field.removeprefix("config."), error.reason, str(error).replace("config.", "")
        ) from None
