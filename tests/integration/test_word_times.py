"""When words were said, by Riva's API of the running service.

``word_times.json`` holds first sample and end of each word in the demonstration's recordings, as flite placed its
phones when it spoke them (what ``flite -psdur`` prints, moved by the silence before the recording's speech).
"""

from __future__ import annotations

import difflib
import json
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import grpc
import numpy as np
import pytest
import soundfile

from demo.manifest import utterances
from service.api.riva.proto import riva_asr_pb2, riva_asr_pb2_grpc, riva_audio_pb2

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

RATE = 16_000
WINDOW = 512
"""Samples that voice activity is judged by: audio that is repeated a multiple of them later is judged alike."""
NOISE = 10.0
"""A quiet room, -70 dBFS, in steps of 16-bit samples."""
TEN_MINUTES = 10 * 60 * RATE // WINDOW * WINDOW
RECORDINGS = {utterance.path.stem: utterance.path for utterance in utterances()}


class Word(NamedTuple):
    text: str
    start: int
    end: int


SPOKEN = {
    name: [Word(*word) for word in words]
    for name, words in json.loads(Path(__file__).with_name("word_times.json").read_text()).items()
}
CONFIG = riva_asr_pb2.RecognitionConfig(
    encoding=riva_audio_pb2.LINEAR_PCM,
    sample_rate_hertz=RATE,
    enable_word_time_offsets=True,
    verbatim_transcripts=True,
)


@pytest.fixture(scope="module")
def stub(server_address: str) -> Iterator[riva_asr_pb2_grpc.RivaSpeechRecognitionStub]:
    with grpc.insecure_channel(server_address) as channel:
        yield riva_asr_pb2_grpc.RivaSpeechRecognitionStub(channel)


def read(name: str) -> np.ndarray:
    samples, rate = soundfile.read(RECORDINGS[name], dtype="int16")
    assert rate == RATE
    return samples


def words_of(results: Iterable[riva_asr_pb2.StreamingRecognitionResult]) -> list[Word]:
    """The words of final results, their times in samples."""
    return [
        Word(word.word, word.start_time * RATE // 1000, word.end_time * RATE // 1000)
        for result in results
        for word in result.alternatives[0].words
    ]


def streamed(stub: riva_asr_pb2_grpc.RivaSpeechRecognitionStub, audio: np.ndarray) -> list[Word]:
    def requests() -> Iterator[riva_asr_pb2.StreamingRecognizeRequest]:
        config = riva_asr_pb2.StreamingRecognitionConfig(config=CONFIG)
        yield riva_asr_pb2.StreamingRecognizeRequest(streaming_config=config)
        for start in range(0, len(audio), RATE):
            yield riva_asr_pb2.StreamingRecognizeRequest(audio_content=audio[start : start + RATE].tobytes())

    responses = stub.StreamingRecognize(requests(), timeout=120)
    return words_of(result for response in responses for result in response.results if result.is_final)


def errors(found: Sequence[Word], spoken: Sequence[Word]) -> np.ndarray:
    """Seconds that starts and ends are off, ``[words, 2]``, of the words that were recognized as they were spoken."""
    texts = [[word.text for word in words] for words in (found, spoken)]
    pairs = [
        (found[match.a + i], spoken[match.b + i])
        for match in difflib.SequenceMatcher(None, *texts, autojunk=False).get_matching_blocks()
        for i in range(match.size)
    ]
    assert len(pairs) > 0.8 * len(spoken)
    return np.array([(one.start - other.start, one.end - other.end) for one, other in pairs]) / RATE


def moved(words: Iterable[Word], samples: int) -> list[Word]:
    return [Word(word.text, word.start + samples, word.end + samples) for word in words]


def test_words_are_where_they_were_said_also_after_ten_minutes(stub: riva_asr_pb2_grpc.RivaSpeechRecognitionStub):
    parts, spoken, position = [], [], 0
    for name in sorted(RECORDINGS)[::2]:
        spoken += moved(SPOKEN[name], position)
        parts.append(read(name))
        position += len(parts[-1])
    speech = np.pad(np.concatenate(parts), (0, -position % WINDOW))
    pause = np.random.default_rng(4).normal(0, NOISE, TEN_MINUTES - len(speech)).astype(np.int16)
    found = streamed(stub, np.concatenate([speech, pause, speech]))

    early = errors([word for word in found if word.end < TEN_MINUTES // 2], spoken)
    late = errors([word for word in found if word.end > TEN_MINUTES // 2], moved(spoken, TEN_MINUTES))
    for seconds in (early, late):
        assert (np.median(np.abs(seconds), axis=0) <= 0.12).all()
        assert (np.abs(np.median(seconds, axis=0)) <= 0.03).all()
    assert np.median(np.abs(late)) == pytest.approx(np.median(np.abs(early)), abs=0.005)


def test_words_of_a_minute_without_a_pause_are_where_they_were_said(
    stub: riva_asr_pb2_grpc.RivaSpeechRecognitionStub,
):
    parts, spoken, position = [], [], 0
    for name, words in sorted(SPOKEN.items()):
        first, end = words[0].start, words[-1].end
        spoken += moved(words, position - first)
        parts.append(read(name)[first:end])
        position += end - first
    found = streamed(stub, np.concatenate([*parts, np.zeros(RATE, np.int16)]))

    assert position > 40 * RATE
    assert (np.median(np.abs(errors(found, spoken)), axis=0) <= 0.12).all()
    assert all(one.start <= one.end <= other.start for one, other in pairwise(found))


def test_a_recording_has_the_times_that_a_stream_has(stub: riva_asr_pb2_grpc.RivaSpeechRecognitionStub):
    audio = np.concatenate([read("lights"), read("vacuum")])
    request = riva_asr_pb2.RecognizeRequest(config=CONFIG, audio=audio.tobytes())
    results = stub.Recognize(request, timeout=60).results
    found, live = words_of(results), streamed(stub, audio)
    assert [word.text for word in found] == [word.text for word in live]
    # A recording is cut at other pauses, and its words may end some frames of the encoder later.
    starts, ends = errors(found, live).T
    assert max(np.abs(starts)) <= 0.2
    assert max(np.abs(ends)) <= 0.2
    assert len(found) > 10


def test_times_that_nobody_asked_for_are_not_told(stub: riva_asr_pb2_grpc.RivaSpeechRecognitionStub):
    config = riva_asr_pb2.RecognitionConfig()
    config.CopyFrom(CONFIG)
    config.enable_word_time_offsets = False
    request = riva_asr_pb2.RecognizeRequest(config=config, audio=read("lights").tobytes())
    [result] = stub.Recognize(request, timeout=60).results
    assert result.alternatives[0].transcript
    assert not result.alternatives[0].words
