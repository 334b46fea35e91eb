"""Recordings with headers through Riva's API: a header tells the format, and what was decoded counts."""

import grpc
import pytest

from service.api.riva.proto import riva_asr_pb2 as pb
from service.api.riva.proto import riva_audio_pb2
from tests.unit.pipelines.container_audio import recording
from tests.unit.service.harness import Harness
from tests.unit.service.refusals import assert_refused, details_of
from tests.unit.service.riva.calls import audio, config, finals, recognition, speech, stream


def request(data: bytes, encoding: int, rate: int = 0) -> pb.RecognizeRequest:
    return pb.RecognizeRequest(config=recognition(encoding=encoding, sample_rate_hertz=rate), audio=data)


@pytest.mark.parametrize(
    "name",
    ["WebM, Opus", "MP4, AAC", "MP4, AAC, fragmented", "MP3", "AIFF, 24 bits", "CAF, 16 bits", "WAV, 24 bits", "RF64"],
)
async def test_a_header_tells_the_format(harness: Harness, name: str):
    for encoding, rate in ((riva_audio_pb2.ENCODING_UNSPECIFIED, 0), (riva_audio_pb2.LINEAR_PCM, 16_000)):
        response = await speech(harness).Recognize(request(recording(name), encoding, rate))
        (result,) = response.results
        assert result.alternatives[0].transcript
        assert result.audio_processed == pytest.approx(2.0, abs=0.15)


async def test_of_opus_that_breaks_off_what_was_decoded_is_recognized(harness: Harness):
    cut = recording("Ogg Opus")[:-200]
    response = await speech(harness).Recognize(request(cut, riva_audio_pb2.OGGOPUS))
    assert response.results[0].alternatives[0].transcript
    pieces = [audio(cut[start : start + 1_000]) for start in range(0, len(cut), 1_000)]
    assert finals(await stream(harness, [config(encoding=riva_audio_pb2.OGGOPUS), *pieces]))


async def test_parts_of_samples_and_empty_messages_are_taken(harness: Harness):
    data = recording("WAV, 16 bits")[44:]
    pieces = [audio(data[start : start + 3_333]) for start in range(0, len(data), 3_333)]
    even = [audio(data[start : start + 3_200]) for start in range(0, len(data), 3_200)]
    assert finals(await stream(harness, [config(), audio(b""), *pieces, audio(b"")])) == finals(
        await stream(harness, [config(), *even])
    )


async def test_what_is_refused_is_named(harness: Harness):
    for encoding in (riva_audio_pb2.FLAC, riva_audio_pb2.OGGOPUS):
        with pytest.raises(grpc.RpcError) as refused:
            await speech(harness).Recognize(request(recording("MP3"), encoding))
        assert_refused(refused.value, "UNDECODABLE_AUDIO", "audio")
        assert "this is MP3" in refused.value.details()
        assert details_of(refused.value)
