"""Recordings, the pace of speech, and samples as bytes."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest
import soundfile

import vivavoce
from vivavoce._requests import MAX_AUDIO_MESSAGE_BYTES, utterance_requests
from vivavoce.cli import run

if TYPE_CHECKING:
    from pathlib import Path

PCM = vivavoce.AudioFormat()
FLOATS = vivavoce.AudioFormat(vivavoce.Encoding.LINEAR_PCM_FLOAT32)


def _sent(chunk: vivavoce.AudioChunk, audio: vivavoce.AudioFormat = PCM) -> bytes:
    return b"".join(request.audio for request in utterance_requests(chunk, audio))


def test_a_recording_is_mixed_to_mono_at_its_own_rate(recording: Path) -> None:
    audio = vivavoce.read_audio(recording)

    assert audio.sample_rate_hz == 22_050
    assert audio.duration_seconds == 0.5
    assert audio.format == vivavoce.AudioFormat(vivavoce.Encoding.LINEAR_PCM, 22_050, 1)
    chunks = list(audio.chunks(0.2))
    assert [len(chunk) for chunk in chunks] == [4_410, 4_410, 2_205]
    assert all(chunk.dtype == np.float32 and (chunk == 0.25).all() for chunk in chunks)


def test_a_recording_can_be_read_again(recording: Path) -> None:
    audio = vivavoce.read_audio(str(recording))

    assert len(list(audio.chunks())) == len(list(audio.chunks())) == 5


@pytest.mark.parametrize(
    ("name", "subtype"), [("a.flac", "PCM_24"), ("a.ogg", "VORBIS"), ("a.mp3", None), ("a.aiff", None)]
)
def test_other_formats(tmp_path: Path, name: str, subtype: str | None) -> None:
    soundfile.write(tmp_path / name, np.zeros(8_000), 16_000, subtype=subtype)

    assert sum(map(len, vivavoce.read_audio(tmp_path / name).chunks())) == 8_000


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"There is no file .*nowhere\.wav"):
        vivavoce.read_audio(tmp_path / "nowhere.wav")


@pytest.fixture
def no_soundfile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "vivavoce._sound_file", raising=False)
    monkeypatch.setitem(sys.modules, "soundfile", None)


def test_without_the_package_that_reads_files_it_is_named(recording: Path, no_soundfile: None) -> None:
    with pytest.raises(ModuleNotFoundError, match="install it with `pip install soundfile`"):
        vivavoce.read_audio(recording)


def test_without_it_the_command_names_its_extra(
    recording: Path, no_soundfile: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["converse", str(recording)]) == 1
    assert capsys.readouterr().err == (
        "Reading recordings needs the package soundfile; "
        "install it with `pip install './clients[files]'` in a checkout of the project.\n"
    )


def test_a_file_that_is_no_audio(tmp_path: Path) -> None:
    (tmp_path / "notes.wav").write_text("no audio at all")

    with pytest.raises(vivavoce.NotAudio, match=r"notes\.wav cannot be read as audio .*; choose"):
        vivavoce.read_audio(tmp_path / "notes.wav")


def test_an_empty_recording(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "empty.wav", np.zeros(0), 16_000)

    with pytest.raises(vivavoce.NotAudio, match="holds no samples"):
        vivavoce.read_audio(tmp_path / "empty.wav")


def test_a_recording_that_was_cut_off_before_its_first_sample(tmp_path: Path) -> None:
    path = tmp_path / "a.flac"
    soundfile.write(path, np.ones(8_000), 16_000)
    path.write_bytes(path.read_bytes()[:86])  # What is left is the header: it promises 8,000 samples.

    with pytest.raises(vivavoce.NotAudio, match=r"a\.flac"):
        vivavoce.read_audio(path)


@pytest.mark.parametrize("sample_rate_hz", [6_000, 96_000])
def test_a_rate_that_cannot_be_served(tmp_path: Path, sample_rate_hz: int) -> None:
    soundfile.write(tmp_path / "a.wav", np.zeros(100), sample_rate_hz)

    with pytest.raises(vivavoce.NotAudio, match=f"{sample_rate_hz} samples a second; convert it"):
        vivavoce.read_audio(tmp_path / "a.wav")


def test_a_recording_that_is_damaged_further_on(tmp_path: Path) -> None:
    path = tmp_path / "a.flac"
    soundfile.write(path, np.random.default_rng(0).normal(0, 0.1, 160_000), 16_000)
    whole = path.read_bytes()
    path.write_bytes(whole[:20_000] + bytes(len(whole) - 20_000))

    with pytest.raises(vivavoce.NotAudio):
        list(vivavoce.read_audio(path).chunks())


def test_an_mp3_file_sounds_in_pieces_as_it_does_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.mp3"
    soundfile.write(path, np.random.default_rng(0).normal(0, 0.1, 320_000), 16_000)

    heard = np.concatenate(list(vivavoce.read_audio(path).chunks()))

    assert heard == pytest.approx(soundfile.read(path, dtype="float32")[0], abs=1e-6)


def test_a_recording_that_was_cut_off_ends_where_it_does(tmp_path: Path) -> None:
    path = tmp_path / "a.mp3"
    soundfile.write(path, np.random.default_rng(0).normal(0, 0.1, 32_000), 16_000)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])

    heard = np.concatenate(list(vivavoce.read_audio(path).chunks()))

    assert 12_000 < len(heard) < 20_000
    assert heard == pytest.approx(soundfile.read(path, dtype="float32")[0], abs=1e-6)


@pytest.mark.parametrize("sample_count", [700, 16_000, 20_000, 100_000])
def test_a_flac_file_that_does_not_tell_its_length(tmp_path: Path, sample_count: int) -> None:
    path = tmp_path / "a.flac"
    samples = np.random.default_rng(0).integers(-3_000, 3_000, sample_count, np.int16)
    soundfile.write(path, samples, 16_000)
    path.write_bytes(_without_length(path.read_bytes()))

    recording = vivavoce.read_audio(path)

    assert recording.duration_seconds == sample_count / 16_000
    assert (np.concatenate(list(recording.chunks())) * 32_768 == samples).all()


def _without_length(flac: bytes) -> bytes:
    """Writes the header as a program does that cannot go back to it: the last 36 bits before the checksum are zero."""
    return flac[:21] + bytes([flac[21] & 0xF0]) + bytes(4) + flac[26:]


def test_a_file_whose_name_is_not_utf_8(recording: Path) -> None:
    path = recording.rename(recording.with_name(os.fsdecode(b"caf\xe9.wav")))

    assert len(list(vivavoce.read_audio(path).chunks())) == 5


class _BusyMachine:
    """A clock on a machine where every sleep takes 30 ms too long."""

    def __init__(self) -> None:
        self.now = 100.0

    def time(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        assert seconds >= 0
        self.now += seconds + 0.03


async def test_the_pace_of_speech_does_not_drift() -> None:
    machine, moments = _BusyMachine(), []
    async for _ in vivavoce.pace([np.zeros(1_600)] * 100, 16_000, clock=machine.time, sleep=machine.sleep):
        moments.append(machine.now - 100.0)
        machine.now += 0.02  # Using the chunk takes time as well.

    assert moments == pytest.approx([0.1 * n + 0.03 for n in range(1, 101)])


async def test_a_chunk_comes_only_when_it_would_have_been_recorded() -> None:
    slept = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    chunks = [np.zeros(1_600), np.zeros(800)]
    async for _ in vivavoce.pace(chunks, 16_000, clock=lambda: 0.0, sleep=sleep):
        pass

    assert slept == pytest.approx([0.1, 0.15])


def test_floats_become_16_bit_samples_with_clipping() -> None:
    samples = np.array([0.0, 0.5, -1.0, 1.0, 3.0, -3.0], np.float32)

    assert np.frombuffer(_sent(samples), "<i2").tolist() == [0, 16_384, -32_768, 32_767, 32_767, -32_768]


def test_16_bit_samples_become_floats() -> None:
    samples = np.array([0, 16_384, -32_768], np.int16)

    assert np.frombuffer(_sent(samples, FLOATS), "<f4").tolist() == [0.0, 0.5, -1.0]


def test_channels_are_interleaved() -> None:
    samples = np.array([[1, 2], [3, 4]], np.int16)

    assert np.frombuffer(_sent(samples, vivavoce.AudioFormat(channel_count=2)), "<i2").tolist() == [1, 2, 3, 4]


def test_nan_is_refused_where_it_would_become_noise() -> None:
    with pytest.raises(vivavoce.InvalidRequest, match="NaN") as caught:
        _sent(np.array([0.0, np.nan], np.float32))
    assert caught.value.field == "audio"


@pytest.mark.parametrize("chunk", [bytearray(b"ab"), memoryview(b"ab"), b"ab"])
def test_bytes_go_as_they_are(chunk: vivavoce.AudioChunk) -> None:
    assert _sent(chunk, vivavoce.AudioFormat(vivavoce.Encoding.FLAC)) == b"ab"


def test_an_empty_chunk_is_sent_for_the_server_to_refuse() -> None:
    assert [request.WhichOneof("request") for request in utterance_requests(b"", PCM)] == ["audio"]


def test_long_audio_is_cut_below_the_servers_limit() -> None:
    data = bytes(range(256)) * 1_000
    requests = list(utterance_requests(data, PCM))

    assert b"".join(request.audio for request in requests) == data
    assert max(len(request.audio) for request in requests) == MAX_AUDIO_MESSAGE_BYTES


def test_arrays_cannot_be_sent_in_compressed_encodings() -> None:
    with pytest.raises(TypeError, match="MULAW"):
        _sent(np.zeros(3, np.int16), vivavoce.AudioFormat(vivavoce.Encoding.MULAW))


@pytest.mark.parametrize(
    ("audio", "expected"),
    [
        (vivavoce.AudioFormat(), 1.0),
        (vivavoce.AudioFormat(sample_rate_hz=8_000, channel_count=2), 1.0),
        (vivavoce.AudioFormat(vivavoce.Encoding.MULAW, 8_000), 4.0),
        (vivavoce.AudioFormat(vivavoce.Encoding.LINEAR_PCM_FLOAT32, 8_000), 1.0),
        (vivavoce.AudioFormat(vivavoce.Encoding.FLAC), None),
        (vivavoce.AudioFormat(sample_rate_hz=0), None),
    ],
)
def test_how_long_bytes_last(audio: vivavoce.AudioFormat, expected: float | None) -> None:
    assert audio.duration_seconds(32_000) == expected
