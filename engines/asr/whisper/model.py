"""Whisper: texts, alternatives and word times.

Every utterance is a batch of its own: its text does not depend on what others say, and the encoder, which takes most of
the time, gains nothing from more rows on a CPU.
"""

from __future__ import annotations

import importlib
import json
import math
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from engines.asr.search.alternatives import rank_texts
from engines.asr.serving.recognizer import Alternative, TimedWord
from engines.asr.serving.requests import AUTO
from engines.asr.serving.utterance import SAMPLE_RATE
from engines.asr.whisper.features import HOP, WINDOW_FRAMES, LogMel
from engines.asr.whisper.loops import is_suspicious, without_loops
from engines.asr.whisper.tokens import TRANSCRIBE, TRANSLATE, WhisperTokens

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from engines.asr.serving.recognizer import Hint
    from engines.asr.serving.utterance import ScoredText, Utterance

MODEL, CONFIG, TOKENIZER = "model.bin", "config.json", "tokenizer.json"
FILES = (MODEL, CONFIG, TOKENIZER)
PRECISIONS = ("float32", "int8")

MIN_SAMPLES = SAMPLE_RATE // 10
"""Shorter utterances have an empty transcript."""
PADDING_FRAMES = 500
"""Silence of 10 ms frames behind an utterance.

The network was trained on windows of 30 s. With 5 s of silence behind the speech it makes the same number of errors, at
a fraction of the cost; with less it loops. Texts that look like loops are decoded again in the whole window.
"""
MAX_HINT_TOKENS = 100

_FRAME_SECONDS = 0.02
_MIN_PEAK = 1e-3
"""Softer audio is silence."""
_MAX_SILENCE, _MIN_CONFIDENCE = 0.6, -1.0
"""Whisper's authors' rule: no text where silence is more probable, and a token less (natural logarithm), than this."""
_BEAMS = 5
_MAX_TOKENS = 224
_TOKENS, _TOKENS_A_SECOND = 24, 20
"""Bound of a text's tokens: scripts that are spelled in bytes take many."""


@dataclass(frozen=True, slots=True)
class _Heard:
    """What was computed of an utterance.

    Attributes:
        samples: of the utterance, of which it was computed.
        frames: of 10 ms in the window, the silence included.
        encoded: the encoder's output.
        language: that is spoken.
        prompt: begins its texts.
    """

    samples: int
    frames: int
    encoded: Any
    language: str
    prompt: list[int]


