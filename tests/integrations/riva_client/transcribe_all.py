"""Transcribes every FLAC file of a folder with Riva's client, streaming and at once; prints one JSON object.

The numbers of streams and recordings under way are those of a small house, not a load test.
"""

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import riva.client

WORKERS = 4
CHUNK_BYTES = 3_200


def main(server: str, folder: str, names: list[str]) -> None:
    asr = riva.client.ASRService(riva.client.Auth(uri=server))
    config = riva.client.RecognitionConfig(enable_automatic_punctuation=True, verbatim_transcripts=True)
    streaming_config = riva.client.StreamingRecognitionConfig(config=config)

    def transcribe(name: str) -> tuple[str, str]:
        data = (Path(folder) / name).read_bytes()
        chunks = [data[start : start + CHUNK_BYTES] for start in range(0, len(data), CHUNK_BYTES)]
        responses = asr.streaming_response_generator(chunks, streaming_config)
        streamed = "".join(response.results[0].alternatives[0].transcript for response in responses)
        recognized = "".join(
            result.alternatives[0].transcript for result in asr.offline_recognize(data, config).results
        )
        return streamed.rstrip(), recognized.rstrip()

    pool = ThreadPoolExecutor(WORKERS)
    try:
        found = dict(zip(names, pool.map(transcribe, names), strict=True))
    finally:
        pool.shutdown(cancel_futures=True)
    sys.stdout.write(f"{json.dumps(found)}\n")


main(sys.argv[1], sys.argv[2], sys.argv[3:])
