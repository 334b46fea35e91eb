"""Transcribes a recording with `riva.client.realtime`, as NVIDIA's published script does, and prints what came."""

import argparse
import asyncio
import json
import sys
import wave

from riva.client.realtime import RealtimeClientASR

CHUNK_SECONDS = 0.1


def arguments(server: str, rate: int) -> argparse.Namespace:
    unset = dict.fromkeys(
        (
            "start_history",
            "start_threshold",
            "stop_history",
            "stop_history_eou",
            "stop_threshold",
            "stop_threshold_eou",
        ),
        -1,
    )
    return argparse.Namespace(
        server=server,
        endpoint="/v1/realtime",
        query_params="intent=transcription",
        use_ssl=False,
        ssl_root_cert=None,
        ssl_client_cert=None,
        ssl_client_key=None,
        language_code="en-US",
        model_name="",
        prompt="",
        sample_rate_hz=rate,
        num_channels=1,
        max_alternatives=1,
        automatic_punctuation=True,
        word_time_offsets=False,
        profanity_filter=False,
        no_verbatim_transcripts=False,
        speaker_diarization=False,
        boosted_lm_words=[],
        boosted_lm_score=0.0,
        custom_configuration="",
        mic=False,
        **unset,
    )


async def main(url: str, path: str) -> None:
    with wave.open(path) as recording:
        rate = recording.getframerate()
        chunks = list(iter(lambda: recording.readframes(int(rate * CHUNK_SECONDS)), b""))
    client = RealtimeClientASR(arguments(url.removeprefix("http://"), rate))
    await client.connect()
    await asyncio.gather(client.send_audio_chunks(chunks), client.receive_responses())
    await client.disconnect()
    print(json.dumps({"text": client.final_transcript}))


asyncio.run(main(*sys.argv[1:]))
