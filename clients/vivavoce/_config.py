"""Configuration of a conversation, and what can be sent in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from vivavoce.v1 import conversation_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Mapping


class Encoding(Enum):
    """Encoding of audio samples."""

    LINEAR_PCM = pb.AUDIO_ENCODING_LINEAR_PCM
    """16-bit signed little-endian integers, no header."""
    FLAC = pb.AUDIO_ENCODING_FLAC
    """FLAC with its header."""
    MULAW = pb.AUDIO_ENCODING_MULAW
    """8-bit mu-law as in ITU-T G.711, no header."""
    ALAW = pb.AUDIO_ENCODING_ALAW
    """8-bit A-law as in ITU-T G.711, no header."""
    OGGOPUS = pb.AUDIO_ENCODING_OGGOPUS
    """Opus in an Ogg container (RFC 7845)."""
    LINEAR_PCM_FLOAT32 = pb.AUDIO_ENCODING_LINEAR_PCM_FLOAT32
    """32-bit little-endian IEEE 754 floats from -1 to 1, no header."""
    CONTAINER = pb.AUDIO_ENCODING_CONTAINER
    """The bytes of a file whose header tells its format: WAV, FLAC, Opus in Ogg, WebM, MP4, MP3, AAC, AIFF or CAF."""


_SAMPLE_BYTES = {Encoding.LINEAR_PCM: 2, Encoding.MULAW: 1, Encoding.ALAW: 1, Encoding.LINEAR_PCM_FLOAT32: 4}


@dataclass(frozen=True, slots=True)
class AudioFormat:
    """Format of the audio of a conversation."""

    encoding: Encoding = Encoding.LINEAR_PCM
    """How samples are encoded."""
    sample_rate_hz: int = 16_000
    """Samples a second and channel, 8,000 to 48,000. May be 0 for FLAC, OGGOPUS and CONTAINER."""
    channel_count: int = 1
    """Interleaved channels, 1 or 2; the server averages them. 0 means what a header tells, else 1."""

    def duration_seconds(self, byte_count: int) -> float | None:
        """Return the duration of `byte_count` bytes; None where only decoding would tell."""
        frame_bytes = _SAMPLE_BYTES.get(self.encoding, 0) * self.channel_count * self.sample_rate_hz
        return byte_count / frame_bytes if frame_bytes > 0 else None


DEFAULT_AUDIO = AudioFormat()


class EndpointingMode(Enum):
    """Decision between a pause and the end of an utterance."""

    MODEL = pb.ENDPOINTING_MODE_MODEL
    """A model that hears the last seconds and reads the words so far; silence alone where it does not answer."""
    SILENCE = pb.ENDPOINTING_MODE_SILENCE
    """A silence of `Endpointing.stop_window_seconds`."""


class Patience(Enum):
    """Tolerance for pauses in which a speaker thinks."""

    EAGER = pb.PATIENCE_EAGER
    """Answers soonest, and cuts people off more often: for commands."""
    NORMAL = pb.PATIENCE_NORMAL
    """For most conversations."""
    PATIENT = pb.PATIENCE_PATIENT
    """Waits longest: for people who search for words, or dictate."""


@dataclass(frozen=True, slots=True)
class Endpointing:
    """Endpointing: the beginning and end of an utterance. None: the server's choice."""

    disabled: bool = False
    """Only `EndOfUtterance` and the end of the audio end an utterance (push-to-talk); the rest must be None."""
    start_window_seconds: float | None = None
    """Length of the window that begins an utterance, 0.032 to 2."""
    start_threshold: float | None = None
    """Share of the start window that must be speech, above 0 and at most 1."""
    stop_window_seconds: float | None = None
    """Length of the window that ends an utterance, 0.128 to 10."""
    stop_threshold: float | None = None
    """The utterance ends when no more than this share of the stop window is speech, 0 to below 1."""
    mode: EndpointingMode | None = None
    """What decides. None: SILENCE if a stop window or threshold is set and none of the following is, else MODEL."""
    patience: Patience | None = None
    """How long a speaker may think, in the mode MODEL."""
    shortest_silence_seconds: float | None = None
    """Silence before which no utterance ends, in the mode MODEL, 0.128 to 10."""
    longest_silence_seconds: float | None = None
    """Silence that ends every utterance, in the mode MODEL, 0.128 to 10."""


DEFAULT_STOP_WINDOW_SECONDS = 0.608
"""The silence rule's window where `Endpointing.stop_window_seconds` is None (protos/vivavoce/v1/conversation.proto)."""


@dataclass(frozen=True, slots=True)
class Document:
    """A text that answers are looked for in."""

    text: str
    """The text itself, plain. A request has 32 documents at most, with 100,000 code points together."""
    id: str = ""
    """The caller's own name for it, handed back in `Answer.document_id`."""


@dataclass(frozen=True, slots=True)
class PhraseHints:
    """Words that are likely to be said. Case and punctuation do not matter."""

    phrases: tuple[str, ...]
    """Phrases of up to six words, preferred as a whole, and sentences, which tell what words follow one another."""
    boost: float | None = None
    """How strongly they are preferred, 0 to 100 decibels (10: each piece of a word counts as ten times as likely as it
    sounds); None for what suits a phrase or a sentence."""


@dataclass(frozen=True, slots=True)
class Diarization:
    """Speaker diarization: speakers are told apart."""

    max_speakers: int = 0
    """Number of speakers at most, 1 to 32; further voices count as the likeliest. 0 for the server's choice, 8."""


@dataclass(frozen=True, slots=True)
class EndOfUtterance:
    """End of an utterance, put among the audio chunks: answer what was said so far."""

    request_id: str = ""
    """Name of this request, at most 64 characters; the events that answer it carry it. "": the client makes one up."""


@dataclass(frozen=True, slots=True)
class TypedTurn:
    """Put among the audio chunks: a turn that was typed rather than said."""

    text: str
    """The question or command, at most 2,000 code points."""
    request_id: str = ""
    """Name of this request, at most 64 characters; the events that answer it carry it. "": the client makes one up."""


@dataclass(frozen=True, slots=True)
class ConversationUpdate:
    """Change of settings, put among the audio chunks. None: stays as it is."""

    endpointing: Endpointing | None = None
    """`mode`, `patience` and the two bounds; the other fields hold for a whole conversation. Holds in a pause, too."""
    documents: tuple[Document | str, ...] | None = None
    """Texts that answers are looked for in, in place of all earlier ones; () for none."""
    phrase_hints: tuple[PhraseHints, ...] | None = None
    """Words that are likely to be said, in place of all earlier ones, from the next utterance on."""
    parameters: Mapping[str, str] | None = field(default=None, hash=False)
    """Session parameters that change, where an agent holds the dialog; the others stay."""
    knowledge: tuple[str, ...] | None = None
    """Names of knowledge bases that answers are looked for in, in place of all earlier ones; () for none."""
    variants: Mapping[str, str] | None = field(default=None, hash=False)
    """Engines by role, in place of all earlier choices, from the next turn on; {} for those without a variant."""
    second_opinion: str | None = None
    """Variant of the recognizer that reads each utterance again, from the next turn on; "" for none."""
