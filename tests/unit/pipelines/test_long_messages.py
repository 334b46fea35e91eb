"""One long message of a caller, and the others who wait meanwhile."""

import asyncio
import io
import time
from collections.abc import AsyncIterator

import numpy as np
import pytest
import soundfile

from pipelines.audio.decoding import channel_decoder
from pipelines.audio.formats import AudioFormat, Encoding
from pipelines.input.input_gate import STALL_SECONDS
from pipelines.session.channels import Channels
from pipelines.session.conversation import Conversation, ConversationConfig
from tests import virtual_time
from tests.unit.pipelines.compressed_audio import flac, noise
from tests.unit.pipelines.fakes import FakeModels, ScriptedVoice

RATE = 48_000
OPUS = AudioFormat(Encoding.OGGOPUS)
MULAW = AudioFormat(Encoding.MULAW, 44_100)


@pytest.fixture(scope="module")
def long_messages() -> dict[AudioFormat, bytes]:
    buffer = io.BytesIO()
    soundfile.write(buffer, noise(20, RATE), RATE, format="OGG", subtype="OPUS")
    return {OPUS: buffer.getvalue(), MULAW: b"\xff" * (1 << 20)}


class Neighbour:
    """Somebody else on the same event loop: notes the processor time between two of its turns, in seconds."""

    def __init__(self) -> None:
        self.waits: list[float] = []
        self._task = asyncio.create_task(self._look())

    async def _look(self) -> None:
        began = time.thread_time()
        while True:
            await asyncio.sleep(0)
            now = time.thread_time()
            self.waits.append(now - began)
            began = now

    async def leave(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


@pytest.fixture
async def neighbour() -> AsyncIterator[Neighbour]:
    there = Neighbour()
    yield there
    await there.leave()


def silent() -> ScriptedVoice:
    return ScriptedVoice((1, 0))


@pytest.mark.parametrize("told", [OPUS, MULAW], ids=["Opus", "mu-law"])
async def test_others_are_served_while_a_long_message_is_decoded(
    told: AudioFormat, long_messages: dict[AudioFormat, bytes], neighbour: Neighbour
) -> None:
    conversation = Conversation(ConversationConfig(told), FakeModels(), silent())
    await asyncio.sleep(0)
    await conversation.add_audio(long_messages[told])
    await conversation.close()
    assert max(neighbour.waits) < sum(neighbour.waits) / 5


async def test_others_are_served_while_a_long_message_of_riva_is_decoded(
    long_messages: dict[AudioFormat, bytes], neighbour: Neighbour
) -> None:
    conversation = Conversation(ConversationConfig(), FakeModels(), silent())
    channels = Channels(channel_decoder(Encoding.OGGOPUS, 0, 0, 1), [conversation])
    await asyncio.sleep(0)
    await channels.add_audio(long_messages[OPUS])
    await channels.close()
    assert max(neighbour.waits) < sum(neighbour.waits) / 5


async def test_a_long_message_of_silence_is_not_held_as_a_whole() -> None:
    conversation = Conversation(ConversationConfig(AudioFormat(Encoding.FLAC)), FakeModels(), silent())
    kept: list[int] = []

    async def watch() -> None:
        while True:
            kept.append(len(conversation._audio._timeline))
            await asyncio.sleep(0)

    watching = asyncio.create_task(watch())
    await conversation.add_audio(flac(np.zeros(600 * 16_000, np.float32)))
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)
    await conversation.close()
    assert max(kept) < 3 * 16_000


class SlowVoice(ScriptedVoice):
    """Takes everything for speech, and more time for it than the speech took."""

    def __init__(self, loop: virtual_time.VirtualTimeLoop) -> None:
        super().__init__((1, 1))
        self._loop = loop

    def probabilities(self, windows: np.ndarray) -> list[float]:
        self._loop.pass_seconds(0.04 * len(windows))
        return super().probabilities(windows)


def test_a_message_that_takes_long_is_no_stalled_caller() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, virtual_time.VirtualTimeLoop)
        told = AudioFormat(Encoding.LINEAR_PCM, 16_000)
        models = FakeModels()
        conversation = Conversation(ConversationConfig(told), models, SlowVoice(loop))
        began = loop.time()
        await conversation.add_audio(bytes(2 * 16_000 * 10))
        assert loop.time() - began > 2 * STALL_SECONDS
        await conversation.close()
        assert len(models.sequences) == 1

    virtual_time.run(main())


def test_a_channel_that_waits_for_another_one_has_not_fallen_silent() -> None:
    async def main() -> None:
        models = FakeModels(recognition_seconds=6)
        voices = [ScriptedVoice((60, 1)), ScriptedVoice((2, 0), (60, 1))]
        conversations = [Conversation(ConversationConfig(), models, voice) for voice in voices]
        channels = Channels(channel_decoder(Encoding.LINEAR_PCM, 16_000, 2, 2), conversations)
        began = asyncio.get_running_loop().time()
        await channels.add_audio(bytes(2 * 2 * 16_000 * 20))
        await channels.half_close()
        assert asyncio.get_running_loop().time() - began > STALL_SECONDS
        await channels.close()
        assert len(models.sequences) == 2

    virtual_time.run(main())
