"""Hostile audio: whatever is cut, flipped or made up is refused by name or heard, in bounded time and memory."""

import struct
import time
import tracemalloc
import types
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.audio.decoding import AudioDecoder
from pipelines.audio.formats import AudioFormat, Encoding
from pipelines.audio.mp4 import MAX_HELD_BYTES
from pipelines.audio.mpeg_audio import FramesDecoder
from pipelines.errors import InvalidInputError, UndecodableAudioError
from tests.examples import examples
from tests.unit.pipelines.container_audio import FORMATS, recording

CONTAINER = AudioFormat(Encoding.CONTAINER)
FUZZED = examples(5)


def fed(data: bytes, chunk: int = 4_001) -> int:
    """Decodes as a conversation does; returns the number of samples."""
    decoder = AudioDecoder(CONTAINER)
    count = 0
    try:
        for start in range(0, len(data), chunk):
            count += sum(len(block) for block in decoder.decode(data[start : start + chunk]))
        count += len(decoder.flush())
    except InvalidInputError:
        pass
    assert len(decoder.take_damage()) < 8
    return count


@pytest.mark.parametrize("name", FORMATS)
@given(data=st.data())
@FUZZED
def test_flipped_bits_do_no_harm(name: str, data: st.DataObject):
    broken = bytearray(recording(name))
    # Headers lie at either end, and that is where flips tell most.
    places = st.integers(0, 400) | st.integers(1, 1_500).map(lambda back: -back) | st.integers(0, len(broken) - 1)
    for place, bit in data.draw(st.lists(st.tuples(places, st.integers(0, 7)), min_size=1, max_size=8)):
        broken[place % len(broken)] ^= 1 << bit
    assert fed(bytes(broken)) < 16_000 * 60


@pytest.mark.parametrize("name", FORMATS)
@given(share=st.floats(0, 1), cut=st.integers(1, 9_000))
@FUZZED
def test_pieces_that_are_missing_do_no_harm(name: str, share: float, cut: int):
    data = recording(name)
    at = round(share * len(data))
    fed(data[:at])
    fed(data[:at] + data[at + cut :])
    fed(data[at:])


@given(data=st.binary(max_size=400), name=st.sampled_from(list(FORMATS)), kept=st.integers(4, 120))
@examples(60)
def test_headers_that_go_on_as_anything_do_no_harm(data: bytes, name: str, kept: int):
    fed(recording(name)[:kept] + data)


def box(name: bytes, *content: bytes) -> bytes:
    body = b"".join(content)
    return struct.pack(">I4s", 8 + len(body), name) + body


def movie(table: bytes) -> bytes:
    """An index whose tables are ``table``, with the description of a real one."""
    real = recording("MP4, AAC, index first")
    at = real.index(b"stsd") - 4
    description = real[at : at + struct.unpack_from(">I", real, at)[0]]
    handler = box(b"hdlr", bytes(8), b"soun", bytes(12))
    media = box(b"mdia", handler, box(b"minf", box(b"stbl", description, table)))
    return box(b"ftyp", b"isom", bytes(4)) + box(b"moov", box(b"trak", box(b"tkhd", bytes(84)), media))


def test_an_mp4_index_that_counts_to_billions_costs_nothing():
    sizes = box(b"stsz", bytes(4), struct.pack(">II", 1, 0xFFFFFFFF))
    runs = box(b"stsc", bytes(4), struct.pack(">IIII", 1, 1, 0xFFFFFFFF, 1))
    chunks = box(b"stco", bytes(4), struct.pack(">II", 1, 1_000))
    data = movie(sizes + runs + chunks) + struct.pack(">I4s", 0, b"mdat") + bytes(100_000)
    tracemalloc.start()
    began = time.perf_counter()
    assert fed(data) < 16_000 * 60
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 << 20
    assert time.perf_counter() - began < 5


def test_an_mp4_index_that_points_back_is_refused():
    sizes = box(b"stsz", bytes(4), struct.pack(">II", 300, 2))
    runs = box(b"stsc", bytes(4), struct.pack(">IIII", 1, 1, 1, 1))
    chunks = box(b"stco", bytes(4), struct.pack(">III", 2, 2_000, 1_000))
    data = movie(sizes + runs + chunks) + struct.pack(">I4s", 0, b"mdat") + bytes(5_000)
    with pytest.raises(UndecodableAudioError, match="points to where no packet can be"):
        list(AudioDecoder(CONTAINER).decode(data))