class WhisperRecognizer:
    """Recognizer of many languages (``engines.asr.serving.recognizer.Recognizer``).

    Attributes:
        max_seconds: With a second of margin, the window of the network.
        is_streaming: False: every text is decoded anew.
        languages: codes that are served.
        translates: whether it can translate into English.
    """

    max_seconds = WINDOW_FRAMES * HOP / SAMPLE_RATE - 1
    is_streaming = False

    def __init__(
        self, folder: Path, *, workers: int = 1, threads: int = 1, precision: str = "float32", language: str = AUTO
    ) -> None:
        """Load the model.

        Args:
            folder: Holds ``FILES``, as CTranslate2's converter writes them.
            workers: Utterances that are computed at a time.
            threads: Cores that one utterance may use.
            precision: One of ``PRECISIONS``.
            language: Of utterances that name none: a code, or ``AUTO``.

        Raises:
            FileNotFoundError: a file is missing.
            ValueError: the model is damaged, or is none of Whisper's; or there is no such language or precision.
            ModuleNotFoundError: CTranslate2 is not installed; the text says how to install it.
        """
        for name in FILES:
            if not (folder / name).is_file():
                raise FileNotFoundError(
                    f"{folder / name} is missing: import a folder of CTranslate2 with {', '.join(FILES)}"
                )
        if precision not in PRECISIONS:
            raise ValueError(f"there is no precision {precision!r}: choose {' or '.join(PRECISIONS)}")
        self._ctranslate2 = _ctranslate2()
        _check_config(folder / CONFIG)
        try:
            self._model = self._ctranslate2.models.Whisper(
                str(folder), device="cpu", compute_type=precision, inter_threads=workers, intra_threads=threads
            )
        except Exception as error:  # the library raises RuntimeError and ValueError alike
            raise ValueError(f"{folder / MODEL} cannot be loaded ({error}): convert or download it again") from error
        self._tokens = WhisperTokens(folder / TOKENIZER, multilingual=self._model.is_multilingual)
        self._mel = LogMel(self._model.n_mels)
        self.languages = self._tokens.languages
        self.translates = bool(self._model.is_multilingual)
        self._language = language if self._model.is_multilingual else self.languages[0]
        if self._language not in {AUTO, *self.languages}:
            raise ValueError(f"the model has no language {language!r}: choose {AUTO}, {', '.join(self.languages)}")

    def covered_samples(self, samples: int) -> int:
        """Return ``samples``: every text covers all audio."""
        return samples

    def text(self, tokens: Sequence[int]) -> str:
        """Return the text of ``tokens``."""
        return self._tokens.decode(tokens)

    def rank(self, alternatives: Sequence[Alternative], wanted: int) -> tuple[ScoredText, ...]:
        """Return the texts of alternatives, merged without case and punctuation."""
        return rank_texts([(self.text(found.tokens), found) for found in alternatives], wanted)

    def bias(self, hints: tuple[Hint, ...]) -> Future[list[int]]:
        """Return the hints as a text that stands before: as many as fit, without boosts."""
        tokens: list[int] = []
        for hint in hints:
            more = self._tokens.encode(f" {hint.text.strip()},")
            if len(tokens) + len(more) > MAX_HINT_TOKENS:
                break
            tokens += more
        ready: Future[list[int]] = Future()
        ready.set_result(tokens)
        return ready

    def transcribe(self, utterances: Sequence[Utterance], *, thorough: bool = True) -> list[list[int]]:  # noqa: ARG002
        """Return the tokens of each utterance, from all its audio, ``thorough`` or not."""
        return [list(self._decode(utterance, 1, 1)[0].tokens) for utterance in utterances]

    def search(
        self,
        utterances: Sequence[Utterance],
        *,
        thorough: bool,
        hints_seconds: float = 0.0,  # noqa: ARG002 - hints are always ready
    ) -> list[list[Alternative]]:
        """Return what each utterance may be, the best first, by beams where several are wanted."""
        found = []
        for utterance in utterances:
            wanted = utterance.wanted if thorough else 1
            found.append(self._decode(utterance, max(_BEAMS, wanted) if wanted > 1 else 1, wanted))
        return found

    def time_words(self, utterances: Sequence[Utterance]) -> list[tuple[TimedWord, ...]]:
        """Return when the words of each utterance's hypothesis were said."""
        return [self._time(utterance) for utterance in utterances]

    def _decode(self, utterance: Utterance, beams: int, wanted: int) -> list[Alternative]:
        """Decode one utterance; again in the whole window where a text looks like a loop."""
        nothing = [Alternative((), 0.0, 0.0)]
        if len(utterance) < MIN_SAMPLES or float(np.abs(utterance.audio).max()) < _MIN_PEAK:
            return nothing
        heard = self._hear(utterance, _frames(len(utterance)))
        found = self._generate(utterance, heard, beams, wanted)
        if heard.frames < WINDOW_FRAMES and any(is_suspicious(one.tokens, self.text(one.tokens)) for one in found):
            heard = self._hear(utterance, WINDOW_FRAMES)
            found = self._generate(utterance, heard, beams, wanted)
        return [self._without_loops(utterance, heard, one) for one in found] or nothing

    def _hear(self, utterance: Utterance, frames: int) -> _Heard:
        """Encode an utterance, and find its language; known results are used again."""
        known = utterance.state
        if isinstance(known, _Heard) and known.samples == len(utterance) and known.frames >= frames:
            return known
        mel = self._mel(utterance.audio, frames)[np.newaxis]
        encoded = self._model.encode(self._ctranslate2.StorageView.from_array(np.ascontiguousarray(mel)))
        language = utterance.language or self._language
        if language == AUTO:
            (probable,) = self._model.detect_language(encoded)
            language = probable[0][0].strip("<|>")
        bias = utterance.bias.result() if utterance.bias else ()
        task = TRANSLATE if utterance.translate else TRANSCRIBE
        utterance.spoken_language = language
        heard = _Heard(len(utterance), frames, encoded, language, self._tokens.prompt(language, task, bias))
        utterance.state = heard
        return heard

    def _generate(self, utterance: Utterance, heard: _Heard, beams: int, wanted: int) -> list[Alternative]:
        """Return the texts of one window, the best first; none where nobody speaks."""
        limit = min(_MAX_TOKENS, _TOKENS + round(_TOKENS_A_SECOND * len(utterance) / SAMPLE_RATE))
        (result,) = self._model.generate(
            heard.encoded,
            [heard.prompt],
            beam_size=beams,
            num_hypotheses=wanted,
            max_length=len(heard.prompt) + limit,
            return_scores=True,
            return_no_speech_prob=True,
        )
        found = []
        for tokens, score in zip(result.sequences_ids, result.scores, strict=True):
            if result.no_speech_prob > _MAX_SILENCE and score < _MIN_CONFIDENCE:
                continue
            # Scores are means over the tokens and the end of the text.
            total = float(score) * (len(tokens) + 1)
            found.append(Alternative(tuple(tokens), total, total))
        return found

    def _without_loops(self, utterance: Utterance, heard: _Heard, found: Alternative) -> Alternative:
        if not is_suspicious(found.tokens, self.text(found.tokens)):
            return found
        starts = self._starts(utterance, heard, found.tokens)
        tokens = without_loops(found.tokens, starts, self.text)
        return Alternative(tuple(tokens), found.log_probability, found.score)

    def _starts(self, utterance: Utterance, heard: _Heard, tokens: Sequence[int]) -> list[float]:
        """Return the seconds at which each token begins, and at which the last one ends."""
        task = TRANSLATE if utterance.translate else TRANSCRIBE
        frames = max(1, min(heard.frames, math.ceil(len(utterance) / HOP)))
        start = self._tokens.start(heard.language, task)
        (aligned,) = self._model.align(heard.encoded, start, [list(tokens)], frames)
        seconds = len(utterance) / SAMPLE_RATE
        starts: list[float] = [seconds] * (len(tokens) + 1)
        for token, frame in reversed(aligned.alignments):
            if token < len(tokens):
                starts[token] = min(seconds, frame * _FRAME_SECONDS)
        last = max((frame for token, frame in aligned.alignments if token == len(tokens) - 1), default=None)
        if last is not None:
            starts[-1] = min(seconds, (last + 1) * _FRAME_SECONDS)
        for token in reversed(range(len(tokens))):
            starts[token] = min(starts[token], starts[token + 1])
        return starts

    def _time(self, utterance: Utterance) -> tuple[TimedWord, ...]:
        if not utterance.tokens:
            return ()
        heard = self._hear(utterance, _frames(len(utterance)))
        starts = self._starts(utterance, heard, utterance.tokens)
        samples = [round(seconds * SAMPLE_RATE) for seconds in starts]
        language = "en" if utterance.translate else heard.language
        words = self._tokens.words(utterance.tokens, language)
        return tuple(TimedWord(text, samples[first], samples[end]) for text, first, end in words)


def _frames(samples: int) -> int:
    """Return the frames of a window for so many samples, silence included; even."""
    return min(WINDOW_FRAMES, 2 * math.ceil(samples / (2 * HOP)) + PADDING_FRAMES)


def _ctranslate2() -> Any:  # noqa: ANN401 - a library without types
    try:
        return importlib.import_module("ctranslate2")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "Whisper needs CTranslate2: run pip install 'vivavoce-server[whisper]' and start again"
        ) from error


def _check_config(path: Path) -> None:
    """Raise ValueError for a model that is none of Whisper's."""
    try:
        config: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        known = "lang_ids" in config or "alignment_heads" in config
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path} is no JSON object ({error}): convert or download the model again") from error
    if not known:
        raise ValueError(f"{path} is not that of a Whisper model: convert one with ct2-transformers-converter")
