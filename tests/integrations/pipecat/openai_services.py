"""Speaks a text in a Pipecat pipeline with OpenAI's services, hears it there in two ways, and prints what came out."""

import asyncio
import json
import sys

from pipecat.frames.frames import (
    EndFrame,
    Frame,
    InputAudioRawFrame,
    TranscriptionFrame,
    TTSAudioRawFrame,
    TTSSpeakFrame,
    TTSStoppedFrame,
    VADUserStartedSpeakingFrame,
    VADUserStoppedSpeakingFrame,
)
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineParams, PipelineWorker
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor
from pipecat.services.openai.stt import OpenAIRealtimeSTTService, OpenAISTTService
from pipecat.services.openai.tts import OpenAITTSService
from pipecat.workers.runner import WorkerRunner

RATE_HZ = 24_000
FRAME_SECONDS = 0.02
FRAME_BYTES = round(RATE_HZ * FRAME_SECONDS) * 2
SILENCE = bytes(2 * RATE_HZ)
PATIENCE_SECONDS = 60


class Collector(FrameProcessor):
    """Keeps what passes."""

    def __init__(self, last: type[Frame]) -> None:
        super().__init__()
        self.audio, self.final = bytearray(), []
        self.over = asyncio.Event()
        self.last = last

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if isinstance(frame, TTSAudioRawFrame):
            self.audio += frame.audio
        if isinstance(frame, TranscriptionFrame):
            self.final.append(frame.text)
        if isinstance(frame, self.last):
            self.over.set()
        await self.push_frame(frame, direction)


async def run(service: FrameProcessor, last: type[Frame], frames: list[Frame], errors: list[str]) -> Collector:
    """Sends frames through a service until the last frame has come out of it."""
    collector = Collector(last)
    parameters = PipelineParams(audio_in_sample_rate=RATE_HZ, audio_out_sample_rate=RATE_HZ)
    worker = PipelineWorker(Pipeline([service, collector]), params=parameters)

    @worker.event_handler("on_pipeline_error")
    async def on_pipeline_error(_: PipelineWorker, frame: Frame) -> None:
        errors.append(str(frame))
        collector.over.set()

    async def send() -> None:
        for frame in frames:
            await worker.queue_frame(frame)
            if isinstance(frame, InputAudioRawFrame):
                await asyncio.sleep(FRAME_SECONDS)
        async with asyncio.timeout(PATIENCE_SECONDS):
            await collector.over.wait()
        await worker.queue_frame(EndFrame())

    runner = WorkerRunner(handle_sigint=False)
    await runner.add_workers(worker)
    await asyncio.gather(runner.run(), send())
    return collector


async def main(url: str, text: str) -> None:
    errors: list[str] = []
    base = f"{url}/v1"
    tts = OpenAITTSService(api_key="none", base_url=base)
    spoken = bytes((await run(tts, TTSStoppedFrame, [TTSSpeakFrame(text)], errors)).audio)
    audio = SILENCE[: RATE_HZ // 2] + spoken + SILENCE
    pieces = [audio[start : start + FRAME_BYTES] for start in range(0, len(audio), FRAME_BYTES)]
    sound = [InputAudioRawFrame(audio=piece, sample_rate=RATE_HZ, num_channels=1) for piece in pieces]
    framed = [VADUserStartedSpeakingFrame(), *sound, VADUserStoppedSpeakingFrame()]

    batch = await run(OpenAISTTService(api_key="none", base_url=base), TranscriptionFrame, framed, errors)
    socket = base.replace("http", "ws", 1) + "/realtime"
    local = OpenAIRealtimeSTTService(api_key="none", base_url=socket)
    committed = await run(local, TranscriptionFrame, framed, errors)
    detecting = OpenAIRealtimeSTTService(api_key="none", base_url=socket, turn_detection={"type": "server_vad"})
    detected = await run(detecting, TranscriptionFrame, sound, errors)
    found = {
        "seconds": len(spoken) / 2 / RATE_HZ,
        "batch": batch.final,
        "committed": committed.final,
        "detected": detected.final,
        "errors": errors,
    }
    print(json.dumps(found))


asyncio.run(main(*sys.argv[1:]))
