"""Writes a transcription in the formats of OpenAI's contract."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import dataclass
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any

from pipelines.audio.formats import MODEL_RATE_HZ
from pipelines.data.recognition import TimedWord
from pipelines.models.languages import LANGUAGE_NAMES
from pipelines.speakers.spans import main_speaker

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pipelines.data.messages import Transcript
    from pipelines.data.recognition import Speaker
    from service.api.http.openai.transcription_request import TranscriptionRequest

MEDIA_TYPES = {
    "json": "application/json",
    "verbose_json": "application/json",
    "diarized_json": "application/json",
    "text": "text/plain; charset=utf-8",
    "srt": "application/x-subrip; charset=utf-8",
    "vtt": "text/vtt; charset=utf-8",
}
MAX_CUE_SECONDS = 6.0
MAX_CUE_CHARACTERS = 84
"""Two lines of 42, as subtitles commonly have."""


@dataclass(frozen=True, slots=True)
class Cue:
    """A subtitle: from ``start`` to ``end``, in seconds."""

    start: float
    end: float
    text: str


def text_of(transcripts: Sequence[Transcript]) -> str:
    """Return the text of a whole recording."""
    return " ".join(transcript.text for transcript in transcripts)


def usage_of(seconds: float) -> dict[str, Any]:
    """Return what a recording of a length counts as."""
    return {"type": "duration", "seconds": round(seconds, 3)}


def written(transcripts: Sequence[Transcript], seconds: float, request: TranscriptionRequest) -> bytes:
    """Write a transcription.

    Args:
        transcripts: final ones, in order.
        seconds: length of the recording.
        request: what is asked for.
    """
    text = text_of(transcripts)
    match request.response_format:
        case "text":
            return f"{text}\n".encode()
        case "srt":
            cues = enumerate(cues_of(transcripts), start=1)
            blocks = (f"{number}\n{_time(c.start, ',')} --> {_time(c.end, ',')}\n{c.text}\n" for number, c in cues)
            return "\n".join(blocks).encode()
        case "vtt":
            blocks = (f"{_time(c.start, '.')} --> {_time(c.end, '.')}\n{c.text}\n" for c in cues_of(transcripts))
            return "\n".join(("WEBVTT\n", *blocks)).encode()
        case "verbose_json":
            return _json(_verbose(transcripts, seconds, request))
        case "diarized_json":
            return _json(_diarized(transcripts, seconds))
        case _:
            return _json({"text": text, "usage": usage_of(seconds)})


def cues_of(transcripts: Sequence[Transcript]) -> Iterator[Cue]:
    """Yield subtitles: an utterance each, a long one in several."""
    for transcript in transcripts:
        if not transcript.words:
            yield Cue(transcript.start / MODEL_RATE_HZ, transcript.end / MODEL_RATE_HZ, transcript.text)
            continue
        begin = 0
        words = transcript.words
        for at in range(1, len(words) + 1):
            if at < len(words):
                characters = sum(len(word.text) + 1 for word in words[begin : at + 1]) - 1
                seconds = (words[at].end - words[begin].start) / MODEL_RATE_HZ
                if characters <= MAX_CUE_CHARACTERS and seconds <= MAX_CUE_SECONDS:
                    continue
            text = " ".join(word.text for word in words[begin:at])
            yield Cue(words[begin].start / MODEL_RATE_HZ, words[at - 1].end / MODEL_RATE_HZ, text)
            begin = at


def _verbose(transcripts: Sequence[Transcript], seconds: float, request: TranscriptionRequest) -> dict[str, Any]:
    found: dict[str, Any] = {
        "task": "translate" if request.recognition.translate else "transcribe",
        "language": _language(transcripts, request),
        "duration": round(seconds, 3),
        "text": text_of(transcripts),
    }
    if "segment" in request.granularities:
        found["segments"] = [_segment(number, transcript) for number, transcript in enumerate(transcripts)]
    if "word" in request.granularities:
        found["words"] = [
            {
                "word": word.text,
                "start": round(word.start / MODEL_RATE_HZ, 3),
                "end": round(word.end / MODEL_RATE_HZ, 3),
            }
            for transcript in transcripts
            for word in transcript.words
        ]
    return {**found, "usage": usage_of(seconds)}


def segments_of(transcript: Transcript, first: int) -> list[dict[str, Any]]:
    """Write what each speaker says, one after the other.

    Args:
        transcript: final.
        first: number of the first segment, from 0.
    """
    spoken = [
        (speaker, list(words)) for speaker, words in itertools.groupby(transcript.words, lambda word: word.speaker)
    ]
    if not spoken:
        whole = TimedWord(transcript.text, transcript.start, transcript.end)
        spoken = [(main_speaker(transcript.speakers), [whole])]
    return [
        {
            "type": "transcript.text.segment",
            "id": f"seg_{number:03}",
            "start": round(words[0].start / MODEL_RATE_HZ, 3),
            "end": round(words[-1].end / MODEL_RATE_HZ, 3),
            "text": " ".join(word.text for word in words),
            "speaker": _label(speaker),
        }
        for number, (speaker, words) in enumerate(spoken, first)
    ]


def _diarized(transcripts: Sequence[Transcript], seconds: float) -> dict[str, Any]:
    segments: list[dict[str, Any]] = []
    for transcript in transcripts:
        segments += segments_of(transcript, len(segments))
    return {
        "task": "transcribe",
        "duration": round(seconds, 3),
        "text": text_of(transcripts),
        "segments": segments,
        "usage": usage_of(seconds),
    }


def _label(speaker: Speaker | None) -> str:
    """Return a speaker's name, or letters by appearance: A to Z, AA to AZ."""
    if speaker is None:
        return "unknown"
    rounds, letter = divmod(speaker.tag - 1, len(ascii_uppercase))
    return speaker.name or ("A" * rounds + ascii_uppercase[letter])


def _language(transcripts: Sequence[Transcript], request: TranscriptionRequest) -> str:
    """Return the English name of the language of most utterances."""
    told = [one.language for one in transcripts if one.language and not request.recognition.translate]
    code = max(dict.fromkeys(told), key=told.count, default="en")
    return LANGUAGE_NAMES.get(code, code)


def _segment(number: int, transcript: Transcript) -> dict[str, Any]:
    """Write an utterance; fields of Whisper's own get a good segment's values."""
    return {
        "id": number,
        "seek": 0,
        "start": round(transcript.start / MODEL_RATE_HZ, 3),
        "end": round(transcript.end / MODEL_RATE_HZ, 3),
        "text": transcript.text,
        "tokens": [],
        "temperature": 0.0,
        "avg_logprob": round(math.log(transcript.confidence), 4) if transcript.confidence > 0 else 0.0,
        "compression_ratio": 1.0,
        "no_speech_prob": 0.0,
    }


def _time(seconds: float, point: str) -> str:
    milliseconds = round(1000 * seconds)
    minutes, milliseconds = divmod(milliseconds, 60_000)
    hours, minutes = divmod(minutes, 60)
    whole, milliseconds = divmod(milliseconds, 1000)
    return f"{hours:02}:{minutes:02}:{whole:02}{point}{milliseconds:03}"


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()
