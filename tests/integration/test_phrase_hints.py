"""Phrase hints and alternatives: the real model, in this process and behind a real Triton."""

from __future__ import annotations

import json
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING

import jiwer
import numpy as np
import pytest
import soundfile
import soxr
import tritonclient.grpc as triton
from tritonclient.utils import InferenceServerException

from engines.asr.moonshine.model import MoonshineRecognizer
from engines.asr.search.spelling import spell
from engines.asr.serving.recognizer import Hint
from engines.asr.serving.utterance import SAMPLE_RATE, Utterance
from engines.build.moonshine import TARGET

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

DEMO = Path(__file__).parents[2] / "demo"
MANIFEST = json.loads((DEMO / "manifest.json").read_text())
MISHEARD = "recordings/bee_dance.flac"
"""Without hints the recognizer hears "Do you discover the meaning of the dance?"."""
SAID = "Who discovered the meaning of the dance?"
CAFE = tuple(
    Hint(phrase)
    for phrase in (
        *(f"{how} {what}" for how in ("some", "a bit of", "a lot of") for what in ("milk", "sugar", "soy milk")),
        *("latte", "cappuccino", "americano", "espresso", "iced mocha", "medium roast", "twelve ounce", "cream"),
        "I want to have a large iced mocha with a bit of soy milk",
        "make me a twelve ounce americano with cream and a lot of sugar please",
    )
)


def load(name: str) -> np.ndarray:
    samples, rate = soundfile.read(DEMO / name, dtype="float32", always_2d=True)
    return np.asarray(soxr.resample(samples.mean(axis=1), rate, SAMPLE_RATE), np.float32)


def heard(audio: np.ndarray, recognizer: MoonshineRecognizer, hints: Sequence[Hint], wanted: int = 1) -> Utterance:
    utterance = Utterance(bias=recognizer.bias(tuple(hints)), wanted=wanted)
    utterance.append(audio)
    return utterance


def words(text: str) -> str:
    return spell(text).decode()


@pytest.fixture(scope="module")
def recognizer() -> MoonshineRecognizer:
    return MoonshineRecognizer(TARGET)


@pytest.fixture(scope="module")
def recordings() -> list[np.ndarray]:
    return [load(entry["file"]) for entry in MANIFEST]


def test_hints_of_another_domain_cost_at_most_a_point_of_word_errors(
    recognizer: MoonshineRecognizer, recordings: list[np.ndarray]
) -> None:
    said = [words(entry["text"]) for entry in MANIFEST]
    plain = []
    for audio in recordings:
        utterance = Utterance()
        utterance.append(audio)
        plain.append(words(recognizer.text(recognizer.transcribe([utterance])[0])))
    found = recognizer.search([heard(audio, recognizer, CAFE) for audio in recordings], thorough=True)
    hinted = [words(recognizer.text(alternatives[0].tokens)) for alternatives in found]
    assert jiwer.wer(said, hinted) <= jiwer.wer(said, plain) + 0.01


def test_a_batch_with_different_hints_is_searched_as_if_alone(
    recognizer: MoonshineRecognizer, recordings: list[np.ndarray]
) -> None:
    asked = [((), 2), (CAFE, 1), ((Hint(SAID),), 3), ((Hint("seven thirty", 30.0),), 5), (CAFE, 2), ((), 6)]
    utterances = [
        heard(audio, recognizer, hints, wanted) for audio, (hints, wanted) in zip(recordings[2:8], asked, strict=True)
    ]
    alone = [recognizer.search([utterance], thorough=True)[0] for utterance in utterances]
    together = recognizer.search(utterances, thorough=True)
    for one, same in zip(alone, together, strict=True):
        assert [found.tokens for found in one] == [found.tokens for found in same]
        assert [found.score for found in one] == pytest.approx([found.score for found in same], abs=1e-2)


def test_hints_that_are_not_ready_or_fail_cost_nobody_else_the_text(
    recognizer: MoonshineRecognizer, recordings: list[np.ndarray]
) -> None:
    plain, never, failed = (heard(recordings[0], recognizer, ()) for _ in range(3))
    never.bias, failed.bias = Future(), Future()
    failed.bias.set_exception(IndexError())
    first, *others = recognizer.search([plain, never, failed], thorough=True)
    assert [other[0].tokens for other in others] == [first[0].tokens] * 2


