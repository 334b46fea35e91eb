"""Speech without asyncio."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vivavoce.sync._background import background

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
    from typing import Any

    from vivavoce._speech import SpeechChunk


def chunks(
    speech: AsyncGenerator[SpeechChunk, None],
    run: Callable[[Callable[[], Coroutine[Any, Any, SpeechChunk | None]]], SpeechChunk | None],
) -> Generator[SpeechChunk, None, None]:
    """Yield speech as it comes; closing the generator ends it at once.

    Args:
        speech: The speech, which belongs to the background loop.
        run: Runs a coroutine there and waits for it.
    """

    async def following() -> SpeechChunk | None:
        return await anext(speech, None)

    try:
        while (chunk := run(following)) is not None:
            yield chunk
    finally:
        background.run(speech.aclose())
