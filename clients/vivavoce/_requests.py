"""The caller's objects as messages of the protocol.

What the messages cannot even hold is refused here, as the server would; everything else is for the server to judge.
"""

from __future__ import annotations

from datetime import timezone
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vivavoce._checks import (
    check_documents,
    check_endpointing,
    check_format,
    check_hints,
    check_knowledge,
    check_samples,
    check_text,
    check_variants,
)
from vivavoce._config import (
    DEFAULT_AUDIO,
    AudioFormat,
    ConversationUpdate,
    Document,
    Encoding,
    EndOfUtterance,
    Endpointing,
    PhraseHints,
    TypedTurn,
)
from vivavoce._dialog import add_dialog
from vivavoce._durations import duration_of
from vivavoce._errors import InvalidRequest
from vivavoce._refusing import refusing
from vivavoce._spoken_requests import add_interruption, add_reply_audio
from vivavoce.v1 import conversation_pb2 as pb
from vivavoce.v1 import reply_pb2

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from vivavoce._options import AskOptions, ConverseOptions

AudioChunk: TypeAlias = bytes | bytearray | memoryview | NDArray[np.floating[Any]] | NDArray[np.int16]
"""Audio: bytes in the encoding of the conversation, or samples as an array of shape [n] or [n, channels].

Floats lie between -1 and 1."""

Utterable: TypeAlias = AudioChunk | EndOfUtterance | TypedTurn | ConversationUpdate
"""Everything that a caller may put among the audio chunks."""

# Far below the server's limit of 1 MiB, so that a bounded number of messages is a bounded amount of memory. Every
# sample and frame size divides it: no message ends in the middle of a sample.
MAX_AUDIO_MESSAGE_BYTES = 32 * 1024

_PCM16_SCALE = 32_768.0


def conversation_config(options: ConverseOptions) -> pb.ConversationConfig:
    """Make the first message of a conversation.

    Raises:
        InvalidRequest: The message cannot hold a value, such as a time that is not a number.
        TypeError: A value is of another type.
    """
    audio, endpointing = options.get("audio", DEFAULT_AUDIO), options.get("endpointing")
    check_format(audio)
    check_endpointing(endpointing)
    listed, hints = check_documents(options.get("documents", ())), check_hints(options.get("phrase_hints", ()))
    with refusing("config"):
        interim_results = options.get("interim_results", False)
        config = pb.ConversationConfig(interim_results=interim_results, documents=_documents(listed), prompts=True)
        config.phrase_hints.extend(map(_hints, hints))
    with refusing("config.language_code"):
        config.language_code = options.get("language", "")
    if (second_opinion := options.get("second_opinion")) is not None:
        with refusing("config.second_opinion"):
            config.second_opinion = second_opinion
    with refusing("config.max_alternatives"):
        config.max_alternatives = options.get("max_alternatives", 0)
    config.ignore_engine_hints = options.get("ignore_engine_hints", False)
    diarization = options.get("diarization")
    if diarization is not None:
        with refusing("config.diarization.max_speakers"):
            config.diarization.max_speakers = diarization.max_speakers
            config.diarization.SetInParent()
    add_reply_audio(config, options.get("reply_audio"))
    add_interruption(config, options.get("interruption"))
    if audio is not None:
        with refusing("config.audio"):
            config.audio.encoding = audio.encoding.value
            config.audio.sample_rate_hz = audio.sample_rate_hz
            config.audio.channel_count = audio.channel_count
    if endpointing is not None:
        with refusing("config.endpointing"):
            config.endpointing.CopyFrom(_endpointing(endpointing))
    _add_ask_options(config, "config.", options)
    return config


def ask_request(text: str, options: AskOptions) -> pb.AskRequest:
    """Make the request of one typed turn.

    Raises:
        InvalidRequest: The message cannot hold a value, such as a text with half a surrogate pair.
        TypeError: A value is of another type.
    """
    check_text(text)
    listed = check_documents(options.get("documents", ()))
    with refusing("text"):
        request = pb.AskRequest(text=text)
    with refusing("documents"):
        request.documents.extend(_documents(listed))
    _add_ask_options(request, "", options)
    return request


def _add_ask_options(request: pb.ConversationConfig | pb.AskRequest, prefix: str, options: AskOptions) -> None:
    """Add what conversations and typed turns have in common, but for documents."""
    add_dialog(request, options.get("agent", ""), options.get("session"), prefix)
    with refusing(f"{prefix}variants"):
        request.variants.update(check_variants(options.get("variants")))
    with refusing(f"{prefix}knowledge"):
        request.knowledge.extend(check_knowledge(options.get("knowledge", ())))
    with refusing(f"{prefix}max_intents"):
        request.max_intents = options.get("max_intents", 0)
    with refusing(f"{prefix}time_zone"):
        request.time_zone = options.get("time_zone", "")
    current_time, reply_budget_seconds = options.get("current_time"), options.get("reply_budget_seconds")
    if current_time is not None:
        with refusing(f"{prefix}current_time"):
            # A time without a zone is that of this machine.
            request.current_time.FromDatetime(current_time.astimezone(timezone.utc))
    if reply_budget_seconds is not None:
        with refusing(f"{prefix}reply_budget"):
            request.reply_budget.CopyFrom(duration_of(reply_budget_seconds))


