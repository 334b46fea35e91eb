import io

import numpy as np
import pytest
import soundfile

from pipelines.audio.decoding import AudioDecoder, channel_decoder
from pipelines.audio.formats import MODEL_RATE_HZ, AudioFormat, Encoding
from pipelines.audio.resampling import Resampler
from pipelines.errors import InvalidInputError, UndecodableAudioError
from pipelines.input.timeline import Timeline

SECONDS = 1.5
TONE_HZ = 440


def tone(rate: int, channels: int = 1) -> np.ndarray:
    mono = 0.3 * np.sin(2 * np.pi * TONE_HZ * np.arange(int(rate * SECONDS)) / rate)
    return np.repeat(mono[:, np.newaxis], channels, axis=1).astype(np.float32)


def encoded(encoding: Encoding, rate: int, channels: int = 1) -> bytes:
    container, subtype = {
        Encoding.LINEAR_PCM: ("RAW", "PCM_16"),
        Encoding.LINEAR_PCM_FLOAT32: ("RAW", "FLOAT"),
        Encoding.MULAW: ("RAW", "ULAW"),
        Encoding.ALAW: ("RAW", "ALAW"),
        Encoding.FLAC: ("FLAC", "PCM_16"),
        Encoding.OGGOPUS: ("OGG", "OPUS"),
        Encoding.CONTAINER: ("AIFF", "PCM_24"),
    }[encoding]
    buffer = io.BytesIO()
    soundfile.write(buffer, tone(rate, channels), rate, format=container, subtype=subtype)
    return buffer.getvalue()


def decoded(audio_format: AudioFormat, data: bytes, chunk: int = 3200) -> np.ndarray:
    decoder = AudioDecoder(audio_format)
    blocks = [block for start in range(0, len(data), chunk) for block in decoder.decode(data[start : start + chunk])]
    return np.concatenate([*blocks, decoder.flush()])


@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize("rate", [8_000, 16_000, 24_000, 44_100, 48_000])
@pytest.mark.parametrize("encoding", list(Encoding))
def test_every_encoding_and_rate_becomes_the_same_samples(encoding: Encoding, rate: int, channels: int):
    if encoding is Encoding.OGGOPUS and rate == 44_100:
        rate = 48_000  # Opus has no such rate
    told = AudioFormat(encoding, 0, 0) if encoding.describes_itself else AudioFormat(encoding, rate, channels)
    samples = decoded(told, encoded(encoding, rate, channels))
    expected = tone(16_000)[:, 0]
    assert samples.dtype == np.float32
    assert abs(len(samples) - len(expected)) <= 200
    middle = slice(2_000, 20_000)
    # Opus is lossy, the more so the less band there is.
    assert np.abs(samples[middle] - expected[middle]).max() < (0.06 if encoding is Encoding.OGGOPUS else 0.02)


@pytest.mark.parametrize("encoding", [Encoding.FLAC, Encoding.OGGOPUS, Encoding.LINEAR_PCM])
def test_how_the_bytes_are_cut_changes_nothing(encoding: Encoding):
    told, data = AudioFormat(encoding, 16_000), encoded(encoding, 16_000)
    np.testing.assert_array_equal(decoded(told, data, chunk=98), decoded(told, data, chunk=len(data)))


@pytest.mark.parametrize(
    ("encoding", "data"),
    [
        (Encoding.LINEAR_PCM_FLOAT32, np.array([0, np.nan], "<f4").tobytes()),
        (Encoding.LINEAR_PCM_FLOAT32, np.array([0, np.inf], "<f4").tobytes()),
        (Encoding.FLAC, b"this is no FLAC stream at all, not even a bit"),
        (Encoding.FLAC, b"fLaC"),
        (Encoding.FLAC, encoded(Encoding.FLAC, 16_000)[:42] + b"garbage" * 100),
        (Encoding.OGGOPUS, b"this is no Ogg stream at all"),
        (Encoding.OGGOPUS, b"OggS\0\2" + bytes(20)),
        (Encoding.OGGOPUS, b"OggS" + bytes(22) + b"\x01\x13" + b"Something else here"),
    ],
)
def test_what_is_not_in_its_encoding_is_refused(encoding: Encoding, data: bytes):
    with pytest.raises(UndecodableAudioError):
        decoded(AudioFormat(encoding, 16_000), data)


