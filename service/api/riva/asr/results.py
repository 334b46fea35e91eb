"""Writes what was recognized as Riva's results."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import TYPE_CHECKING

from pipelines.audio.formats import MODEL_RATE_HZ
from pipelines.data.recognition import Alternative
from pipelines.text.style import has_words
from pipelines.turns.alternatives import join_alternatives
from service.api.riva.proto import riva_asr_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pipelines.data.messages import Transcript
    from pipelines.text.style import TranscriptStyle
    from service.api.riva.asr.settings import RecognitionSettings
    from service.api.riva.asr.voice import ObservedVoice

_MAX_STABLE = 0.99
"""Of transcripts that may go on: 1 says that the utterance is probably over."""

_MAX_WINDOWS = 1_000
"""Half a minute of probabilities in one result."""


class ResultWriter:
    """Writes the results of one channel.

    Args:
        settings: how they are written.
        voice: heard the channel.
        channel: its number, from 1.
    """

    def __init__(self, settings: RecognitionSettings, voice: ObservedVoice, channel: int) -> None:
        self._settings = settings
        self._voice = voice
        self._channel = channel
        self._guessed: list[str] = []

    async def streaming(self, transcript: Transcript) -> pb.StreamingRecognitionResult | None:
        """Write a transcript of a stream; None for one without words."""
        stability = self._stability(transcript)
        if not has_words(transcript.text):
            return None
        written = await self._written(transcript)
        # Of an utterance that is not over, no more than a part may have the times of its words.
        words = await self._words(transcript) if transcript.is_final else []
        result = self.states()
        languages = [self._language(transcript)]
        result.alternatives.extend(self._to_alternatives(written, languages, is_final=transcript.is_final))
        result.alternatives[0].words.extend(words)
        result.is_final = transcript.is_final
        if not transcript.is_final:
            # More was heard than was decoded: by this a client tells which of its chunks the words are from.
            result.audio_processed = transcript.end / MODEL_RATE_HZ
        result.stability = stability
        return result

    @property
    def owes_states(self) -> bool:
        """True if enough audio was heard for another result."""
        return self._voice.untold_windows >= _MAX_WINDOWS

    def states(self) -> pb.StreamingRecognitionResult:
        """Write how far the channel was heard, without a transcript."""
        result = pb.StreamingRecognitionResult(channel_tag=self._channel, audio_processed=self._voice.heard_seconds)
        if self._settings.vad_probabilities:
            result.pipeline_states.vad_probabilities.extend(self._voice.take_probabilities())
        return result

    async def offline(self, transcripts: Sequence[Transcript]) -> pb.SpeechRecognitionResult:
        """Write the final transcripts of a recording as one.

        Each utterance is written by itself, as in a stream: a number does not go on behind the pause that ended one.
        """
        each, words = [], []
        for transcript in transcripts:
            each.append((transcript.text, await self._written(transcript)))
            words += await self._words(transcript)
            # There may be an hour of utterances in which nothing has to be waited for.
            await asyncio.sleep(0)
        languages = list(dict.fromkeys(map(self._language, transcripts)))
        joined = await asyncio.to_thread(join_alternatives, each, max(1, self._settings.recognition.alternatives))
        result = pb.SpeechRecognitionResult(
            alternatives=self._to_alternatives(joined, languages, is_final=True),
            channel_tag=self._channel,
            audio_processed=self._voice.heard_seconds,
        )
        result.alternatives[0].words.extend(words)
        return result

    def _language(self, transcript: Transcript) -> str:
        """Return the language as the caller named it, or as it was found out."""
        return self._settings.language or transcript.language

    def _style(self, transcript: Transcript) -> TranscriptStyle:
        return self._settings.style.of(transcript.language)

    async def _words(self, transcript: Transcript) -> list[pb.WordInfo]:
        """Write word times, each offset counted from the start."""
        texts = await self._style(transcript).write_words(word.text for word in transcript.words)
        return [
            pb.WordInfo(
                word=text,
                start_time=1000 * word.start // MODEL_RATE_HZ,
                end_time=1000 * word.end // MODEL_RATE_HZ,
                confidence=word.confidence,
                language_code=self._language(transcript),
                speaker_tag=word.speaker.tag if word.speaker else 0,
            )
            for text, word in zip(texts, transcript.words, strict=True)
        ]

    async def _written(self, transcript: Transcript) -> tuple[Alternative, ...]:
        """Return what was said, the most probable first, in the style that is wanted."""
        style, is_final = self._style(transcript), transcript.is_final
        spoken = transcript.alternatives or (Alternative(transcript.text, transcript.confidence),)
        return tuple([dataclasses.replace(one, text=await style.write(one.text, is_final=is_final)) for one in spoken])

    def _to_alternatives(
        self, written: Iterable[Alternative], languages: Sequence[str], *, is_final: bool
    ) -> list[pb.SpeechRecognitionAlternative]:
        """Write each distinct text once, with its highest confidence."""
        distinct: dict[str, Alternative] = {}
        for alternative in written:
            distinct.setdefault(alternative.text, alternative)
        # Clients put final transcripts together as they are.
        end = " " if is_final else ""
        return [
            pb.SpeechRecognitionAlternative(
                transcript=text + end, confidence=alternative.confidence, language_code=languages
            )
            for text, alternative in distinct.items()
        ]

    def _stability(self, transcript: Transcript) -> float:
        """Estimate an interim transcript's stability from its prefix in common.

        In a pause it is at least as stable as the utterance is probably over.

        What two decodings in a row agree on seldom changes (Liu, Spanakis and Niehues, 2020, "Low-Latency
        Sequence-to-Sequence Speech Recognition and Translation by Partial Hypothesis Selection").
        """
        words, before = transcript.text.split(), self._guessed
        self._guessed = [] if transcript.is_final else words
        if transcript.is_final or not words:
            return 0.0
        if transcript.end_is_likely:
            return 1.0
        agreed = next((at for at, pair in enumerate(zip(words, before, strict=False)) if pair[0] != pair[1]), None)
        agreed = min(len(words), len(before)) if agreed is None else agreed
        return min(max(agreed / max(len(words), len(before)), transcript.end_probability), _MAX_STABLE)
