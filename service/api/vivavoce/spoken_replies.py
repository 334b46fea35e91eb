"""Converters of spoken replies: messages to plain data and back."""

from __future__ import annotations

from google.protobuf import duration_pb2

from pipelines.data import messages
from pipelines.errors import InvalidInputError
from pipelines.speech.reply_voice import DEFAULT_LEAD_SECONDS, ReplyVoice
from pipelines.speech.script import check_speed
from pipelines.speech.synthesis import Voice
from pipelines.turns.interruption import BACKCHANNELS, DEFAULT_SHORTEST_SPEECH_SECONDS, InterruptionConfig
from service.api.vivavoce.voices import check_seed, to_format, to_lexicon
from vivavoce.v1 import conversation_pb2 as pb

_REASONS = {
    messages.InterruptionReason.SPEECH: pb.INTERRUPTION_REASON_SPEECH,
    messages.InterruptionReason.TYPED: pb.INTERRUPTION_REASON_TYPED,
    messages.InterruptionReason.CANCELLED: pb.INTERRUPTION_REASON_CANCELLED,
}
_FIELD = "config.reply_audio"


def to_reply_voice(config: pb.ConversationConfig) -> ReplyVoice | None:
    """Read how replies are spoken, with the voice's name alone; None: not at all.

    Raises:
        InvalidInputError: a field cannot be honoured; the error names it.
    """
    if not config.HasField("reply_audio"):
        return None
    audio = config.reply_audio
    return ReplyVoice(
        audio_format=to_format(audio, f"{_FIELD}."),
        voice=Voice(audio.voice),
        speed=check_speed(audio.speed, f"{_FIELD}.speed"),
        seed=check_seed(audio.seed, f"{_FIELD}.seed"),
        lexicon=to_lexicon(audio.lexicon, f"{_FIELD}.lexicon"),
        lead_seconds=seconds_of(audio.lead) if audio.HasField("lead") else DEFAULT_LEAD_SECONDS,
    )


def to_interruption(config: pb.InterruptionConfig) -> InterruptionConfig:
    """Read what interrupts a spoken reply.

    Raises:
        InvalidInputError: a field cannot be honoured; the error names it.
    """
    is_set = config.HasField("shortest_speech") or config.HasField("ignore_backchannels") or bool(config.backchannels)
    if config.disabled:
        if is_set:
            message = "interruption is disabled: leave its other fields out"
            raise InvalidInputError("config.interruption", "INTERRUPTION_DISABLED", message)
        return InterruptionConfig(enabled=False)
    ignores = not config.HasField("ignore_backchannels") or config.ignore_backchannels
    if config.backchannels and not ignores:
        message = "backchannels are listed, but not ignored: leave ignore_backchannels out"
        raise InvalidInputError("config.interruption.backchannels", "BACKCHANNELS_NOT_IGNORED", message)
    shortest = DEFAULT_SHORTEST_SPEECH_SECONDS
    if config.HasField("shortest_speech"):
        shortest = seconds_of(config.shortest_speech)
    return InterruptionConfig(
        shortest_speech_seconds=shortest,
        backchannels=(tuple(config.backchannels) or BACKCHANNELS) if ignores else (),
    )


def to_reply_audio(audio: messages.ReplyAudio) -> pb.ConverseResponse:
    """Write a piece of a spoken reply."""
    start = _duration(audio.start_seconds)
    piece = pb.ReplyAudio(turn=audio.turn, audio=audio.audio, start=start, last=audio.is_last)
    return pb.ConverseResponse(reply_audio=piece)


def to_reply_held(held: messages.ReplyHeld) -> pb.ConverseResponse:
    """Write that a spoken reply is held."""
    position = _duration(held.position_seconds)
    return pb.ConverseResponse(reply_held=pb.ReplyHeld(turn=held.turn, position=position))


def to_reply_resumed(resumed: messages.ReplyResumed) -> pb.ConverseResponse:
    """Write that a spoken reply goes on."""
    position = _duration(resumed.position_seconds)
    return pb.ConverseResponse(reply_resumed=pb.ReplyResumed(turn=resumed.turn, position=position))


def to_interrupted(interrupted: messages.Interrupted) -> pb.ConverseResponse:
    """Write that a spoken reply was stopped."""
    return pb.ConverseResponse(
        interrupted=pb.Interrupted(
            turn=interrupted.turn,
            heard=_duration(interrupted.heard_seconds),
            heard_text=interrupted.heard_text,
            reason=_REASONS[interrupted.reason],
        )
    )


def seconds_of(duration: duration_pb2.Duration) -> float:
    """Read a duration."""
    return duration.seconds + duration.nanos / 1e9


def _duration(seconds: float) -> duration_pb2.Duration:
    duration = duration_pb2.Duration()
    duration.FromMicroseconds(round(1e6 * seconds))
    return duration
