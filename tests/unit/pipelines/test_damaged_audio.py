"""Damaged audio: what can be decoded counts, and the rest is told."""

import numpy as np
import pytest

from pipelines.audio.formats import AudioFormat, Encoding
from pipelines.data.messages import Notice, NoticeCode
from pipelines.errors import UndecodableAudioError
from pipelines.session.conversation import Conversation, ConversationConfig
from tests import virtual_time
from tests.unit.pipelines.container_audio import melody, recording
from tests.unit.pipelines.fakes import FakeModels, ScriptedVoice
from tests.unit.pipelines.test_containers import decoded, likeness

OPUS = AudioFormat(Encoding.OGGOPUS)
DAMAGED = "a part of the audio is damaged and was left out"
OGG_CUT = "the Ogg stream breaks off inside a page: what came of it is heard"


def pages(data: bytes) -> list[bytes]:
    found = []
    while data:
        end = 27 + data[26] + sum(data[27 : 27 + data[26]])
        found.append(data[:end])
        data = data[end:]
    return found


def with_serial(page: bytes, serial: int) -> bytes:
    return page[:14] + serial.to_bytes(4, "little") + page[18:]


@pytest.mark.parametrize("left_out", [1, 300, 2_000])
def test_of_opus_that_breaks_off_in_its_last_page_the_whole_packets_are_heard(left_out: int):
    data = recording("Ogg Opus")
    whole, _ = decoded(data, OPUS)
    samples, damage = decoded(data[:-left_out], OPUS)
    assert len(whole) - len(samples) < 16_000 * (left_out / 100 + 1) / 50
    np.testing.assert_allclose(samples[: len(samples) - 500], whole[: len(samples) - 500], atol=1e-6)
    assert damage == [OGG_CUT]


def test_a_damaged_opus_packet_is_left_out():
    first, second, *audio = pages(recording("Ogg Opus"))
    # A frame count of zero, which RFC 6716 forbids.
    damaged = b"OggS\0\0" + bytes(8) + first[14:18] + bytes(8) + b"\x01\x02\x03\x00"
    samples, damage = decoded(b"".join([first, second, damaged, *audio, damaged, damaged]), OPUS)
    np.testing.assert_array_equal(samples, decoded(recording("Ogg Opus"), OPUS)[0])
    assert damage == [DAMAGED]


def test_bytes_between_pages_are_left_out():
    first, second, *audio = pages(recording("Ogg Opus"))
    samples, damage = decoded(b"".join([first, second, b"garbage" * 99, *audio]), OPUS, chunk=100)
    np.testing.assert_array_equal(samples, decoded(recording("Ogg Opus"), OPUS)[0])
    assert damage == ["a part of the Ogg stream is damaged and was left out"]


def test_of_two_logical_streams_at_the_same_time_the_first_is_heard():
    ours = [with_serial(page, 1) for page in pages(recording("Ogg Opus"))]
    other = [with_serial(page, 2) for page in pages(recording("Ogg Opus"))]
    mixed = b"".join(page for both in zip(ours, other, strict=True) for page in both)
    samples, damage = decoded(mixed, OPUS)
    np.testing.assert_array_equal(samples, decoded(recording("Ogg Opus"), OPUS)[0])
    assert damage == [
        "the Ogg stream holds more than one stream of audio at the same time: only the first one is heard"
    ]


def test_another_kind_of_stream_beside_opus_is_passed_over():
    ours = [with_serial(page, 1) for page in pages(recording("Ogg Opus"))]
    video = b"OggS\0\2" + bytes(8) + (2).to_bytes(4, "little") + bytes(8) + b"\x01\x07\x80theora"
    more = b"OggS\0\0" + bytes(8) + (2).to_bytes(4, "little") + bytes(8) + b"\x01\x07moving!"
    samples, damage = decoded(b"".join([video, ours[0], more, *ours[1:]]), OPUS)
    np.testing.assert_array_equal(samples, decoded(recording("Ogg Opus"), OPUS)[0])
    assert damage == []
    with pytest.raises(UndecodableAudioError, match="this is Ogg with Theora"):
        decoded(video + more)


@pytest.mark.parametrize("name", ["MP3", "AAC", "WebM, Opus", "WebM, Opus, live", "MP4, AAC, fragmented"])
def test_a_damaged_middle_is_left_out(name: str):
    data = bytearray(recording(name))
    middle = len(data) // 2
    data[middle : middle + 60] = bytes(range(60, 120))
    samples, damage = decoded(bytes(data))
    assert len(samples) > len(melody()) * 0.4
    assert likeness(samples[:12_000], melody()[:12_000]) > 0.9
    assert all("left out" in sentence or "breaks off" in sentence for sentence in damage)


def test_each_kind_of_damage_is_told_once():
    data = recording("MP3")
    broken = b"".join(data[start : start + 3_000] + b"\1\2\3" for start in range(0, len(data), 3_000))
    _, damage = decoded(broken)
    assert damage == sorted(set(damage))
    assert damage


def test_packets_of_which_nothing_can_be_decoded_are_no_audio():
    first, second, *_ = pages(recording("Ogg Opus"))
    damaged = b"OggS\0\0" + bytes(8) + first[14:18] + bytes(8) + b"\xff" + b"\x02" * 255 + b"\x03\x00" * 255
    with pytest.raises(UndecodableAudioError, match="many packets in a row hold none"):
        decoded(first + second + damaged, OPUS)


async def notices_of(data: bytes, told: AudioFormat) -> list[Notice]:
    """What a conversation tells of audio without speech."""
    conversation = Conversation(ConversationConfig(told), FakeModels(), ScriptedVoice((100, 0)))
    await conversation.add_audio(b"")
    for start in range(0, len(data), 1_000):
        await conversation.add_audio(data[start : start + 1_000])
    await conversation.half_close()
    messages = [message async for message in conversation.outbox]
    await conversation.close()
    return [message for message in messages if isinstance(message, Notice)]


def test_a_conversation_tells_of_damage_and_goes_on():
    found = virtual_time.run(notices_of(recording("Ogg Opus")[:-300], OPUS))
    assert found == [Notice(NoticeCode.AUDIO_DAMAGED, OGG_CUT)]


def test_a_conversation_tells_of_a_part_of_a_sample_at_its_end():
    found = virtual_time.run(notices_of(bytes(32_001), AudioFormat(Encoding.LINEAR_PCM, 16_000)))
    assert [notice.code for notice in found] == [NoticeCode.AUDIO_DAMAGED]
    assert "ends inside a sample" in found[0].message


def test_a_conversation_tells_nothing_of_sound_audio():
    assert virtual_time.run(notices_of(recording("Ogg Opus"), OPUS)) == []


def test_opus_without_its_whole_header_is_refused():
    first, *others = pages(recording("Ogg Opus"))
    # Lacing values that cut the header in two, of 1 and 18 bytes.
    cut = first[:26] + b"\x02\x01\x12" + first[28:]
    with pytest.raises(UndecodableAudioError, match="a packet comes before the header"):
        decoded(b"".join([cut, *others]), OPUS)
