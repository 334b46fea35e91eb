"""Speaks texts in a Pipecat pipeline with NVIDIA's speech services, hears them again there, and prints both."""

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
)
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineParams, PipelineWorker
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor
from pipecat.services.nvidia.stt import NvidiaSTTService
from pipecat.services.nvidia.tts import NvidiaTTSService
from pipecat.workers.runner import WorkerRunner

RATE = 16_000
FRAME_BYTES = RATE // 50 * 2
PATIENCE_SECONDS = 60


class Speech(FrameProcessor):
    """Keeps the speech that passes."""

    def __init__(self) -> None:
        super().__init__()
        self.audio = bytearray()
        self.over = asyncio.Event()

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if isinstance(frame, TTSAudioRawFrame):
            self.audio += frame.audio
        elif isinstance(frame, TTSStoppedFrame):
            self.over.set()
        await self.push_frame(frame, direction)


class Transcripts(FrameProcessor):
    """Keeps the transcripts that pass."""

    def __init__(self) -> None:
        super().__init__()
        self.final: list[str] = []
        self.heard = asyncio.Event()

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if isinstance(frame, TranscriptionFrame):
            self.final.append(frame.text)
            self.heard.set()
        await self.push_frame(frame, direction)


async def main(server: str, text: str) -> None:
    stt = NvidiaSTTService(server=server, use_ssl=False)
    tts = NvidiaTTSService(server=server, use_ssl=False, sample_rate=RATE)
    speech, transcripts, errors = Speech(), Transcripts(), []
    params = PipelineParams(audio_in_sample_rate=RATE, audio_out_sample_rate=RATE)
    worker = PipelineWorker(Pipeline([stt, transcripts, tts, speech]), params=params)

    @worker.event_handler("on_pipeline_error")
    async def on_pipeline_error(_: PipelineWorker, frame: Frame) -> None:
        errors.append(str(frame))

    async def talk() -> None:
        await worker.queue_frame(TTSSpeakFrame(text))
        async with asyncio.timeout(PATIENCE_SECONDS):
            await speech.over.wait()
        audio = bytes(speech.audio) + bytes(2 * RATE)
        for start in range(0, len(audio), FRAME_BYTES):
            chunk = audio[start : start + FRAME_BYTES]
            await worker.queue_frame(InputAudioRawFrame(audio=chunk, sample_rate=RATE, num_channels=1))
            await asyncio.sleep(0.02)
        async with asyncio.timeout(PATIENCE_SECONDS):
            await transcripts.heard.wait()
        await worker.queue_frame(EndFrame())

    runner = WorkerRunner(handle_sigint=False)
    await runner.add_workers(worker)
    await asyncio.gather(runner.run(), talk())
    seconds = len(speech.audio) / 2 / RATE
    print(json.dumps({"final": transcripts.final, "seconds": seconds, "errors": errors}))


asyncio.run(main(*sys.argv[1:]))
