"""Clients of the engines: tensors in and out of their Triton models."""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
import json
import logging
import secrets
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from pipelines.data.predictions import AnswerSpan, IntentPrediction, SlotSpan
from pipelines.data.recognition import NO_OPTIONS, Alternative, Hypothesis, TimedWord
from pipelines.errors import InvalidInputError, ModelError
from pipelines.models.contracts import ASR, INTENT_SLOT, PUNCTUATION, QA
from pipelines.models.languages import ENGLISH, read_languages
from pipelines.models.phrase_hints import read_hints
from pipelines.models.triton.packing import tensor, timing

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt
    import tritonclient.grpc.aio as triton

    from pipelines.data.recognition import PhraseHint, RecognitionOptions
    from pipelines.models.triton.client import TritonClient

logger = logging.getLogger(__name__)

_HINTS = "phrase_hints"
"""Parameter of the model's configuration: groups with ``phrases`` and ``boost``, as JSON."""
_CORRELATION_BITS = 63
_USUAL_BOOST = -1.0


class TritonRecognizer:
    """Speech recognition by a Triton model with the contract of ``asr``.

    Attributes:
        languages: that it serves: English alone, until :meth:`prepare` has read them.
    """

    def __init__(self, client: TritonClient, model: str = ASR) -> None:
        self._client = client
        self._model = model
        self.languages = ENGLISH
        self._punctuation: TritonPunctuation | None = None

    async def prepare(self) -> None:
        """Read the model's languages, and whether its texts have punctuation."""
        codes = await self._client.parameter(self._model, "languages")
        self.languages = read_languages(codes, await self._client.parameter(self._model, "translates"))
        writes_words_alone = await self._client.parameter(self._model, "punctuates") == "false"
        self._punctuation = TritonPunctuation(self._client) if writes_words_alone else None

    def open_sequence(self, options: RecognitionOptions = NO_OPTIONS) -> TritonSequence:
        """Begin a sequence under a correlation ID of its own."""
        return TritonSequence(self._client, self._model, options, self._punctuation)


class TritonSequence:
    """One sequence of a recognizer: START with the first request, END with the last."""

    def __init__(
        self,
        client: TritonClient,
        model: str,
        options: RecognitionOptions,
        punctuation: TritonPunctuation | None = None,
    ) -> None:
        self._client = client
        self._model = model
        self._options = options
        self._punctuation = punctuation
        # 0 would mean "no sequence", and an ID in use would inherit the state of another.
        self._correlation_id = secrets.randbelow((1 << _CORRELATION_BITS) - 1) + 1
        self._begun = False

    async def send(
        self, audio: npt.NDArray[np.float32], *, decode: bool, end: bool, due: float | None = None
    ) -> Hypothesis:
        """Send the next audio; see ``pipelines.models.ports.SpeechSequence``."""
        began = time.monotonic()
        start, self._begun = not self._begun, True
        result = await self._client.infer(
            self._model,
            [
                tensor("AUDIO", audio[np.newaxis], "FP32"),
                tensor("DECODE", np.array([[decode]]), "BOOL"),
                *(_option_inputs(self._options) if start else ()),
            ],
            correlation_id=self._correlation_id,
            start=start,
            end=end,
            due=due,
        )
        hypothesis = Hypothesis(
            text=result.as_numpy("TRANSCRIPT")[0, 0].decode(),
            covered_samples=int(result.as_numpy("DECODED_SAMPLES")[0, 0]),
            is_final=bool(result.as_numpy("IS_FINAL")[0, 0]),
            timing=timing(began, result),
            alternatives=_alternatives(result),
            words=_words(result),
            # What DECODE brought, END brings again, and only with END the times of the words come.
            language=_language(result),
            is_settled=end or (decode and not self._options.word_times),
        )
        return await self._punctuated(hypothesis) if end or decode else hypothesis

    async def _punctuated(self, hypothesis: Hypothesis) -> Hypothesis:
        """Return a hypothesis with capitals and punctuation, where it has none."""
        if self._punctuation is None or not hypothesis.text or hypothesis.language not in {"", "en"}:
            return hypothesis
        try:
            (text,) = await self._punctuation.punctuate([hypothesis.text])
        except ModelError:
            # The words are worth more than their form, and the model for it may be missing.
            return hypothesis
        written = text.split()
        words = hypothesis.words
        if len(written) == len(words):
            words = tuple(dataclasses.replace(word, text=own) for word, own in zip(words, written, strict=True))
        alternatives = hypothesis.alternatives
        if alternatives:
            alternatives = (dataclasses.replace(alternatives[0], text=text), *alternatives[1:])
        return dataclasses.replace(hypothesis, text=text, words=words, alternatives=alternatives)


