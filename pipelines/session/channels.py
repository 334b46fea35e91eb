"""The channels of one stream of audio, each recognized by itself."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Sequence

    import numpy as np
    import numpy.typing as npt

    from pipelines.audio.decoding import ChannelDecoder
    from pipelines.data.messages import AwayReason
    from pipelines.session.conversation import Conversation


class Channels:
    """Conversations by channel, with one input and an outbox each.

    Args:
        decoder: takes the stream apart.
        conversations: one for each channel that it returns.

    Attributes:
        conversations: the same.
    """

    def __init__(self, decoder: ChannelDecoder, conversations: Sequence[Conversation]) -> None:
        self.conversations = tuple(conversations)
        self._decoder = decoder

    @property
    def phase(self) -> str:
        """State in one word: ``idle``, or that of the first active channel."""
        return next((one.phase for one in self.conversations if one.phase != "idle"), "idle")

    async def add_audio(self, data: bytes, between: Callable[[], Awaitable[None]] | None = None) -> None:
        """Take the next piece of audio, with back-pressure.

        Args:
            data: the piece.
            between: called after each block of it that was heard, of a second or two.

        Raises:
            InvalidInputError: the piece cannot be decoded.
        """
        with self._holding_up():
            for channels in self._decoder.decode(data):
                await self._listen(channels)
                if between is not None:
                    await between()
                # Others are served between two blocks, also while nobody speaks and nothing has to be waited for.
                await asyncio.sleep(0)

    def end_utterance(self) -> None:
        """End the utterance under way on every channel."""
        for conversation in self.conversations:
            conversation.end_utterance()

    async def half_close(self) -> None:
        """Announce the end; the outboxes end after the last transcripts.

        Raises:
            UndecodableAudioError: the audio breaks off in a way that its encoding does not allow.
        """
        with self._holding_up():
            await self._listen(self._decoder.flush())
        for conversation in self.conversations:
            await conversation.half_close()

    def announce_end(self, reason: AwayReason, grace_seconds: float) -> None:
        """Tell the caller that the server will end the stream."""
        for conversation in self.conversations:
            conversation.announce_end(reason, grace_seconds)

    def finish(self) -> None:
        """End every outbox."""
        for conversation in self.conversations:
            conversation.outbox.finish()

    def fail(self, error: Exception) -> None:
        """End every outbox with ``error``."""
        for conversation in self.conversations:
            conversation.outbox.fail(error)

    async def close(self) -> None:
        """Abandon everything; wait until every sequence is ended. Idempotent."""
        for conversation in self.conversations:
            conversation.abandon()
        for conversation in self.conversations:
            await conversation.close()

    async def _listen(self, channels: Sequence[npt.NDArray[np.float32]]) -> None:
        for conversation, samples in zip(self.conversations, channels, strict=True):
            await conversation.add_samples(samples)

    @contextlib.contextmanager
    def _holding_up(self) -> Iterator[None]:
        """Let all channels know while the caller may have to wait because of one of them."""
        for conversation in self.conversations:
            conversation.hold_up(held_up=True)
        try:
            yield
        finally:
            for conversation in self.conversations:
                conversation.hold_up(held_up=False)
