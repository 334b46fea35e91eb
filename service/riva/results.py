"""Writes what was recognized as Riva's results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipelines.audio.formats import MODEL_RATE_HZ
from pipelines.ports import Alternative
from pipelines.turns.alternatives import join_alternatives
from service.riva.proto import riva_asr_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pipelines.messages import Transcript
    from service.riva.settings import RecognitionSettings
    from service.riva.voice import ObservedVoice


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

    def streaming(self, transcript: Transcript) -> pb.StreamingRecognitionResult:
        """Writes a transcript of a stream."""
        best = Alternative(transcript.text, transcript.confidence)
        result = self.states()
        result.alternatives.extend(self._write(transcript.alternatives or (best,), is_final=transcript.is_final))
        result.alternatives[0].words.extend(self._words(transcript))
        result.is_final = transcript.is_final
        if not transcript.is_final:
            # More was heard than was decoded: by this a client tells which of its chunks the words are from.
            result.audio_processed = transcript.end / MODEL_RATE_HZ
        result.stability = self._stability(transcript)
        return result

    def states(self) -> pb.StreamingRecognitionResult:
        """Writes how far the channel was heard, without a transcript."""
        result = pb.StreamingRecognitionResult(channel_tag=self._channel, audio_processed=self._voice.heard_seconds)
        if self._settings.vad_probabilities:
            result.pipeline_states.vad_probabilities.extend(self._voice.take_probabilities())
        return result

    def offline(self, transcripts: Sequence[Transcript]) -> pb.SpeechRecognitionResult:
        """Writes the final transcripts of a recording as one."""
        each = [
            (transcript.text, transcript.alternatives or (Alternative(transcript.text, transcript.confidence),))
            for transcript in transcripts
        ]
        joined = join_alternatives(each, max(1, self._settings.recognition.alternatives))
        result = pb.SpeechRecognitionResult(
            alternatives=self._write(joined, is_final=True),
            channel_tag=self._channel,
            audio_processed=self._voice.heard_seconds,
        )
        for transcript in transcripts:
            result.alternatives[0].words.extend(self._words(transcript))
        return result

    def _words(self, transcript: Transcript) -> Iterator[pb.WordInfo]:
        """Writes when the words were said; each offset is counted from the start, so that none drifts."""
        for word in transcript.words:
            yield pb.WordInfo(
                word=self._settings.style.write_word(word.text),
                start_time=1000 * word.start // MODEL_RATE_HZ,
                end_time=1000 * word.end // MODEL_RATE_HZ,
                confidence=word.confidence,
                language_code=self._settings.language,
            )

    def _write(self, alternatives: Iterable[Alternative], *, is_final: bool) -> list[pb.SpeechRecognitionAlternative]:
        # Clients put final transcripts together as they are.
        end = " " if is_final else ""
        distinct: dict[str, Alternative] = {}
        for alternative in alternatives:
            distinct.setdefault(self._settings.style.write(alternative.text, is_final=is_final) + end, alternative)
        return [
            pb.SpeechRecognitionAlternative(
                transcript=written, confidence=alternative.confidence, language_code=[self._settings.language]
            )
            for written, alternative in distinct.items()
        ]

    def _stability(self, transcript: Transcript) -> float:
        """Estimates how stable an interim transcript is: the share of its words that the one before began with.

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
        return (min(len(words), len(before)) if agreed is None else agreed) / len(words)
