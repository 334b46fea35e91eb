"""Mistakes that newcomers make: each is refused in a sentence with its cure."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import vivavoce
from vivavoce._requests import utterance_requests

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.unit.clients.fake_service import FakeService

STEREO = vivavoce.AudioFormat(channel_count=2)
FLOATS = vivavoce.AudioFormat(vivavoce.Encoding.LINEAR_PCM_FLOAT32)


def _sent(chunk: object, audio: vivavoce.AudioFormat | None = None) -> bytes:
    return b"".join(request.audio for request in utterance_requests(chunk, audio))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("target", "cure"),
    [
        ("http://localhost:50051", "'http://localhost:50051' is a URL; write HOST:PORT, such as 'localhost:50051'."),
        ("https://voice.example/api", "such as 'voice.example:50051'."),
        ("grpc://[::1]", r"such as '[::1]:50051'."),
        ("file:///run/voice.sock", "such as 'localhost:50051'."),
        ("localhost", "The address 'localhost' has no port; write 'localhost:50051'."),
        ("", "The address '' has no port; write 'localhost:50051'."),
    ],
)
def test_what_is_no_address(target: str, cure: str) -> None:
    with pytest.raises(vivavoce.InvalidRequest) as caught:
        vivavoce.connect(target)
    assert str(caught.value).endswith(cure)
    assert caught.value.field == "target"
    with pytest.raises(vivavoce.InvalidRequest):
        vivavoce.ModelAdmin(target)


@pytest.mark.parametrize(
    "target", ["a:1", "[::1]:50051", "unix:/run/a.sock", "unix:///run/a.sock", "dns:///a:1", "ipv4:1.2.3.4:5", "::1"]
)
def test_addresses_of_grpc_are_taken(target: str) -> None:
    vivavoce.connect(target)


def test_an_address_is_a_str() -> None:
    with pytest.raises(TypeError, match=r"is a str such as 'localhost:50051', not an int\.$"):
        vivavoce.connect(50051)  # type: ignore[arg-type]


async def test_with_in_place_of_async_with() -> None:
    cure = r"write `async with vivavoce\.connect\(\.\.\.\) as client`"
    with pytest.raises(TypeError, match=cure), vivavoce.connect("localhost:1"):
        pass
    cure = r"write `async with vivavoce\.ModelAdmin"
    with pytest.raises(TypeError, match=cure), vivavoce.ModelAdmin("localhost:1"):
        pass


async def test_a_conversation_is_iterated_asynchronously_and_not_awaited(client: vivavoce.Client) -> None:
    conversation = client.converse([b"ab"])
    with pytest.raises(TypeError, match="write `async for event in"):
        for _ in conversation:
            pass
    with pytest.raises(TypeError, match="not awaited"):
        await conversation


async def test_a_client_that_is_not_open(service: FakeService) -> None:
    client = vivavoce.connect(service.address)
    with pytest.raises(RuntimeError, match="use it inside `async with"):
        await client.ask("hello")
    async with client:
        assert (await client.ask("hello")).transcript == "hello"
    with pytest.raises(RuntimeError, match="use it inside `async with"):
        client.converse([b"ab"])


async def speech() -> AsyncIterator[bytes]:
    yield b"ab"


@pytest.mark.parametrize(
    ("source", "cure"),
    [
        ("question.flac", "read_audio"),
        (Path("question.flac"), "read_audio"),
        (b"abcd", r"put it into a list: `\[audio\]`"),
        (np.zeros(3, np.int16), r"put it into a list: `\[audio\]`"),
        (np.zeros((3, 2), np.int16), r"`\[audio\]`, or `list\(audio\)` if each"),
        (vivavoce.TypedTurn("hello"), r"put it into a list: `\[turn\]`"),
        (vivavoce.Recording(Path("a"), 16_000, 1.0), r"pass `recording\.chunks\(\)`"),
        (io.BytesIO(b"RIFF"), "read_audio"),
        (io.StringIO("RIFF"), "mode 'rb'"),
        (speech, r"call the function"),
        (3, "an int; pass a list"),
    ],
)
async def test_what_is_no_source_of_audio(client: vivavoce.Client, source: Any, cure: str) -> None:
    with pytest.raises(TypeError, match=rf"^What is said is an iterable of chunks, not .*{cure}"):
        client.converse(source)


async def test_a_file_of_compressed_audio_is_a_source(service: FakeService, client: vivavoce.Client) -> None:
    audio = vivavoce.AudioFormat(vivavoce.Encoding.FLAC)
    async for _ in client.converse(io.BytesIO(b"fLaC\nabc"), audio=audio):
        pass
    assert service.audio() == b"fLaC\nabc"


@pytest.mark.parametrize(
    ("chunk", "cure"),
    [
        ("hello", r"not a str; write `vivavoce\.TypedTurn"),
        (Path("a.wav"), "read_audio"),
        (vivavoce.EndOfUtterance, r"write `EndOfUtterance\(\)`"),
        (vivavoce.Recording(Path("a"), 16_000, 1.0), r"recording\.chunks\(\)"),
        ([0.1, 0.2], r"not a list; write `np\.asarray\(samples, np\.float32\)`"),
        (3, r"not an int; write `np\.asarray"),
        (None, "not None"),
        (np.zeros(3, np.int32), r"not of int32; write `\(samples >> 16\)\.astype\(np\.int16\)`"),
        (np.zeros(3, np.int64), r"astype\(np\.int16\)"),
        (np.zeros(3, np.uint8), r"tobytes\(\)"),
        (np.zeros(3, np.uint16), "scale it to -1 to 1"),
    ],
)
def test_what_is_no_audio(chunk: object, cure: str) -> None:
    with pytest.raises(TypeError, match=rf"^Audio is .*{cure}"):
        _sent(chunk)


@pytest.mark.parametrize(
    ("samples", "audio", "cure"),
    [
        (np.zeros((100, 2)), vivavoce.AudioFormat(), r"the shape \[100, 2\], and AudioFormat.channel_count is 1; send"),
        (np.zeros((2, 100)), STEREO, r"transpose it: `samples\.T`"),
        (np.zeros((1, 100)), vivavoce.AudioFormat(), r"transpose it: `samples\.T`"),
        (np.zeros(100), STEREO, r"`samples\.reshape\(-1, 2\)`"),
        (np.zeros((100, 1)), STEREO, r"arrays of shape \[n, 2\]"),
        (np.zeros((5, 5, 1)), vivavoce.AudioFormat(), r"arrays of shape \[n, 1\]"),
        (np.array(1.0), vivavoce.AudioFormat(), r"arrays of shape \[n, 1\]"),
    ],
)
def test_a_shape_that_contradicts_the_channels(samples: Any, audio: vivavoce.AudioFormat, cure: str) -> None:
    with pytest.raises(vivavoce.InvalidRequest, match=cure) as caught:
        _sent(samples, audio)
    assert caught.value.field == "audio"


@pytest.mark.parametrize("audio", [vivavoce.AudioFormat(), FLOATS])
def test_16_bit_values_as_floats_are_refused(audio: vivavoce.AudioFormat) -> None:
    samples = np.array([0, 12_345, -20_000], np.float32)
    with pytest.raises(vivavoce.InvalidRequest, match="up to 20000, and full scale is 1; divide 16-bit values by"):
        _sent(samples, audio)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.longdouble])
def test_floats_of_any_width_are_taken(dtype: type) -> None:
    samples = np.array([0.0, 0.5, -1.0, 0.25], dtype)

    assert np.frombuffer(_sent(samples), "<i2").tolist() == [0, 16_384, -32_768, 8_192]
    assert np.frombuffer(_sent(samples, FLOATS), "<f4").tolist() == [0.0, 0.5, -1.0, 0.25]


def test_every_16_bit_sample_survives_as_float64() -> None:
    samples = np.arange(-32_768, 32_768, dtype=np.int16)

    assert _sent(samples / 32_768.0) == samples.tobytes()


@pytest.mark.parametrize(
    ("documents", "cure"),
    [
        ("The museum opens at nine.", r"write `documents=\[text\]`"),
        (vivavoce.Document("The museum opens at nine."), r"write `documents=\[text\]`"),
        (Path("museum.txt"), r"write `documents=\[path\.read_text\(\)\]`"),
        ([Path("museum.txt")], r"write `path\.read_text\(\)`"),
        ([3], "not an int"),
        ([vivavoce.Document(None)], "of a `vivavoce.Document` is a str, not None"),  # type: ignore[arg-type]
        (3, "not an int"),
        (None, "not None"),
    ],
)
async def test_what_is_no_list_of_documents(client: vivavoce.Client, documents: Any, cure: str) -> None:
    with pytest.raises(TypeError, match=cure):
        client.converse([b"ab"], documents=documents)
    with pytest.raises(TypeError, match=cure):
        await client.ask("When does it open?", documents=documents)


@pytest.mark.parametrize(
    ("options", "cure"),
    [
        ({"audio": 16_000}, r"audio is `vivavoce\.AudioFormat"),
        ({"audio": vivavoce.AudioFormat("FLAC")}, r"is a `vivavoce\.Encoding`"),  # type: ignore[arg-type]
        ({"endpointing": 0.5}, r"endpointing is `vivavoce\.Endpointing"),
        ({"audio": vivavoce.AudioFormat(sample_rate_hz=16e3)}, r"^config\.audio holds a value of another"),  # type: ignore[arg-type]
        ({"endpointing": vivavoce.Endpointing(stop_window_seconds="1")}, r"^config\.endpointing "),  # type: ignore[arg-type]
        ({"reply_budget_seconds": "1"}, r"^config\.reply_budget holds a value of another type"),
        ({"max_alternatives": 1.5}, r"^config\.max_alternatives holds a value of another type"),
        ({"reconnect_seconds": "30"}, r"^reconnect_seconds is a number of seconds, not a str"),
        ({"phrase_hints": [vivavoce.PhraseHints((1,))]}, "^config holds a value of another type"),  # type: ignore[arg-type]
        ({"phrase_hints": "museum"}, "phrase_hints is a list"),
        ({"phrase_hints": vivavoce.PhraseHints(("museum",))}, r"write `\[hints\]`"),
        ({"phrase_hints": ["museum"]}, r'write `\[vivavoce\.PhraseHints\(\("a phrase",\)\)\]`'),
        ({"phrase_hints": [vivavoce.PhraseHints("museum")]}, "is a tuple"),  # type: ignore[arg-type]
    ],
)
async def test_options_of_another_type(client: vivavoce.Client, options: dict[str, Any], cure: str) -> None:
    with pytest.raises(TypeError, match=cure):
        client.converse([b"ab"], **options)


async def test_a_question_is_a_text(client: vivavoce.Client) -> None:
    with pytest.raises(TypeError, match=r"is a str, not a list\.$"):
        await client.ask(["hello"])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"is a str, not a list\.$"):
        async for _ in client.converse([vivavoce.TypedTurn(["hello"])]):  # type: ignore[arg-type]
            pass


def test_a_time_is_a_number() -> None:
    with pytest.raises(TypeError, match="connect_timeout_seconds is a number of seconds, not a str"):
        vivavoce.connect(connect_timeout_seconds="5")  # type: ignore[arg-type]
    vivavoce.connect(connect_timeout_seconds=np.float32(5))


@pytest.mark.parametrize("pace", [vivavoce.pace, vivavoce.sync.pace])
@pytest.mark.parametrize(
    ("chunks", "rate", "cure"),
    [
        (vivavoce.Recording(Path("a"), 16_000, 1.0), 16_000, r"write `pace\(recording\.chunks\(\), "),
        ("a.wav", 16_000, "read_audio"),
        (speech(), 16_000, "a list or a generator of chunks, not async_generator"),
        ([], "16000", "sample_rate_hz is a number, not str"),
    ],
)
def test_what_cannot_be_paced(pace: Any, chunks: Any, rate: Any, cure: str) -> None:
    with pytest.raises(TypeError, match=cure):
        pace(chunks, rate)
    with pytest.raises(vivavoce.InvalidRequest, match="A sample rate of 0 cannot be"):
        pace([], 0)


async def test_a_conversation_ends_with_its_block(service: FakeService, client: vivavoce.Client) -> None:
    async with client.converse([b"ab"] * 100) as conversation:
        async for _ in conversation:
            break
    assert conversation.closed
