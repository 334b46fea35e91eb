"""The model ``tts`` inside a real Triton, and its client."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import numpy as np
import pytest

from pipelines.audio.formats import SPEECH_RATE_HZ
from pipelines.errors import ModelError
from pipelines.models.synthesis_port import DEFAULT_VOICE, SpeechPart
from pipelines.models.triton import TritonClient, TritonSynthesizer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import numpy.typing as npt

FERRY = SpeechPart("The ferry to the island leaves at nine, and comes back in the evening.")
LONG = tuple(
    SpeechPart(f"This is sentence number {number}, which takes a while.", pause_seconds=0.2) for number in range(20)
)


@pytest.fixture
async def client(triton_address: str) -> AsyncIterator[TritonClient]:
    connected = TritonClient(triton_address)
    yield connected
    await connected.close()


@pytest.fixture
def synthesizer(client: TritonClient) -> TritonSynthesizer:
    return TritonSynthesizer(client)


async def speak(
    synthesizer: TritonSynthesizer, *parts: SpeechPart, voice: str = DEFAULT_VOICE, seed: int = 1
) -> npt.NDArray[np.float32]:
    return np.concatenate([piece async for piece in synthesizer.speak(parts, voice, seed)])


async def test_speech_comes_in_pieces_and_is_the_same_for_the_same_seed(synthesizer: TritonSynthesizer):
    pieces = [piece async for piece in synthesizer.speak((FERRY,), DEFAULT_VOICE, 1)]
    assert len(pieces) > 2
    speech = np.concatenate(pieces)
    assert 2.5 < len(speech) / SPEECH_RATE_HZ < 6
    assert 0.05 < np.sqrt(np.mean(speech**2)) < 0.2
    assert np.abs(speech).max() < 1
    assert np.array_equal(speech, await speak(synthesizer, FERRY))
    assert not np.array_equal(speech, await speak(synthesizer, FERRY, seed=2))


async def test_speed_pauses_and_phonemes_are_heard(synthesizer: TritonSynthesizer):
    usual = await speak(synthesizer, FERRY)
    slow = await speak(synthesizer, SpeechPart(FERRY.text, speed=0.7))
    assert len(slow) > 1.2 * len(usual)
    paused = await speak(synthesizer, SpeechPart(FERRY.text, pause_seconds=1.5))
    assert len(paused) == len(usual) + round(1.5 * SPEECH_RATE_HZ)
    assert not paused[len(usual) :].any()
    spelled = await speak(synthesizer, SpeechPart("", phonemes="hɛloʊ"))
    assert 0.2 < len(spelled) / SPEECH_RATE_HZ < 1.5


@pytest.mark.parametrize(
    ("parts", "voice"),
    [
        ((), DEFAULT_VOICE),
        ((FERRY,), "nobody"),
        ((SpeechPart("x", speed=9),), DEFAULT_VOICE),
        ((SpeechPart("x" * 2_001),), DEFAULT_VOICE),
    ],
    ids=["nothing", "voice", "speed", "length"],
)
async def test_what_cannot_be_spoken_is_refused_and_the_next_is_served(
    synthesizer: TritonSynthesizer, parts: tuple[SpeechPart, ...], voice: str
):
    with pytest.raises(ModelError, match="tts failed"):
        await speak(synthesizer, *parts, voice=voice)
    assert len(await speak(synthesizer, SpeechPart("Yes.")))


async def test_callers_who_stop_listening_harm_nobody(client: TritonClient, synthesizer: TritonSynthesizer):
    """Triton is never told that they are gone: its server may end where a cancellation meets an answer."""
    for _ in range(20):
        stream = synthesizer.speak(LONG[:3], DEFAULT_VOICE, 0)
        await anext(stream)
        await stream.aclose()
    reader = asyncio.create_task(speak(synthesizer, *LONG))
    await asyncio.sleep(0.05)
    reader.cancel()
    await asyncio.wait((reader,))
    assert reader.cancelled()
    assert len(await speak(synthesizer, SpeechPart("Yes.")))
    async with asyncio.timeout(30):
        while client._abandoned:
            await asyncio.sleep(0.05)


async def test_callers_at_once_are_all_served(synthesizer: TritonSynthesizer):
    alone = await speak(synthesizer, FERRY)
    for together in await asyncio.gather(*(speak(synthesizer, FERRY) for _ in range(8))):
        assert np.array_equal(together, alone)
