"""Puts LangChain's RivaASR at the head of a chain, speaks a recording into it, and prints what came out."""

import json
import sys
import threading
import time
import wave

from langchain_community.utilities.nvidia_riva import AudioStream, RivaASR
from langchain_core.runnables import RunnableLambda

CHUNK_SECONDS = 0.1


def speak(stream: AudioStream, path: str) -> None:
    with wave.open(path) as recording:
        frames = int(recording.getframerate() * CHUNK_SECONDS)
        while audio := recording.readframes(frames):
            stream.put(audio)
            time.sleep(CHUNK_SECONDS)
    stream.close()


def main(server: str, path: str) -> None:
    with wave.open(path) as recording:
        rate = recording.getframerate()
    stream = AudioStream()
    chain = RivaASR(url=f"http://{server}", sample_rate_hertz=rate) | RunnableLambda(str.upper)
    speaking = threading.Thread(target=speak, args=(stream, path))
    speaking.start()
    heard = []
    while not stream.complete:
        heard.append(chain.invoke(stream))
    speaking.join()
    print(json.dumps({"heard": [text for text in heard if text]}))


main(*sys.argv[1:])