def test_a_partial_search_goes_on_from_what_was_recognized(
    recognizer: MoonshineRecognizer, recordings: list[np.ndarray]
) -> None:
    so_far = round(2.2 * SAMPLE_RATE)
    utterance = heard(recordings[0][:so_far], recognizer, CAFE)
    utterance.tokens = list(recognizer.search([utterance], thorough=False)[0][0].tokens)
    utterance.append(recordings[0][so_far:])
    partial = recognizer.text(recognizer.search([utterance], thorough=False)[0][0].tokens)
    # It may write "to-morrow".
    assert jiwer.wer(words(MANIFEST[0]["text"]).replace(" ", ""), words(partial).replace(" ", "")) == 0


class Client:
    """Sends whole utterances to the model."""

    def __init__(self, address: str) -> None:
        self.triton = triton.InferenceServerClient(address)
        self.last_id = 10**6

    def ask(self, audio: np.ndarray, **options: np.ndarray) -> triton.InferResult:
        self.last_id += 1
        kinds = {"PHRASE_HINTS": "BYTES", "PHRASE_BOOSTS": "FP32", "ALTERNATIVES": "INT32"}
        tensors = [("AUDIO", "FP32", audio), ("DECODE", "BOOL", np.array([True]))]
        tensors += [(name, kinds[name], values) for name, values in options.items()]
        inputs = [
            triton.InferInput(name, [1, *values.shape], kind).set_data_from_numpy(values[None])
            for name, kind, values in tensors
        ]
        return self.triton.infer(
            "asr", inputs, sequence_id=self.last_id, sequence_start=True, sequence_end=True, client_timeout=60
        )


@pytest.fixture(scope="module")
def client(triton_address: str) -> Iterator[Client]:
    client = Client(triton_address)
    yield client
    client.triton.close()


def phrases(*texts: str) -> np.ndarray:
    return np.array([text.encode() for text in texts], np.object_)


def test_a_hint_corrects_what_was_misheard(client: Client) -> None:
    audio = load(MISHEARD)
    plain = client.ask(audio)
    hinted = client.ask(audio, PHRASE_HINTS=phrases("who discovered"))
    assert "who discovered" not in words(plain.as_numpy("TRANSCRIPT").item().decode())
    assert words(hinted.as_numpy("TRANSCRIPT").item().decode()).startswith("who discovered the meaning")
    assert plain.as_numpy("ALTERNATIVE_TEXTS").size == 0


def test_alternatives_come_in_order_with_their_scores(client: Client) -> None:
    result = client.ask(load(MISHEARD), ALTERNATIVES=np.array([4], np.int32))
    texts = [text.decode() for text in result.as_numpy("ALTERNATIVE_TEXTS")[0]]
    confidences = result.as_numpy("ALTERNATIVE_CONFIDENCES")[0]
    assert texts[0] == result.as_numpy("TRANSCRIPT").item().decode()
    assert 2 <= len(texts) <= 4
    assert len({words(text) for text in texts}) == len(texts)
    assert list(confidences) == sorted(confidences, reverse=True)
    assert 0 < confidences.sum() <= 1.0001
    assert (result.as_numpy("ALTERNATIVE_LOG_PROBABILITIES") < 0).all()


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"PHRASE_HINTS": phrases("a"), "PHRASE_BOOSTS": np.array([101], np.float32)}, "PHRASE_BOOSTS holds 101"),
        ({"PHRASE_HINTS": phrases("a"), "PHRASE_BOOSTS": np.array([1, 2], np.float32)}, "2 boosts for 1 phrases"),
        ({"PHRASE_HINTS": phrases(*["a"] * 1_001)}, "PHRASE_HINTS holds 1,001"),
        ({"ALTERNATIVES": np.array([11], np.int32)}, "ALTERNATIVES is 11"),
    ],
)
def test_what_is_out_of_bounds_is_refused_by_name(client: Client, options: dict[str, np.ndarray], match: str) -> None:
    with pytest.raises(InferenceServerException, match=match):
        client.ask(np.zeros(1_600, np.float32), **options)