def utterance_requests(
    said: Utterable, audio: AudioFormat | None, made_up_id: str = ""
) -> Iterator[pb.ConverseRequest]:
    """Make the messages that carry `said`: several where a piece of audio is long.

    Args:
        said: What the caller put among the audio chunks.
        audio: Format of the conversation's audio; None means 16-bit PCM, as far as arrays are concerned.
        made_up_id: Name of a typed turn or an end of utterance to which the caller gave none.

    Raises:
        InvalidRequest: A typed turn, or a name, is not valid text; or samples are not what the format says.
        TypeError: `said` is nothing that can be sent.
    """
    match said:
        case EndOfUtterance(request_id):
            yield _named(pb.ConverseRequest(end_of_utterance=pb.EndOfUtterance()), request_id or made_up_id)
        case TypedTurn(text, request_id):
            check_text(text)
            with refusing("text"):
                request = pb.ConverseRequest(text=text)
            yield _named(request, request_id or made_up_id)
        case ConversationUpdate():
            yield pb.ConverseRequest(update=_update(said))
        case _:
            yield from _audio_requests(_encode(said, audio or AudioFormat()))


def _update(update: ConversationUpdate) -> pb.ConversationUpdate:
    check_endpointing(update.endpointing)
    message = pb.ConversationUpdate()
    if update.endpointing is not None:
        with refusing("update.endpointing"):
            message.endpointing.CopyFrom(_endpointing(update.endpointing))
    if update.documents is not None:
        listed = check_documents(update.documents)
        with refusing("update.documents"):
            message.documents.CopyFrom(pb.DocumentList(documents=_documents(listed)))
    if update.phrase_hints is not None:
        hints = check_hints(update.phrase_hints)
        with refusing("update.phrase_hints"):
            message.phrase_hints.CopyFrom(pb.PhraseHintsList(groups=map(_hints, hints)))
    if update.knowledge is not None:
        with refusing("update.knowledge"):
            message.knowledge.CopyFrom(pb.KnowledgeList(knowledge=check_knowledge(update.knowledge)))
    if update.variants is not None:
        with refusing("update.variants"):
            message.variants.CopyFrom(pb.VariantChoice(variants=check_variants(update.variants)))
    if update.second_opinion is not None:
        with refusing("update.second_opinion"):
            message.second_opinion = update.second_opinion
    if update.parameters is not None:
        with refusing("update.session"):
            message.session.CopyFrom(pb.SessionParameters(parameters=update.parameters))
    return message


def _hints(hints: PhraseHints) -> pb.PhraseHints:
    return pb.PhraseHints(phrases=hints.phrases, boost=hints.boost)


def _named(request: pb.ConverseRequest, request_id: str) -> pb.ConverseRequest:
    with refusing("request_id"):
        request.request_id = request_id
    return request


def _audio_requests(data: bytes) -> Iterator[pb.ConverseRequest]:
    # An empty chunk is sent as it is: the server ignores it.
    for offset in range(0, max(len(data), 1), MAX_AUDIO_MESSAGE_BYTES):
        yield pb.ConverseRequest(audio=data[offset : offset + MAX_AUDIO_MESSAGE_BYTES])


def _encode(chunk: AudioChunk, audio: AudioFormat) -> bytes:
    if isinstance(chunk, bytes | bytearray | memoryview):
        return bytes(chunk)
    samples = check_samples(chunk, audio)
    if audio.encoding is Encoding.LINEAR_PCM:
        return _to_int16(samples).astype("<i2").tobytes()
    if audio.encoding is Encoding.LINEAR_PCM_FLOAT32:
        return _to_float32(samples).astype("<f4").tobytes()
    raise TypeError(f"Arrays cannot be sent as {audio.encoding.name}: encode them, or choose LINEAR_PCM.")


def _to_int16(array: NDArray[np.generic]) -> NDArray[np.int16]:
    if array.dtype == np.int16:
        return np.asarray(array, np.int16)
    samples = np.asarray(array, np.float32)  # 24 bits of precision: nothing is lost.
    if not np.isfinite(samples).all():  # As integers they would be some arbitrary, loud value.
        raise InvalidRequest("The audio holds NaN or infinite samples; check where it comes from.", field="audio")
    scaled = samples * np.float32(_PCM16_SCALE)
    np.rint(scaled, out=scaled)
    np.clip(scaled, -_PCM16_SCALE, _PCM16_SCALE - 1, out=scaled)
    return scaled.astype(np.int16)


def _to_float32(array: NDArray[np.generic]) -> NDArray[np.float32]:
    samples = np.asarray(array, np.float32)
    return samples / np.float32(_PCM16_SCALE) if array.dtype == np.int16 else samples


def _documents(listed: Sequence[Document | str]) -> list[reply_pb2.Document]:
    """Make the messages of documents; several plain texts get their places as ids."""
    several = sum(isinstance(document, str) for document in listed) > 1
    return [
        reply_pb2.Document(text=document, id=str(number) if several else "")
        if isinstance(document, str)
        else reply_pb2.Document(id=document.id, text=document.text)
        for number, document in enumerate(listed, 1)
    ]


def _endpointing(endpointing: Endpointing) -> pb.EndpointingConfig:
    config = pb.EndpointingConfig(
        disabled=endpointing.disabled,
        start_threshold=endpointing.start_threshold,
        stop_threshold=endpointing.stop_threshold,
        mode=None if endpointing.mode is None else endpointing.mode.value,
        patience=None if endpointing.patience is None else endpointing.patience.value,
    )
    durations = {
        "start_window": endpointing.start_window_seconds,
        "stop_window": endpointing.stop_window_seconds,
        "shortest_silence": endpointing.shortest_silence_seconds,
        "longest_silence": endpointing.longest_silence_seconds,
    }
    for name, seconds in durations.items():
        if seconds is not None:
            getattr(config, name).CopyFrom(duration_of(seconds))
    return config
