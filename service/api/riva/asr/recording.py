"""Recognizes a whole recording, ``Recognize``."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from pipelines.data.messages import Transcript
from pipelines.errors import InvalidInputError
from pipelines.text.style import has_words
from service.sessions.recordings import refuse_failure

if TYPE_CHECKING:
    from pipelines.session.channels import Channels
    from pipelines.session.conversation import Conversation


async def recognize(channels: Channels, audio: bytes) -> list[list[Transcript]]:
    """Return the non-empty final transcripts of each channel, in order.

    The audio is decoded piece by piece, as fast as the recognizer takes it: what is held of it beside the recording
    itself is what a stream would hold.

    Raises:
        InvalidInputError: the audio is empty or cannot be decoded.
        ModelError: the recognizer failed.
        NotReadyError: the server shut down before all was recognized.
    """
    listening = asyncio.create_task(_listen(channels, audio))
    collecting = [asyncio.create_task(_collect(conversation)) for conversation in channels.conversations]
    try:
        await asyncio.gather(listening, *collecting)
    finally:
        for task in (listening, *collecting):
            task.cancel()
        await asyncio.gather(listening, *collecting, return_exceptions=True)
    return [task.result() for task in collecting]


async def _listen(channels: Channels, audio: bytes) -> None:
    if not audio:
        raise InvalidInputError("audio", "EMPTY_AUDIO", "the recording is empty: send its audio")
    await channels.add_audio(audio)
    await channels.half_close()


async def _collect(conversation: Conversation) -> list[Transcript]:
    found = []
    async for message in conversation.outbox:
        refuse_failure(conversation, message)
        if isinstance(message, Transcript) and message.is_final and has_words(message.text):
            found.append(message)
    return found
