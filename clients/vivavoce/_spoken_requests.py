"""The caller's wishes for spoken replies as messages of the protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vivavoce._config import AudioFormat
from vivavoce._durations import duration_of
from vivavoce._errors import InvalidRequest
from vivavoce._refusing import refusing
from vivavoce._speech_types import Pronunciation
from vivavoce._spoken import Interruption, ReplyVoice
from vivavoce.v1 import conversation_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Iterable


def add_reply_audio(config: pb.ConversationConfig, voice: ReplyVoice | None) -> None:
    """Write how replies are spoken.

    Raises:
        InvalidRequest: The message cannot hold a value.
        TypeError: A value is of another type.
    """
    if voice is None:
        return
    if not isinstance(voice, ReplyVoice):
        raise TypeError(f"reply_audio is `vivavoce.ReplyVoice(...)` or None, not {type(voice).__name__}.")
    check_speech_format(voice.audio)
    with refusing("config.reply_audio"):
        config.reply_audio.encoding = voice.audio.encoding.value
        config.reply_audio.sample_rate_hz = voice.audio.sample_rate_hz
        config.reply_audio.voice = voice.voice
        config.reply_audio.speed = voice.speed
        config.reply_audio.seed = voice.seed
        config.reply_audio.lexicon.extend(lexicon_entries(voice.lexicon))
        if voice.lead_seconds is not None:
            config.reply_audio.lead.CopyFrom(duration_of(voice.lead_seconds))


def add_interruption(config: pb.ConversationConfig, interruption: Interruption | None) -> None:
    """Write what interrupts a spoken reply.

    Raises:
        InvalidRequest: The message cannot hold a value.
        TypeError: A value is of another type.
    """
    if interruption is None:
        return
    if not isinstance(interruption, Interruption):
        raise TypeError(f"interruption is `vivavoce.Interruption(...)` or None, not {type(interruption).__name__}.")
    with refusing("config.interruption"):
        config.interruption.disabled = interruption.disabled
        config.interruption.backchannels.extend(interruption.backchannels)
        if interruption.ignore_backchannels is not None:
            config.interruption.ignore_backchannels = interruption.ignore_backchannels
        if interruption.shortest_speech_seconds is not None:
            config.interruption.shortest_speech.CopyFrom(duration_of(interruption.shortest_speech_seconds))


def playback_request(turn: int, position_seconds: float, *, finished: bool) -> pb.ConverseRequest:
    """Make the message that tells how far a reply was played.

    Raises:
        InvalidRequest: The message cannot hold a value.
        TypeError: A value is of another type.
    """
    with refusing("playback"):
        return pb.ConverseRequest(
            playback=pb.Playback(turn=turn, position=duration_of(position_seconds), finished=finished)
        )


def cancel_request(turn: int) -> pb.ConverseRequest:
    """Make the message that stops the speech of a reply.

    Raises:
        InvalidRequest: The message cannot hold the number.
        TypeError: It is none.
    """
    with refusing("cancel_reply"):
        return pb.ConverseRequest(cancel_reply=pb.CancelReply(turn=turn))


def check_speech_format(audio: AudioFormat) -> None:
    """Check the format of speech, as far as the message would not tell.

    Raises:
        InvalidRequest: It has two channels.
        TypeError: It is none.
    """
    if not isinstance(audio, AudioFormat):
        raise TypeError(f"audio is a vivavoce.AudioFormat, not {type(audio).__name__}.")
    if audio.channel_count > 1:
        raise InvalidRequest("Speech has one channel; leave `channel_count` at 1.", field="audio.channel_count")


def lexicon_entries(lexicon: Iterable[Pronunciation]) -> list[pb.LexiconEntry]:
    """Make the messages of pronunciations.

    Raises:
        TypeError: One is of another type.
    """
    listed = list(lexicon)
    for one in listed:
        if not isinstance(one, Pronunciation):
            raise TypeError(f"a lexicon holds vivavoce.Pronunciation objects, not {type(one).__name__}")
    return [pb.LexiconEntry(word=one.word, phonemes=one.phonemes, alias=one.alias) for one in listed]
