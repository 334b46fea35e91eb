"""Speaks a text with LiveKit's OpenAI plugin, hears it with the same, whole and as a stream, and prints what came."""

import asyncio
import json
import sys

import aiohttp
from livekit import rtc
from livekit.agents import stt, utils
from livekit.plugins import openai

FRAME_SECONDS = 0.05
PATIENCE_SECONDS = 60


async def heard(stream: stt.SpeechStream) -> list[str]:
    """Returns the final transcripts, up to the first."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        async for event in stream:
            if event.type is stt.SpeechEventType.FINAL_TRANSCRIPT:
                return [event.alternatives[0].text]
    return []


async def main(url: str, text: str) -> None:
    base = f"{url}/v1"
    async with aiohttp.ClientSession() as session:
        utils.http_context._ContextVar.set(lambda: session)
        tts = openai.TTS(base_url=base, api_key="none", response_format="pcm")
        spoken = [event.frame async for event in tts.synthesize(text)]
        rate = spoken[0].sample_rate
        silence = rtc.AudioFrame(bytes(2 * rate), rate, 1, rate)
        sound = rtc.combine_audio_frames([*spoken, silence])
        batch = openai.STT(base_url=base, api_key="none")
        whole = (await batch.recognize(sound)).alternatives[0].text
        live = openai.STT(base_url=base, api_key="none", use_realtime=True).stream()
        hearing = asyncio.create_task(heard(live))
        step = round(rate * FRAME_SECONDS)
        for start in range(0, sound.samples_per_channel, step):
            samples = bytes(sound.data[start : start + step])
            live.push_frame(rtc.AudioFrame(samples, rate, 1, len(samples) // 2))
            await asyncio.sleep(FRAME_SECONDS)
        streamed = await hearing
        await live.aclose()
    print(json.dumps({"whole": whole, "streamed": streamed}))


asyncio.run(main(*sys.argv[1:]))
