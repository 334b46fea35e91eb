"""Speaks a recording into a Pipecat pipeline with NVIDIA's streaming speech service, and prints what came out."""

import asyncio
import json
import sys
import wave

from pipecat.frames.frames import EndFrame, Frame, InputAudioRawFrame, InterimTranscriptionFrame, TranscriptionFrame
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineParams, PipelineWorker
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor
from pipecat.services.nvidia.stt import NvidiaSTTService
from pipecat.workers.runner import WorkerRunner

FRAME_SECONDS = 0.02
PATIENCE_SECONDS = 60


class Collector(FrameProcessor):
    """Keeps the transcripts that pass."""

    def __init__(self) -> None:
        super().__init__()
        self.interim: list[str] = []
        self.final: list[str] = []
        self.heard = asyncio.Event()

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if isinstance(frame, TranscriptionFrame):
            self.final.append(frame.text)
            self.heard.set()
        elif isinstance(frame, InterimTranscriptionFrame):
            self.interim.append(frame.text)
        await self.push_frame(frame, direction)


async def main(server: str, path: str) -> None:
    with wave.open(path) as recording:
        rate, frames = recording.getframerate(), int(recording.getframerate() * FRAME_SECONDS)
        audio = list(iter(lambda: recording.readframes(frames), b""))

    stt = NvidiaSTTService(server=server, use_ssl=False)
    collector, errors = Collector(), []
    worker = PipelineWorker(Pipeline([stt, collector]), params=PipelineParams(audio_in_sample_rate=rate))

    @worker.event_handler("on_pipeline_error")
    async def on_pipeline_error(_: PipelineWorker, frame: Frame) -> None:
        errors.append(str(frame))

    async def speak() -> None:
        for chunk in audio:
            await worker.queue_frame(InputAudioRawFrame(audio=chunk, sample_rate=rate, num_channels=1))
            await asyncio.sleep(FRAME_SECONDS)
        async with asyncio.timeout(PATIENCE_SECONDS):
            await collector.heard.wait()
        await worker.queue_frame(EndFrame())

    runner = WorkerRunner(handle_sigint=False)
    await runner.add_workers(worker)
    await asyncio.gather(runner.run(), speak())
    print(json.dumps({"interim": collector.interim, "final": collector.final, "errors": errors}))


asyncio.run(main(*sys.argv[1:]))