class TritonIntents:
    """Intents and slots by a Triton model with the contract of ``intent_slot``."""

    def __init__(self, client: TritonClient, model: str = INTENT_SLOT) -> None:
        self._client = client
        self._model = model
        self._hints: tuple[PhraseHint, ...] | None = None

    @property
    def hints(self) -> tuple[PhraseHint, ...]:
        """Phrase hints of the engine; none before its first answer."""
        return self._hints or ()

    async def predict(self, text: str, due: float | None = None) -> IntentPrediction:
        """Find intent and slots."""
        if self._hints is None:
            self._hints = await self._read_hints()
        began = time.monotonic()
        result = await self._client.infer(self._model, [_text("TEXT", text, batched=True)], due=due)
        columns = (result.as_numpy(name)[0] for name in ("SLOT_NAMES", "SLOT_SPANS", "SLOT_VALUES"))
        return IntentPrediction(
            intent=result.as_numpy("INTENT")[0, 0].decode(),
            confidence=float(result.as_numpy("CONFIDENCE")[0, 0]),
            slots=tuple(
                SlotSpan(name.decode(), int(start), int(end), value.decode())
                for name, (start, end), value in zip(*columns, strict=True)
            ),
            timing=timing(began, result),
            **_kind(result),
        )

    async def _read_hints(self) -> tuple[PhraseHint, ...]:
        """Ask Triton for the hints that training wrote into the engine's configuration."""
        stored = await self._client.parameter(self._model, _HINTS)
        try:
            groups = [(group["phrases"], group["boost"]) for group in json.loads(stored or "[]")]
            return read_hints(groups, _HINTS)
        except (InvalidInputError, KeyError, TypeError, ValueError) as error:
            logger.warning("%s brings phrase hints that cannot be used (%s): train it again", self._model, error)
            return ()


class TritonAnswers:
    """Extractive question answering by a Triton model with the contract of ``qa``."""

    def __init__(self, client: TritonClient, model: str = QA) -> None:
        self._client = client
        self._model = model

    async def find(self, question: str, document: str, due: float | None = None) -> AnswerSpan:
        """Look for an answer."""
        began = time.monotonic()
        inputs = [_text("QUESTION", question), _text("DOCUMENT", document)]
        result = await self._client.infer(self._model, inputs, due=due)
        start, end = (int(position) for position in result.as_numpy("ANSWER_SPAN").reshape(-1))
        score = float(result.as_numpy("SCORE").reshape(-1)[0])
        took = timing(began, result)
        return AnswerSpan(None, None, score, took) if start < 0 else AnswerSpan(start, end, score, took)


class TritonPunctuation:
    """Punctuation by a Triton model with the contract of ``punctuation``."""

    def __init__(self, client: TritonClient, model: str = PUNCTUATION) -> None:
        self._client = client
        self._model = model

    async def punctuate(self, texts: Sequence[str]) -> list[str]:
        """Punctuate in the model's batch sizes; see ``PunctuationModel``."""
        # Asked for every time: the model may be served with other settings from one request to the next.
        rows = max(1, await self._client.max_batch_size(self._model))
        batches = (texts[start : start + rows] for start in range(0, len(texts), rows))
        return list(itertools.chain.from_iterable(await asyncio.gather(*map(self._punctuate, batches))))

    async def _punctuate(self, texts: Sequence[str]) -> list[str]:
        packed = np.array([[text.encode()] for text in texts], np.object_)
        result = await self._client.infer(self._model, [tensor("TEXT", packed, "BYTES")])
        return [text.decode() for text in result.as_numpy("PUNCTUATED").reshape(-1)]


def _option_inputs(options: RecognitionOptions) -> Iterator[triton.InferInput]:
    """Yield the inputs that say what is asked of a sequence beside its words."""
    if options.hints:
        phrases = np.array([[hint.phrase.encode() for hint in options.hints]], np.object_)
        boosts = [_USUAL_BOOST if hint.boost is None else hint.boost for hint in options.hints]
        yield tensor("PHRASE_HINTS", phrases, "BYTES")
        yield tensor("PHRASE_BOOSTS", np.array([boosts], np.float32), "FP32")
    if options.alternatives > 1:
        yield tensor("ALTERNATIVES", np.array([[options.alternatives]], np.int32), "INT32")
    if options.word_times:
        yield tensor("WORD_TIMES", np.array([[True]]), "BOOL")
    if options.language:
        yield tensor("LANGUAGE", np.array([[options.language.encode()]], np.object_), "BYTES")
    if options.translate:
        yield tensor("TRANSLATE", np.array([[True]]), "BOOL")


def _alternatives(result: triton.InferResult) -> tuple[Alternative, ...]:
    texts = result.as_numpy("ALTERNATIVE_TEXTS").reshape(-1)
    confidences = result.as_numpy("ALTERNATIVE_CONFIDENCES").reshape(-1)
    return tuple(
        Alternative(text.decode(), float(confidence)) for text, confidence in zip(texts, confidences, strict=True)
    )


def _language(result: triton.InferResult) -> str:
    """Read what recognizers from before there were languages do not tell."""
    told = result.as_numpy("SPOKEN_LANGUAGE")
    return "" if told is None else told.reshape(-1)[0].decode()


def _kind(result: triton.InferResult) -> dict[str, Any]:
    """Read what engines from before there were kinds of utterances do not tell."""
    kinds = result.as_numpy("KIND")
    if kinds is None:
        return {}
    names, scores = (result.as_numpy(name)[0] for name in ("INTENT_NAMES", "INTENT_SCORES"))
    return {
        "kind": kinds[0, 0].decode(),
        "negated": bool(result.as_numpy("NEGATED")[0, 0]),
        "candidates": tuple((name.decode(), float(score)) for name, score in zip(names, scores, strict=True) if name),
    }


def _words(result: triton.InferResult) -> tuple[TimedWord, ...]:
    texts, spans = (result.as_numpy(name)[0] for name in ("WORDS", "WORD_SPANS"))
    return tuple(
        TimedWord(text.decode(), int(start), int(end)) for text, (start, end) in zip(texts, spans, strict=True)
    )


def _text(name: str, text: str, *, batched: bool = False) -> triton.InferInput:
    values = np.array([text.encode()], np.object_)
    return tensor(name, values.reshape(1, 1) if batched else values, "BYTES")
