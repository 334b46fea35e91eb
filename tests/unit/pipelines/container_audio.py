"""Recordings in every format that has a header, made from samples when a test asks for them."""

import io
import struct
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import av
import numpy as np
import soundfile

RATE = 16_000
SECONDS = 2.0


def melody(rate: int = RATE, seconds: float = SECONDS) -> np.ndarray:
    """A tone that goes up, by which places in the audio are told apart."""
    at = np.arange(round(rate * seconds)) / rate
    return (0.3 * np.sin(2 * np.pi * (200 * at + 150 * at * at))).astype(np.float32)


def with_soundfile(container: str, subtype: str, rate: int = RATE, channels: int = 1) -> bytes:
    buffer = io.BytesIO()
    samples = np.repeat(melody(rate)[:, np.newaxis], channels, axis=1)
    soundfile.write(buffer, samples, rate, format=container, subtype=subtype)
    return buffer.getvalue()


def with_av(container: str, codec: str, rate: int = 48_000, options: dict[str, str] | None = None) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        # What puts an index in front reads the file that it has written.
        path = Path(folder, "file")
        _write(path, container, codec, rate, options or {})
        return path.read_bytes()


def _write(path: Path, container: str, codec: str, rate: int, options: dict[str, str]) -> None:
    with av.open(str(path), "w", format=container, options=options) as file:
        stream = file.add_stream(codec, rate=rate, layout="mono")
        samples = melody(rate)
        size = stream.codec_context.frame_size or 1024
        for start in range(0, len(samples), size):
            frame = av.AudioFrame.from_ndarray(samples[np.newaxis, start : start + size], format="flt", layout="mono")
            frame.sample_rate, frame.pts = rate, start
            file.mux(stream.encode(frame))
        file.mux(stream.encode(None))


FRAGMENTED = {"movflags": "frag_keyframe+empty_moov+default_base_moof"}
FORMATS: dict[str, Callable[[], bytes]] = {
    "WAV, 8 bits": lambda: with_soundfile("WAV", "PCM_U8"),
    "WAV, 16 bits": lambda: with_soundfile("WAV", "PCM_16"),
    "WAV, 24 bits": lambda: with_soundfile("WAV", "PCM_24"),
    "WAV, 24 bits, extensible, stereo": lambda: with_soundfile("WAVEX", "PCM_24", channels=2),
    "WAV, 32 bits": lambda: with_soundfile("WAV", "PCM_32"),
    "WAV, floats": lambda: with_soundfile("WAV", "FLOAT"),
    "WAV, doubles": lambda: with_soundfile("WAV", "DOUBLE"),
    "WAV, mu-law": lambda: with_soundfile("WAV", "ULAW"),
    "RF64": lambda: with_soundfile("RF64", "PCM_16"),
    "Wave64": lambda: with_soundfile("W64", "PCM_24"),
    "FLAC": lambda: with_soundfile("FLAC", "PCM_16"),
    "Ogg Opus": lambda: with_soundfile("OGG", "OPUS", 48_000),
    "AIFF, 16 bits": lambda: with_soundfile("AIFF", "PCM_16"),
    "AIFF, 24 bits": lambda: with_soundfile("AIFF", "PCM_24", channels=2),
    "AIFF, 8 bits": lambda: with_soundfile("AIFF", "PCM_S8"),
    "AIFF, floats": lambda: with_soundfile("AIFF", "FLOAT"),
    "CAF, 16 bits": lambda: with_soundfile("CAF", "PCM_16"),
    "CAF, floats": lambda: with_soundfile("CAF", "FLOAT"),
    "CAF, A-law": lambda: with_soundfile("CAF", "ALAW"),
    "MP3": lambda: with_soundfile("MP3", "MPEG_LAYER_III", 44_100),
    "MP3 with ID3 tags": lambda: with_av("mp3", "libmp3lame", 44_100, {"write_id3v1": "1"}),
    "AAC": lambda: with_av("adts", "aac", 44_100),
    "WebM, Opus": lambda: with_av("webm", "libopus"),
    "WebM, Opus, live": lambda: with_av("webm", "libopus", options={"live": "1"}),
    "Matroska, AAC": lambda: with_av("matroska", "aac"),
    "MP4, AAC": lambda: with_av("mp4", "aac", 44_100),
    "MP4, AAC, index first": lambda: with_av("mp4", "aac", 44_100, {"movflags": "faststart"}),
    "MP4, AAC, fragmented": lambda: with_av("mp4", "aac", 48_000, FRAGMENTED),
    "MP4, Opus": lambda: with_av("mp4", "libopus"),
    "MP4, Opus, fragmented": lambda: with_av("mp4", "libopus", 48_000, FRAGMENTED),
    "M4A, Apple Lossless": lambda: with_av("ipod", "alac", 44_100),
    "QuickTime, AAC": lambda: with_av("mov", "aac", 44_100),
}


@cache
def recording(name: str) -> bytes:
    """The melody in a format of :data:`FORMATS`."""
    return FORMATS[name]()


def id3v1() -> bytes:
    return b"TAG" + b"A title".ljust(125, b"\0")


def id3v2(size: int) -> bytes:
    sizes = bytes(size >> shift & 0x7F for shift in (21, 14, 7, 0))
    return b"ID3\4\0\0" + sizes + b"\xff\xfb" * (size // 2) + bytes(size % 2)


def wav_chunk(name: bytes, content: bytes) -> bytes:
    return name + struct.pack("<I", len(content)) + content + bytes(len(content) % 2)
