"""How much of compressed audio is held at a time, and how much there may be."""

import tracemalloc

import numpy as np
import pytest

from pipelines.audio.decoding import AudioDecoder, channel_decoder
from pipelines.audio.formats import AudioFormat, Encoding
from pipelines.audio.sample_decoder import BLOCK_SAMPLES, MAX_PIECE_SECONDS, PIECE_BYTES
from pipelines.errors import UndecodableAudioError
from tests.unit.pipelines.compressed_audio import silent_flac, silent_opus

FLAC = AudioFormat(Encoding.FLAC)
RATE = 8_000

SUBSET_SAMPLES, SUBSET_BYTES = 4_608, 11
"""The largest block of FLAC's streamable subset, and what it takes at least."""

LARGEST_SAMPLES = 65_535
MINUTES_AT_16_KHZ = 60 * 16_000


def test_a_message_that_would_fill_memory_is_refused_while_it_is_decoded():
    data = silent_flac(70_000, LARGEST_SAMPLES, RATE)  # under 1 MiB: 159 hours
    decoder = AudioDecoder(FLAC)
    samples = 0
    tracemalloc.start()
    with pytest.raises(UndecodableAudioError, match=r"32,768 bytes .* over 30 minutes: leave long silence out"):
        for block in decoder.decode(data):
            samples += len(block)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert samples <= 30 * MINUTES_AT_16_KHZ
    assert peak < 8 << 20


def test_the_cap_holds_wherever_the_audio_is_recognized_by_its_header():
    decoder = channel_decoder(None, 0, 0, 1)
    with pytest.raises(UndecodableAudioError, match="over 30 minutes"):
        for _ in decoder.decode(silent_flac(3_000, LARGEST_SAMPLES, RATE)):
            pass


def test_the_longest_silence_that_encoders_make_is_decoded():
    frames = 4 * PIECE_BYTES // SUBSET_BYTES
    data = silent_flac(frames, SUBSET_SAMPLES, RATE)
    assert len(data) - 42 == frames * SUBSET_BYTES
    decoder = AudioDecoder(FLAC)
    sizes = [len(block) for block in decoder.decode(data)]
    assert sum(sizes) + len(decoder.flush()) == 2 * frames * SUBSET_SAMPLES
    # One block holds what the next frame brings above the size of a block, at twice the rate.
    assert max(sizes) <= 2 * (BLOCK_SAMPLES + SUBSET_SAMPLES)


def test_the_longest_silence_of_opus_stays_below_the_cap():
    # A page of 255 packets of 120 ms takes 27 bytes, and 3 a packet.
    assert 255 * 0.12 * PIECE_BYTES / (27 + 3 * 255) < MAX_PIECE_SECONDS


def test_opus_is_decoded_only_as_far_as_somebody_listens():
    data = silent_opus(pages=1_300)  # just over 1 MiB: 11 hours
    decoder = AudioDecoder(AudioFormat(Encoding.OGGOPUS))
    tracemalloc.start()
    blocks = decoder.decode(data)
    sizes = [len(next(blocks)) for _ in range(50)]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert sum(sizes) > 0
    assert max(sizes) <= BLOCK_SAMPLES
    assert peak < 8 << 20


@pytest.mark.parametrize(
    ("told", "frame_bytes"),
    [
        (AudioFormat(Encoding.LINEAR_PCM, 16_000), 2),
        (AudioFormat(Encoding.LINEAR_PCM_FLOAT32, 16_000, 2), 8),
        (AudioFormat(Encoding.MULAW, 16_000, 2), 2),
    ],
)
def test_a_part_of_a_sample_is_carried_over(told: AudioFormat, frame_bytes: int):
    whole = np.random.default_rng(0).uniform(-0.5, 0.5, 3 * PIECE_BYTES // 4).astype("<f4").tobytes()
    once = np.concatenate([*AudioDecoder(told).decode(whole)])
    decoder = AudioDecoder(told)
    blocks = [block for start in range(0, len(whole), 1_001) for block in decoder.decode(whole[start : start + 1_001])]
    np.testing.assert_array_equal(np.concatenate(blocks), once)
    assert decoder.take_damage() == []
    list(decoder.decode(bytes(frame_bytes - 1)))
    assert len(decoder.flush()) == 0
    assert decoder.take_damage() == ["the audio ends inside a sample, which was left out: send whole samples"]
    assert decoder.take_damage() == []


def test_wav_is_cut_as_everything_else():
    riff = b"RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0" + (16_000).to_bytes(4, "little") * 2 + b"\x02\0\x10\0"
    data = riff + b"data\xff\xff\xff\xff" + bytes(1 << 20)
    sizes = [len(channel) for (channel,) in channel_decoder(None, 0, 0, 1).decode(data)]
    assert sum(sizes) == 1 << 19
    assert max(sizes) <= PIECE_BYTES
