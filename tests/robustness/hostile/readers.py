"""What reads files and events that others made, each with valid examples and with the errors that it may tell."""

from __future__ import annotations

import asyncio
import io
import json
import tempfile
import tomllib
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import av
import numpy as np
import soundfile
from wyoming.asr import Transcribe
from wyoming.audio import AudioChunk, AudioStart, AudioStop

from pipelines.audio.decoding import AudioDecoder
from pipelines.audio.formats import AudioFormat, Encoding
from pipelines.errors import InvalidInputError
from pipelines.models.triton import BadConfigError, named_code, renamed
from pipelines.models.versions.smoke_file import read_intent, read_smoke
from pipelines.speech.ssml import read_ssml
from service.config import ConfigError, load_config
from service.security.jwt import JwtVerifier
from service.security.principal import NO_LIMITS
from service.security.tokens import read_tokens
from service.security.watched_file import UnusableFileError
from service.triton.settings import SettingsError, parse_settings
from vivavoce.wyoming.errors import RefusedError
from vivavoce.wyoming.reading import BoundedReader, read_event

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy.typing as npt

_RATE = 48_000
_MODELS = Path(__file__).resolve().parents[3] / "model_repository"


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads what others made.

    Attributes:
        examples: valid input.
        read: reads one input.
        tells: errors with which it may refuse.
    """

    examples: Sequence[bytes]
    read: Callable[[bytes], object]
    tells: tuple[type[Exception], ...]


def readers(folder: Path) -> Mapping[str, Reader]:
    """Returns the readers by name.

    Args:
        folder: for files that a reader wants to open.
    """
    on_disk = partial(_on_disk, folder / "file")
    return {
        "audio": Reader([make() for make in _AUDIO.values()], _read_audio, (InvalidInputError,)),
        "flac": Reader(
            [_with_soundfile("FLAC", "PCM_16")], partial(_read_audio, encoding=Encoding.FLAC), (InvalidInputError,)
        ),
        "ogg": Reader(
            [_with_soundfile("OGG", "OPUS")], partial(_read_audio, encoding=Encoding.OGGOPUS), (InvalidInputError,)
        ),
        "wyoming": Reader([_wyoming()], _read_wyoming, (RefusedError, asyncio.IncompleteReadError)),
        "configuration": Reader([_CONFIG], on_disk(lambda path: load_config({}, {}, path)), (ConfigError,)),
        "settings": Reader([_SETTINGS], _read_settings, (SettingsError,)),
        "tokens": Reader([_TOKENS], on_disk(read_tokens), (UnusableFileError,)),
        "keys": Reader([_KEYS], on_disk(_read_keys), (UnusableFileError,)),
        "model config": Reader(
            [path.read_bytes() for path in sorted(_MODELS.glob("*/config.pbtxt"))], _read_config, (BadConfigError,)
        ),
        "smoke evaluation": Reader([_SMOKE], on_disk(lambda path: read_smoke(path, read_intent)), (InvalidInputError,)),
        "ssml": Reader([_SSML], lambda data: read_ssml(data.decode(errors="replace")), (InvalidInputError,)),
    }


def _on_disk(path: Path, read: Callable[[Path], object]) -> Callable[[bytes], object]:
    def write_and_read(data: bytes) -> object:
        path.write_bytes(data)
        return read(path)

    return write_and_read


def _read_audio(data: bytes, encoding: Encoding = Encoding.CONTAINER) -> None:
    decoder = AudioDecoder(AudioFormat(encoding))
    for start in range(0, len(data), 4_001):
        for _ in decoder.decode(data[start : start + 4_001]):
            pass
    decoder.flush()
    decoder.take_damage()


def _read_wyoming(data: bytes) -> None:
    async def read() -> None:
        reader = BoundedReader()
        reader.feed_data(data)
        reader.feed_eof()
        while await read_event(reader) is not None:
            pass

    asyncio.run(read())


def _read_settings(data: bytes) -> None:
    try:
        tables = tomllib.loads(data.decode(errors="replace"))
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(str(error)) from error
    parse_settings(tables, "file")


def _read_keys(path: Path) -> None:
    JwtVerifier(path, "issuer", "audience", NO_LIMITS).find("a.b.c")


def _read_config(data: bytes) -> None:
    text = data.decode(errors="replace")
    named_code(text)
    renamed(text, lambda name: f"{name}.2")


def _melody() -> npt.NDArray[np.float32]:
    at = np.arange(_RATE // 4) / _RATE
    return np.asarray(0.5 * np.sin(2 * np.pi * (200 * at + 150 * at * at)), np.float32)


def _with_soundfile(container: str, subtype: str) -> bytes:
    buffer = io.BytesIO()
    soundfile.write(buffer, _melody(), _RATE, format=container, subtype=subtype)
    return buffer.getvalue()


def _with_av(container: str, codec: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "file")
        with av.open(str(path), "w", format=container) as file:
            stream = file.add_stream(codec, rate=_RATE, layout="mono")
            assert isinstance(stream, av.AudioStream)
            samples, size = _melody(), stream.codec_context.frame_size or 1024
            for start in range(0, len(samples), size):
                piece = samples[np.newaxis, start : start + size]
                frame = av.AudioFrame.from_ndarray(piece, format="flt", layout="mono")
                frame.sample_rate, frame.pts = _RATE, start
                file.mux(stream.encode(frame))
            file.mux(stream.encode(None))
        return path.read_bytes()


def _wyoming() -> bytes:
    events = (
        Transcribe(language="en").event(),
        AudioStart(rate=16_000, width=2, channels=1).event(),
        AudioChunk(rate=16_000, width=2, channels=1, audio=bytes(640)).event(),
        AudioStop().event(),
    )
    written = io.BytesIO()
    for event in events:
        header, data, payload = event.to_dict(), event.data, event.payload
        del header["data"]
        written.write(_line(header, data, payload or b""))
    return written.getvalue()


def _line(header: dict[str, object], data: dict[str, object], payload: bytes) -> bytes:
    packed = json.dumps(data).encode()
    lengths = {"data_length": len(packed)} | ({"payload_length": len(payload)} if payload else {})
    return json.dumps(header | lengths).encode() + b"\n" + packed + payload


_AUDIO: Mapping[str, Callable[[], bytes]] = {
    "wav": partial(_with_soundfile, "WAV", "PCM_16"),
    "wav, floats": partial(_with_soundfile, "WAV", "FLOAT"),
    "wav, mu-law": partial(_with_soundfile, "WAV", "ULAW"),
    "wave64": partial(_with_soundfile, "W64", "PCM_24"),
    "flac": partial(_with_soundfile, "FLAC", "PCM_16"),
    "ogg": partial(_with_soundfile, "OGG", "OPUS"),
    "aiff": partial(_with_soundfile, "AIFF", "PCM_16"),
    "caf": partial(_with_soundfile, "CAF", "FLOAT"),
    "mp3": partial(_with_soundfile, "MP3", "MPEG_LAYER_III"),
    "aac": partial(_with_av, "adts", "aac"),
    "webm": partial(_with_av, "webm", "libopus"),
    "mp4": partial(_with_av, "mp4", "aac"),
}

_CONFIG = b"""
host = "127.0.0.1"
port = 50051
engines = ["engines/bar"]
max_conversations = 12
longest_minutes = 60
log_format = "json"

[variants]
bar = "engines/bar"

[limits]
conversations = 4
audio_seconds_per_minute = 240.5
"""
_SETTINGS = b"""
[asr]
threads = 2
partial_interval_seconds = 0.6

[qa_bert]
instances = 2
preferred_batch_sizes = [4, 8]
"""
_TOKENS = b"""
[[token]]
name = "kiosk"
sha256 = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b"
expires = 2027-03-01T00:00:00Z
limits = { conversations = 4, audio_seconds_per_minute = 240 }
"""
_KEYS = (
    b'{"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": "one", "alg": "EdDSA", "use": "sig", '
    b'"x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}'
)
_SMOKE = (
    b'{"text": "lights off", "intent": "iot_hue_lightoff", "slots": [{"name": "place", "start": 0, "end": 4}]}\n'
    b'{"text": "good morning", "intent": "none"}\n'
)
_SSML = (
    b'<speak>It costs <say-as interpret-as="currency">$5</say-as><break time="300ms"/>'
    b'<sub alias="World Wide Web">WWW</sub> <prosody rate="slow">and so on</prosody></speak>'
)
