"""Speaks a text with LiveKit's NVIDIA plugin, and prints what came."""

import asyncio
import json
import sys
import wave

from livekit.plugins import nvidia


async def main(server: str, path: str, *texts: str) -> None:
    tts = nvidia.TTS(server=server, use_ssl=False)
    voices = await asyncio.to_thread(tts.list_voices)
    stream = tts.stream()
    for text in texts:
        stream.push_text(text)
    stream.flush()
    stream.end_input()
    frames = [event.frame async for event in stream]
    await stream.aclose()
    with wave.open(path, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(tts.sample_rate)
        for frame in frames:
            file.writeframes(frame.data)
    print(json.dumps({"voices": voices, "rates": sorted({frame.sample_rate for frame in frames})}))


asyncio.run(main(*sys.argv[1:]))
