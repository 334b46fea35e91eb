"""Options of conversations and typed turns, as keyword arguments of all clients."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from vivavoce._config import AudioFormat, Diarization, Document, Endpointing, PhraseHints
    from vivavoce._dialog import Session
    from vivavoce._spoken import Interruption, ReplyVoice
    from vivavoce._tools import Tool


class AskOptions(TypedDict, total=False):
    """Options of a typed turn."""

    documents: Iterable[Document | str]
    """Texts that answers are looked for in, at most 32; several plain strings get their places as ids, from "1" on."""
    reply_budget_seconds: float | None
    """Time from the end of an utterance, or from a typed turn, within which its reply is sent, 0.02 to 60; None leaves
    it to the server (0.3)."""
    variants: Mapping[str, str] | None
    """The engine of a role by its name, where the server has several: `{"intent_slot": "bar"}`."""
    max_intents: int
    """Number of intents in `Intent.candidates`, 0 to 10."""
    time_zone: str
    """IANA name of the time zone in which "tomorrow at seven" is resolved; "" (the default) for that of the server."""
    current_time: datetime | None
    """Date and time there; None leaves it to the server."""
    knowledge: Sequence[str]
    """Names of knowledge bases of the server that answers are looked for in, beside `documents`."""
    agent: str
    """Name of the agent that holds the dialog, where the server has some; "": every turn stands alone."""
    session: Session | None
    """The session that the dialog is part of; None: it ends with the conversation, or with the typed turn."""


class ConverseOptions(AskOptions, total=False):
    """Options of a conversation."""

    audio: AudioFormat | None
    """Format of the audio; 16-bit PCM at 16 kHz by default. None when only typed turns are sent."""
    interim_results: bool
    """True to get transcripts that may still change."""
    endpointing: Endpointing | None
    """Rules for the beginning and the end of an utterance; None leaves them to the server."""
    language: str
    """Tag of the language to recognize, such as `de-DE`, or `auto`; "" (the default) leaves it to the recognizer. What
    understands and answers is English."""
    second_opinion: str | None
    """Variant of the recognizer that reads each utterance again, in the pause at its end; its text counts if it comes
    in time. "": none; None (the default) leaves it to the server."""
    phrase_hints: Sequence[PhraseHints]
    """Words that are likely to be said."""
    max_alternatives: int
    """Number of other texts with each final transcript, 0 to 10."""
    reconnect_seconds: float
    """Time for which a connection that was lost, or whose server shut down, is tried to be made anew; 0 for not at all.

    What was said and not answered yet is sent again, up to 30 s of audio (8 MiB), and what is said meanwhile is kept.
    Only for audio that can be cut anywhere, and for typed turns."""
    ignore_engine_hints: bool
    """True to recognize without the phrase hints that the engine for intents brings."""
    reply_audio: ReplyVoice | None
    """Voice and format of spoken replies, which come as `ReplyAudio`; None: replies are not spoken."""
    interruption: Interruption | None
    """Rules for interrupting a spoken reply; None leaves them to the server."""
    diarization: Diarization | None
    """Settings for telling speakers apart, where the server does that; None: speakers are not told apart."""
    tools: Mapping[str, Tool] | None
    """Async functions that run what the agent asks for, by the names of its fulfilments.

    Others are answered with `Conversation.send_tool_result`. Both need `audio_chunks` that has not come to its end."""


def check_options(options: Mapping[str, object], known: type, function: str) -> None:
    """Check the names of keyword arguments.

    Raises:
        TypeError: One is unknown.
    """
    for name in options:
        if name not in known.__annotations__:
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}")
