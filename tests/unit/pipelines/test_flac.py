"""FLAC on its way in: when its samples come out, and what is refused."""

import io
import threading
from itertools import accumulate

import numpy as np
import pytest
import soundfile

from pipelines.audio.decoding import AudioDecoder
from pipelines.audio.formats import AudioFormat, Encoding
from pipelines.errors import UndecodableAudioError
from tests.unit.pipelines.compressed_audio import FLAC_FRAME_SAMPLES, flac, noise, silent_flac

RATE = 16_000
FLAC = AudioFormat(Encoding.FLAC)


def heard(decoder: AudioDecoder, data: bytes) -> np.ndarray:
    return np.concatenate([np.zeros(0, np.float32), *decoder.decode(data)])


def test_every_frame_comes_with_the_byte_that_completes_it():
    samples = noise(2)
    data = flac(samples)
    decoder = AudioDecoder(FLAC)
    counts = list(accumulate(len(heard(decoder, data[at : at + 1])) for at in range(len(data))))
    frames = range(FLAC_FRAME_SAMPLES, len(samples), FLAC_FRAME_SAMPLES)
    assert sorted(set(counts)) == [0, *frames, len(samples)]
    assert counts[-1] == len(samples) > counts[-2]


@pytest.mark.parametrize("chunk", [1, 100, 2_400, 1 << 20])
def test_nothing_is_left_for_the_end(chunk: int):
    samples = noise(2)
    data = flac(samples)
    decoder = AudioDecoder(FLAC)
    decoded = np.concatenate([heard(decoder, data[at : at + chunk]) for at in range(0, len(data), chunk)])
    np.testing.assert_allclose(decoded, samples, atol=2e-5)
    assert len(decoder.flush()) == 0


def test_no_thread_is_needed():
    before = threading.active_count()
    decoder = AudioDecoder(FLAC)
    heard(decoder, flac(noise(1)))
    assert threading.active_count() == before


@pytest.mark.parametrize(("subtype", "precision"), [("PCM_S8", 1e-2), ("PCM_16", 2e-5), ("PCM_24", 2e-7)])
@pytest.mark.parametrize("channels", [1, 2])
def test_samples_of_every_size_are_decoded(subtype: str, precision: float, channels: int):
    samples = noise(1)
    decoded = heard(AudioDecoder(FLAC), flac(samples, channels=channels, subtype=subtype))
    np.testing.assert_allclose(decoded, samples, atol=precision)


def damaged(data: bytes) -> bytes:
    """Turns one bit in the middle."""
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 0x10]) + data[middle + 1 :]


@pytest.mark.parametrize(
    "spoil",
    [
        damaged,
        lambda data: data[: len(data) // 2] + data[len(data) // 2 + 100 :],
        lambda data: data + b"garbage" * 10,
        lambda data: data + bytes(1_000),
        # The frames of 16 kHz stay under a header that says 8 kHz.
        lambda data: data[:18] + bytes.fromhex("01f400") + data[21:],
    ],
    ids=["a turned bit", "a hole", "something behind it", "zeros behind it", "another rate"],
)
def test_damage_is_told_at_once(spoil):
    decoder = AudioDecoder(FLAC)
    with pytest.raises(UndecodableAudioError, match="FLAC audio is damaged"):
        heard(decoder, spoil(flac(noise(2))))


def test_a_frame_that_never_ends_is_not_waited_for():
    data = flac(noise(1))
    decoder = AudioDecoder(FLAC)
    heard(decoder, data[: len(data) // 2])
    with pytest.raises(UndecodableAudioError, match="damaged"):
        for _ in range(64):
            heard(decoder, bytes(32_768))


def test_a_header_that_is_damaged_is_refused():
    data = flac(noise(1))
    with pytest.raises(UndecodableAudioError, match="does not begin with STREAMINFO"):
        heard(AudioDecoder(FLAC), data[:4] + b"\x84" + data[5:])


def test_a_frame_that_breaks_off_is_left_out():
    samples = noise(2)
    decoder = AudioDecoder(FLAC)
    assert len(heard(decoder, flac(samples)[:-1])) == len(samples) // FLAC_FRAME_SAMPLES * FLAC_FRAME_SAMPLES
    assert len(decoder.flush()) == 0


@pytest.mark.parametrize("chunk", [1, 7, 2_400, 1 << 20])
def test_one_recording_may_follow_another(chunk: int):
    presses = [noise(seconds) for seconds in (1, 0.3, 0.7)]
    data = b"".join(map(flac, presses))
    decoder = AudioDecoder(FLAC)
    decoded = np.concatenate([heard(decoder, data[at : at + chunk]) for at in range(0, len(data), chunk)])
    np.testing.assert_allclose(decoded, np.concatenate(presses), atol=2e-5)


@pytest.mark.parametrize(("rate", "channels"), [(8_000, 1), (RATE, 2)])
def test_a_recording_of_another_format_cannot_follow(rate: int, channels: int):
    decoder = AudioDecoder(FLAC)
    assert len(heard(decoder, flac(noise(1)))) == RATE
    sentence = rf"{rate} Hz and {channels} channel\(s\) follows one of 16000 Hz and 1: record all alike"
    with pytest.raises(UndecodableAudioError, match=sentence):
        heard(decoder, flac(noise(1), rate=rate, channels=channels))


def test_a_second_recording_that_ends_inside_its_header_is_refused():
    data = flac(noise(1))
    decoder = AudioDecoder(FLAC)
    heard(decoder, data + data[:30])
    with pytest.raises(UndecodableAudioError, match="inside its header"):
        decoder.flush()


@pytest.mark.parametrize("chunk", [1_000, 1 << 20])
def test_pictures_in_the_header_are_skipped(chunk: int):
    samples = noise(1)
    data = flac(samples)
    picture = b"\x06" + (300_000).to_bytes(3, "big") + bytes(300_000)
    data = data[:42] + picture + data[42:]
    decoder = AudioDecoder(FLAC)
    decoded = np.concatenate([heard(decoder, data[at : at + chunk]) for at in range(0, len(data), chunk)])
    np.testing.assert_allclose(decoded, samples, atol=2e-5)


def test_frames_made_by_hand_are_decoded_as_libsndfile_does():
    data = silent_flac(3, 4_608, RATE)
    samples, rate = soundfile.read(io.BytesIO(data))
    assert (len(samples), rate) == (3 * 4_608, RATE)
    assert len(heard(AudioDecoder(FLAC), data)) == len(samples)
