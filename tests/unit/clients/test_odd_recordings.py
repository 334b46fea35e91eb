"""Recordings that libsndfile alone reads in part, or not at all."""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING

import av
import numpy as np
import pytest
import soundfile

import vivavoce

if TYPE_CHECKING:
    from pathlib import Path

RATE = 48_000
TONE = np.sin(np.arange(RATE * 2) / 20).astype(np.float32) / 2


def written(container: str, subtype: str | None = None, rate: int = 16_000) -> bytes:
    buffer = io.BytesIO()
    soundfile.write(buffer, TONE[: rate * 2], rate, format=container, subtype=subtype)
    return buffer.getvalue()


def recorded(tmp_path: Path, name: str, codec: str) -> Path:
    path = tmp_path / name
    with av.open(str(path), "w") as file:
        stream = file.add_stream(codec, rate=RATE, layout="mono")
        for start in range(0, len(TONE), 960):
            frame = av.AudioFrame.from_ndarray(TONE[np.newaxis, start : start + 960], format="flt", layout="mono")
            frame.sample_rate, frame.pts = RATE, start
            file.mux(stream.encode(frame))
        file.mux(stream.encode(None))
    return path


def samples_of(source: Path | bytes) -> np.ndarray:
    return np.concatenate(list(vivavoce.read_audio(source).chunks()))


@pytest.mark.parametrize(
    ("name", "codec"), [("a.webm", "libopus"), ("a.mp4", "aac"), ("a.m4a", "alac"), ("a.aac", "aac")]
)
def test_what_browsers_and_phones_record_is_read(tmp_path: Path, name: str, codec: str) -> None:
    path = recorded(tmp_path, name, codec)
    recording = vivavoce.read_audio(path)

    assert recording.sample_rate_hz == RATE
    assert recording.duration_seconds == pytest.approx(2, abs=0.1)
    samples = samples_of(path)
    assert len(samples) == pytest.approx(len(TONE), abs=3_000)
    assert np.sqrt((samples[5_000:90_000] ** 2).mean()) == pytest.approx(0.5 / np.sqrt(2), abs=0.05)
    assert np.array_equal(samples_of(path.read_bytes()), samples)


def test_a_recording_that_breaks_off_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    data = recorded(tmp_path, "a.webm", "libopus").read_bytes()
    assert len(samples_of(data[: len(data) // 2])) > RATE / 2


def test_without_pyav_the_cure_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = recorded(tmp_path, "a.webm", "libopus")
    monkeypatch.setitem(sys.modules, "av", None)
    monkeypatch.delitem(sys.modules, "vivavoce._libav_file", raising=False)
    with pytest.raises(vivavoce.NotAudio, match=r"install PyAV for WebM, MP4 and AAC: `pip install av`"):
        vivavoce.read_audio(path)


def test_a_video_without_sound_is_no_audio(tmp_path: Path) -> None:
    path = tmp_path / "silent.mp4"
    with av.open(str(path), "w") as file:
        stream = file.add_stream("mpeg4", rate=10)
        stream.width = stream.height = 16
        stream.pix_fmt = "yuv420p"
        for _ in range(3):
            file.mux(stream.encode(av.VideoFrame(16, 16, "yuv420p")))
        file.mux(stream.encode(None))
    with pytest.raises(vivavoce.NotAudio, match="cannot be read as audio"):
        vivavoce.read_audio(path)


def test_all_of_several_wav_files_in_one_is_read(tmp_path: Path) -> None:
    once = written("WAV")
    path = tmp_path / "two.wav"
    path.write_bytes(once * 2)

    assert vivavoce.read_audio(path).duration_seconds == 4
    assert np.array_equal(samples_of(path), np.tile(samples_of(once), 2))
    open_ended = once[:4] + b"\xff" * 4 + once[8:40] + b"\xff" * 4 + once[44:]
    assert len(samples_of(open_ended * 2)) == 2 * len(samples_of(once))


def test_wav_files_of_several_rates_in_one_are_refused() -> None:
    with pytest.raises(vivavoce.NotAudio, match="files of several sample rates follow one another"):
        vivavoce.read_audio(written("WAV") + written("WAV", rate=8_000))


def test_flac_with_an_id3_tag_at_its_end_is_read() -> None:
    data = written("FLAC")
    assert np.array_equal(samples_of(data + b"TAG" + bytes(125)), samples_of(data))


@pytest.mark.parametrize("left_out", [1, 200, 1_500])
def test_ogg_that_breaks_off_in_its_last_page_is_read_up_to_there(left_out: int) -> None:
    data = written("OGG", "OPUS")
    whole = samples_of(data)
    samples = samples_of(data[:-left_out])
    assert len(whole) - len(samples) < 16_000 * (0.06 + left_out / 2_000)
    assert np.allclose(samples[:-700], whole[: len(samples) - 700], atol=1e-4)