@pytest.mark.parametrize("chunk", [98, 3_200, 1 << 20])
def test_one_opus_recording_may_follow_another(chunk: int):
    data = encoded(Encoding.OGGOPUS, 48_000)
    (once, twice) = (decoded(AudioFormat(Encoding.OGGOPUS), recording, chunk) for recording in (data, data + data))
    assert abs(len(twice) - 2 * len(once)) <= 1
    # The resampler knows the end of the first recording at the beginning of the second.
    np.testing.assert_allclose(twice[len(once) + 1_000 :][:20_000], once[1_000:][:20_000], atol=1e-3)


@pytest.mark.parametrize(("first", "second"), [(1, 2), (2, 1)])
def test_an_opus_recording_of_other_channels_may_follow(first: int, second: int):
    data = encoded(Encoding.OGGOPUS, 48_000, first) + encoded(Encoding.OGGOPUS, 48_000, second)
    samples = decoded(AudioFormat(Encoding.OGGOPUS), data)
    assert np.abs(samples[26_000:46_000]).max() == pytest.approx(0.3, abs=0.06)


def test_a_header_that_contradicts_the_config_is_refused():
    with pytest.raises(UndecodableAudioError, match="2 channel"):
        decoded(AudioFormat(Encoding.FLAC, 16_000, 1), encoded(Encoding.FLAC, 16_000, 2))


@pytest.mark.parametrize(("rate", "channels"), [(7_999, 1), (48_001, 1), (0, 1), (16_000, 3), (16_000, -1)])
def test_a_format_out_of_range_is_refused(rate: int, channels: int):
    with pytest.raises(InvalidInputError):
        AudioFormat(Encoding.LINEAR_PCM, rate, channels)


def test_a_timeline_keeps_what_was_not_forgotten():
    timeline = Timeline()
    for start in range(0, 100, 10):
        timeline.append(np.arange(start, start + 10, dtype=np.float32))
    timeline.forget_before(35)
    timeline.forget_before(20)
    timeline.forget_before(38)
    np.testing.assert_array_equal(timeline.get(40, 43), [40, 41, 42])
    assert timeline.end == 100
    with pytest.raises(IndexError):
        timeline.get(37, 40)
    with pytest.raises(IndexError):
        timeline.get(90, 101)


def test_what_a_timeline_has_given_stays_as_it_is():
    timeline = Timeline()
    given, numbers = [], np.arange(200_000, dtype=np.float32)
    for start in range(0, len(numbers), 1600):
        timeline.append(numbers[start : start + 1600])
        given.append(timeline.get(max(0, start - 4000), timeline.end))
        timeline.forget_before(start - 4000)
        assert len(timeline) <= 4000 + 1600
    for at, samples in enumerate(given):
        np.testing.assert_array_equal(samples, numbers[max(0, 1600 * at - 4000) : 1600 * (at + 1)])


def wav(subtype: str, rate: int = 16_000, channels: int = 1, container: str = "WAV") -> bytes:
    buffer = io.BytesIO()
    soundfile.write(buffer, tone(rate, channels), rate, format=container, subtype=subtype)
    return buffer.getvalue()


def channels_of(data: bytes, chunk: int, *, wanted: int = 1, promised: int = 0) -> list[np.ndarray]:
    decoder = channel_decoder(None, 0, promised, wanted)
    blocks = [block for start in range(0, len(data), chunk) for block in decoder.decode(data[start : start + chunk])]
    return [np.concatenate(channel) for channel in zip(*blocks, decoder.flush(), strict=True)]


@pytest.mark.parametrize("chunk", [7, 999, 1 << 20])
@pytest.mark.parametrize(("subtype", "container"), [("PCM_16", "WAV"), ("FLOAT", "WAV"), ("PCM_16", "WAVEX")])
def test_wav_is_decoded_wherever_it_is_cut(subtype: str, container: str, chunk: int):
    (samples,) = channels_of(wav(subtype, container=container), chunk)
    assert samples == pytest.approx(tone(16_000)[:, 0], abs=1e-3)


@pytest.mark.parametrize("subtype", ["ULAW", "ALAW"])
def test_wav_of_g711_is_decoded(subtype: str):
    (samples,) = channels_of(wav(subtype, 8_000), 3200)
    assert len(samples) == pytest.approx(16_000 * SECONDS, abs=200)
    assert np.abs(samples).max() == pytest.approx(0.3, abs=0.03)


