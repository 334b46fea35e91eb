"""What audio is, told by how it begins: what is refused is named."""

import numpy as np
import pytest

from pipelines.audio.formats import AudioFormat, Encoding
from pipelines.errors import UndecodableAudioError
from tests.unit.pipelines.container_audio import id3v2, recording
from tests.unit.pipelines.test_containers import decoded

PCM = AudioFormat(Encoding.LINEAR_PCM, 16_000)
FOREIGN = {
    "AMR": b"#!AMR\n" + bytes(99),
    "AVI": b"RIFF\0\0\0\0AVI LIST" + bytes(99),
    "Windows Media": b"\x30\x26\xb2\x75\x8e\x66\xcf\x11" + bytes(99),
    "Sun AU": b".snd\0\0\0\x18" + bytes(99),
    "PDF": b"%PDF-1.7" + bytes(99),
    "a ZIP archive": b"PK\3\4" + bytes(99),
    "a web page": b"<!doctype HTML><title>Not found</title>",
    "MIDI": b"MThd\0\0\0\6" + bytes(99),
}


@pytest.mark.parametrize("name", FOREIGN)
@pytest.mark.parametrize("told", [PCM, AudioFormat(Encoding.CONTAINER), AudioFormat(Encoding.FLAC)])
def test_a_format_that_is_not_served_is_named(name: str, told: AudioFormat):
    with pytest.raises(UndecodableAudioError, match=f"this is {name}"):
        decoded(FOREIGN[name], told, chunk=3)


@pytest.mark.parametrize(
    ("name", "told", "sentence"),
    [
        ("MP3", Encoding.FLAC, "this is MP3, and the config says FLAC: name CONTAINER"),
        ("WebM, Opus", Encoding.OGGOPUS, "this is WebM, and the config says Ogg: name CONTAINER"),
        ("WAV, 16 bits", Encoding.FLAC, "this is WAV, and the config says FLAC"),
        ("MP4, AAC", Encoding.OGGOPUS, "this is MP4, and the config says Ogg"),
        ("AAC", Encoding.OGGOPUS, "this is AAC, and the config says Ogg"),
    ],
)
def test_another_format_than_the_config_names_is_named(name: str, told: Encoding, sentence: str):
    for chunk in (5, 1 << 20):
        with pytest.raises(UndecodableAudioError, match=sentence):
            decoded(recording(name), AudioFormat(told), chunk=chunk)


def test_what_no_header_tells_is_refused():
    with pytest.raises(UndecodableAudioError, match="no header that tells its format"):
        decoded(b"\1\2\3\4" * 99)


def test_an_ogg_file_of_something_else_is_named():
    vorbis = b"OggS\0\2" + bytes(20) + b"\x01\x07\x01vorbis"
    second = b"OggS\0\0" + bytes(20) + b"\x01\x03abc"
    with pytest.raises(UndecodableAudioError, match="this is Ogg with Vorbis"):
        decoded(vorbis + second)


def test_raw_samples_that_look_like_a_frame_are_raw_samples():
    samples = np.random.default_rng(0).integers(-2_000, 2_000, 4_000).astype("<i2")
    samples[:2] = [-1025, 0x6491]  # the header of an MP3 frame
    for size in (2, 100, 4_000):
        heard, _ = decoded(samples[:size].tobytes(), PCM)
        np.testing.assert_array_equal(heard, (samples[:size] / 32768).astype(np.float32))


def test_tags_in_front_do_not_hide_what_it_is():
    with pytest.raises(UndecodableAudioError, match="this is PDF"):
        decoded(id3v2(5_000) + FOREIGN["PDF"], chunk=100)
