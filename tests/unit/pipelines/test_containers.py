"""Every format that has a header: the same sound comes out of it, wherever its bytes are cut."""

import numpy as np
import pytest

from pipelines.audio.decoding import AudioDecoder, channel_decoder
from pipelines.audio.formats import AudioFormat, Encoding
from pipelines.errors import UndecodableAudioError
from tests.unit.pipelines.container_audio import FORMATS, id3v1, id3v2, melody, recording, wav_chunk, with_soundfile

CONTAINER = AudioFormat(Encoding.CONTAINER)
MAX_DELAY = 3_000
"""Samples at 16 kHz that an encoder may put in front."""


def decoded(data: bytes, told: AudioFormat = CONTAINER, chunk: int = 1_777) -> tuple[np.ndarray, list[str]]:
    decoder = AudioDecoder(told)
    blocks = [block for start in range(0, len(data), chunk) for block in decoder.decode(data[start : start + chunk])]
    samples = np.concatenate([*blocks, decoder.flush()])
    return samples, decoder.take_damage()


def likeness(samples: np.ndarray, expected: np.ndarray) -> float:
    """The highest correlation with ``expected`` over all delays, 1 for the same sound."""
    size = len(samples) + len(expected)
    product = np.fft.irfft(np.fft.rfft(samples, size) * np.conj(np.fft.rfft(expected, size)), size)
    return float(product[:MAX_DELAY].max() / np.sqrt((samples**2).sum() * (expected**2).sum()))


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_decoded_to_the_same_sound(name: str):
    samples, damage = decoded(recording(name))
    assert likeness(samples, melody()) > 0.97
    assert abs(len(samples) - len(melody())) <= MAX_DELAY
    assert damage == []


@pytest.mark.parametrize("name", FORMATS)
def test_how_the_bytes_are_cut_changes_nothing(name: str):
    data = recording(name)
    whole, _ = decoded(data, chunk=len(data))
    for chunk in (97, 4_096):
        np.testing.assert_array_equal(decoded(data, chunk=chunk)[0], whole)


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_is_told_by_its_header_also_where_raw_samples_were_promised(name: str):
    samples, _ = decoded(recording(name), AudioFormat(Encoding.LINEAR_PCM, 16_000))
    assert likeness(samples, melody()) > 0.97
    decoder = channel_decoder(None, 0, 0, 1)
    blocks = [channel for (channel,) in decoder.decode(recording(name))]
    (rest,) = decoder.flush()
    assert likeness(np.concatenate([*blocks, rest]), melody()) > 0.97


@pytest.mark.parametrize("name", FORMATS)
def test_of_a_recording_that_breaks_off_the_beginning_is_heard(name: str):
    if name in {"MP4, AAC", "MP4, Opus", "M4A, Apple Lossless", "QuickTime, AAC"}:
        with pytest.raises(UndecodableAudioError, match="ends before its index"):
            decoded(recording(name)[:-400])
        return
    data = recording(name)
    samples, _ = decoded(data[: len(data) * 3 // 4 | 1])
    assert len(samples) > len(melody()) / 3
    assert likeness(samples[:20_000], melody()[:20_000]) > 0.9


@pytest.mark.parametrize(
    "name", [name for name in FORMATS if not name.startswith(("WAV, 24 bits, ext", "MP4", "M4A", "Quick"))]
)
@pytest.mark.parametrize("chunk", [1_777, 1 << 20])
def test_of_two_recordings_in_one_stream_both_are_heard(name: str, chunk: int):
    once, _ = decoded(recording(name), chunk=chunk)
    twice, damage = decoded(recording(name) * 2, chunk=chunk)
    assert abs(len(twice) - 2 * len(once)) <= 500
    assert likeness(twice[len(once) - 100 :], melody()) > 0.97
    assert damage == []


def test_of_two_mp4_files_in_one_stream_both_are_heard():
    once, _ = decoded(recording("MP4, AAC, index first"))
    for name in ("MP4, AAC, index first", "MP4, AAC"):
        twice, _ = decoded(recording(name) * 2)
        assert len(twice) == pytest.approx(2 * len(once), abs=10)


@pytest.mark.parametrize("name", ["WAV, 16 bits", "FLAC", "MP3", "AAC"])
def test_tags_before_and_behind_a_recording_are_skipped(name: str):
    once, _ = decoded(recording(name))
    tagged = id3v2(300_000) + recording(name) + id3v1()
    for chunk in (997, len(tagged)):
        samples, damage = decoded(tagged + tagged, chunk=chunk)
        assert len(samples) == pytest.approx(2 * len(once), abs=500)
        assert damage == []


def test_metadata_of_any_length_may_precede_the_samples_of_a_wav():
    data = recording("WAV, 16 bits")
    long = data[:12] + wav_chunk(b"JUNK", bytes(100_001)) + data[12:]
    np.testing.assert_array_equal(decoded(long)[0], decoded(data)[0])


@pytest.mark.parametrize("length", [0, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF])
def test_a_writer_to_a_pipe_need_not_know_the_length(length: int):
    data = bytearray(recording("WAV, 16 bits"))
    at = data.index(b"data") + 4
    data[4:8] = data[at : at + 4] = length.to_bytes(4, "little")
    samples, damage = decoded(bytes(data))
    assert len(samples) == len(melody())
    twice, _ = decoded(bytes(data) * 2)
    np.testing.assert_array_equal(twice, np.concatenate([samples, samples]))
    assert damage == []


def test_each_message_may_be_a_wav_of_its_own():
    data = recording("WAV, 16 bits")
    header, samples = data[: data.index(b"data") + 4], data[data.index(b"data") + 8 :]
    decoder = AudioDecoder(AudioFormat(Encoding.LINEAR_PCM, 16_000))
    blocks = []
    for start in range(0, len(samples), 3_200):
        piece = samples[start : start + 3_200]
        blocks += decoder.decode(header + len(piece).to_bytes(4, "little") + piece)
    np.testing.assert_array_equal(np.concatenate([*blocks, decoder.flush()]), decoded(data)[0])


def test_a_wav_that_ends_inside_a_sample_says_so():
    _, damage = decoded(recording("WAV, 16 bits")[:-1])
    assert damage == ["the WAV audio ends inside a sample, which was left out"]


def test_a_wav_of_another_rate_cannot_follow():
    with pytest.raises(UndecodableAudioError, match="8000 Hz and 1 channel"):
        decoded(recording("WAV, 16 bits") + with_soundfile("WAV", "PCM_16", 8_000))