def test_what_follows_the_samples_of_a_wav_is_left_out():
    data = wav("PCM_16") + b"LIST" + (8).to_bytes(4, "little") + b"INFOnoise"
    (samples,) = channels_of(data, 3200)
    assert len(samples) == 16_000 * SECONDS


def test_a_wav_whose_length_was_not_known_goes_on_to_its_end():
    data = bytearray(wav("PCM_16"))
    at = data.index(b"data") + 4
    data[at : at + 4] = b"\xff" * 4
    (samples,) = channels_of(bytes(data), 3200)
    assert len(samples) == 16_000 * SECONDS


def test_channels_are_taken_apart():
    left, right = tone(16_000)[:, 0], 0.5 * tone(16_000)[:, 0]
    buffer = io.BytesIO()
    soundfile.write(buffer, np.stack((left, right), axis=1), 16_000, format="WAV", subtype="FLOAT")
    assert [np.abs(channel).max() for channel in channels_of(buffer.getvalue(), 999, wanted=2, promised=2)] == [
        pytest.approx(0.3, abs=1e-3),
        pytest.approx(0.15, abs=1e-3),
    ]
    assert np.abs(channels_of(buffer.getvalue(), 999)[0]).max() == pytest.approx(0.3, abs=1e-3)


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (wav("MS_ADPCM"), "WAV with Microsoft ADPCM"),
        (wav("PCM_16", 96_000), "96000 Hz"),
        (wav("PCM_16", channels=3), "3 channels"),
        (wav("PCM_16")[:30], "inside its header"),
        (b"RIFF\0\0\0\0WAVEdata\x10\0\0\0" + bytes(16), "before their format"),
        (b"RIFF\0\0\0\0WAVEfmt \x04\0\0\0" + bytes(16), "too short"),
        (b"RIFF\0\0\0\0WAVEfmt \xf0\xff\xff\xff" + bytes(64), "longer than any"),
        (b"RIFF\0\0\0\0WAVEjunk\xff\xff\xff\x7f" + bytes(64), "ends inside its header"),
        (b"no header at all", "no header that tells its format"),
        (b"abc", "no header that tells its format"),
    ],
)
def test_a_bad_header_is_refused_with_a_sentence(data: bytes, sentence: str):
    with pytest.raises(UndecodableAudioError, match=sentence):
        channels_of(data, 3200)


def test_a_header_of_other_channels_than_promised_is_refused():
    with pytest.raises(UndecodableAudioError, match=r"2 channel\(s\), the config 1"):
        channels_of(wav("PCM_16", channels=2), 3200, promised=1)


def test_channels_that_are_all_wanted_are_not_left_out():
    stereo, mono = wav("PCM_16", channels=2), wav("PCM_16")
    with pytest.raises(InvalidInputError, match="set the channel count to 2") as refused:
        list(channel_decoder(None, 0, 0, 1, leaves_out=False).decode(stereo))
    assert (refused.value.field, refused.value.reason) == ("config.audio.channel_count", "NO_CHANNEL_COUNT")
    assert list(channel_decoder(None, 0, 0, 1, leaves_out=False).decode(mono))
    assert list(channel_decoder(None, 0, 2, 2, leaves_out=False).decode(stereo))


@pytest.mark.filterwarnings("ignore:overflow encountered in reduce:RuntimeWarning")  # that is what is tested
def test_channels_that_are_too_loud_to_be_mixed_are_refused():
    loud = np.full(3200, np.finfo(np.float32).max, "<f4")
    decoder = AudioDecoder(AudioFormat(Encoding.LINEAR_PCM_FLOAT32, 16_000, 2))
    with pytest.raises(UndecodableAudioError, match="NaN or infinity"):
        list(decoder.decode(loud.tobytes()))


@pytest.mark.parametrize("rate_hz", [8_000, 11_025, 24_000, 44_100, 48_000])
def test_resampling_is_hardly_behind(rate_hz: int):
    resampler, came, went = Resampler(), 0, 0
    for _ in range(100):
        chunk = np.zeros(rate_hz // 50, np.float32)
        came += len(chunk)
        went += len(resampler.convert(chunk, rate_hz, last=False))
        assert came / rate_hz - went / MODEL_RATE_HZ < 0.003
    assert went + len(resampler.convert(chunk, rate_hz, last=True)) == pytest.approx(2.02 * MODEL_RATE_HZ, abs=400)
