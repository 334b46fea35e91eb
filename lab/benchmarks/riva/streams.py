"""Holds conversations with NVIDIA's streaming client; runs where its package is installed, and imports nothing of ours.

``python streams.py HOST:PORT CALLERS``: CALLERS is a JSON file, a list of objects with ``file`` (16-bit mono WAV) and
``arrival_seconds``. Prints one JSON object: ``chunk``, the latency of every interim result in seconds, and ``lag``, the
longest that sending lagged behind the pace of speech.
"""

import json
import os
import sys
import time
import wave
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import riva.client

CHUNK_SECONDS = 0.1


class Caller:
    """Speaks one recording at the pace of speech, whatever the server does."""

    def __init__(self, address: str, file: str, arrival_seconds: float) -> None:
        self._address = address
        self._file = file
        self._arrival = arrival_seconds
        self._sent: list[float] = []
        self.lag = 0.0

    def call(self) -> list[float]:
        """Returns, for every interim result, the seconds since the chunk that completes what it covers was sent."""
        time.sleep(self._arrival)
        latencies = []
        asr = riva.client.ASRService(riva.client.Auth(uri=self._address))
        for response in asr.streaming_response_generator(self._speak(), self._config()):
            now = time.monotonic()
            latencies += [
                now - self._sent_at(result.audio_processed) for result in response.results if not result.is_final
            ]
        return latencies

    def _config(self) -> riva.client.StreamingRecognitionConfig:
        config = riva.client.RecognitionConfig(
            encoding=riva.client.AudioEncoding.LINEAR_PCM, sample_rate_hertz=16_000, language_code="en-US"
        )
        return riva.client.StreamingRecognitionConfig(config=config, interim_results=True)

    def _speak(self) -> Iterator[bytes]:
        with wave.open(self._file) as recording:
            samples, rate = recording.readframes(recording.getnframes()), recording.getframerate()
        size = 2 * round(CHUNK_SECONDS * rate)
        started = time.monotonic()
        for first in range(0, len(samples), size):
            due = started + (first + size) / 2 / rate
            time.sleep(max(0.0, due - time.monotonic()))
            now = time.monotonic()
            self.lag = max(self.lag, now - due)
            self._sent.append(now)
            yield samples[first : first + size]

    def _sent_at(self, position_seconds: float) -> float:
        return self._sent[min(int(position_seconds / CHUNK_SECONDS), len(self._sent) - 1)]


def main() -> None:
    address, callers_file = sys.argv[1:]
    # A proxy that the environment names would look for this machine's service on its own.
    os.environ["no_grpc_proxy"] = address.rpartition(":")[0]  # noqa: SIM112 - gRPC knows it in small letters
    callers = [Caller(address, **caller) for caller in json.loads(Path(callers_file).read_text(encoding="utf-8"))]
    with ThreadPoolExecutor(len(callers)) as pool:
        latencies = [latency for one in pool.map(Caller.call, callers) for latency in one]
    print(json.dumps({"chunk": latencies, "lag": max(caller.lag for caller in callers)}))


if __name__ == "__main__":
    main()