def test_an_mp4_file_whose_index_never_comes_is_not_held_for_ever():
    decoder = AudioDecoder(CONTAINER)
    list(decoder.decode(box(b"ftyp", b"isom", bytes(4)) + struct.pack(">I4s", 0xFFFFFFF0, b"mdat")))
    with pytest.raises(UndecodableAudioError, match=r"behind 16 MiB of audio: put it in front .*faststart"):
        for _ in range(2 + MAX_HELD_BYTES // (1 << 20)):
            list(decoder.decode(bytes(1 << 20)))


def test_metadata_is_skipped_and_not_held():
    decoder = AudioDecoder(CONTAINER)
    head = recording("WAV, 16 bits")[:12]
    list(decoder.decode(head + b"JUNK" + (1 << 30).to_bytes(4, "little")))
    tracemalloc.start()
    for _ in range(64):
        assert sum(map(len, decoder.decode(bytes(1 << 20)))) == 0
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 << 20


@pytest.mark.parametrize("name", ["MP3", "AAC", "WebM, Opus", "MP4, AAC, index first", "AIFF, 16 bits"])
def test_a_long_message_is_decoded_block_by_block(name: str):
    longest = 0.0
    blocks = AudioDecoder(CONTAINER).decode(recording(name) * 20)
    while True:
        began = time.thread_time()
        if next(blocks, None) is None:
            break
        longest = max(longest, time.thread_time() - began)
    assert longest < 0.25


class ManyChannels:
    """What libavcodec makes of damaged AAC; its samples must not be touched."""

    sample_rate = 48_000
    layout = types.SimpleNamespace(nb_channels=53)


def test_no_samples_are_taken_from_frames_of_many_channels(monkeypatch: pytest.MonkeyPatch):
    data = recording("AAC")
    decoder = FramesDecoder(CONTAINER)
    list(decoder.decode_piece(data[:1_000]))
    monkeypatch.setattr(decoder, "_codec", types.SimpleNamespace(decode=lambda _packet: [ManyChannels()]))
    assert list(decoder.decode_piece(data[1_000:])) == []
    assert decoder.take_damage() == [
        "a part of the audio has another sample rate or number of channels and was left out"
    ]


def steps(data: bytes) -> Iterator[float]:
    """Decodes a message of 1 MiB; yields the times in which nobody else is served."""
    blocks = AudioDecoder(CONTAINER).decode(data)
    going_on = True
    while going_on:
        began = time.thread_time()
        try:
            going_on = next(blocks, None) is not None
        except UndecodableAudioError:
            going_on = False
        yield time.thread_time() - began


WEBM_HEAD = b"\x1a\x45\xdf\xa3\x80\x18\x53\x80\x67\x01\xff\xff\xff\xff\xff\xff\xff"
NOTHING = {
    "elements of WebM": lambda: WEBM_HEAD + b"\xec\x80" * (1 << 19),
    "boxes of MP4": lambda: box(b"ftyp") + box(b"free") * (1 << 17),
    "pages of Ogg": lambda: recording("Ogg Opus")[:47] + (b"OggS\0\0" + bytes(21)) * 38_000,
    "tags of MP3": lambda: recording("MP3") + b"ID3\4\0\0\0\0\0\0" * 100_000,
    "bytes that might begin a frame": lambda: recording("MP3") + b"\xff" * (1 << 20),
    "headers of frames": lambda: recording("MP3") + recording("MP3")[:4] * (1 << 18),
    "headers of other frames": lambda: recording("MP3") + b"\xff\xfb\x94\x00" * (1 << 18),
    "chunks of WAV": lambda: recording("WAV, 16 bits")[:12] + (b"JUNK" + bytes(4)) * (1 << 17),
    "an MP4 index of nothing": lambda: movie(
        box(b"stsz", bytes(4), struct.pack(">II", 0, 1 << 18), bytes(1 << 20))
        + box(b"stsc", bytes(4), struct.pack(">IIII", 1, 1, 1 << 18, 1))
        + box(b"stco", bytes(4), struct.pack(">II", 1, 1 << 21))
    ),
}


@pytest.mark.parametrize("name", NOTHING)
def test_a_message_of_nothing_keeps_nobody_waiting(name: str):
    taken = list(steps(NOTHING[name]()))
    assert max(taken) < max(0.25, sum(taken) / 4)


def test_doubles_beyond_all_bounds_are_refused():
    data = bytearray(recording("WAV, doubles"))
    data[-8:] = np.array([1e300], "<f8").tobytes()
    with pytest.raises(UndecodableAudioError, match="NaN or infinity"):
        list(AudioDecoder(CONTAINER).decode(bytes(data)))
