"""The real model on real recordings: in this process, and behind a real Triton."""

from __future__ import annotations

import itertools
import os
import random
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jiwer
import numpy as np
import pytest
import soundfile
import soxr
import tritonclient.grpc as triton
from tritonclient.utils import InferenceServerException

from engines.asr.moonshine import networks as moonshine
from engines.asr.moonshine.decoder import DecoderBatch, DraftBatch
from engines.asr.moonshine.model import MoonshineRecognizer
from engines.asr.serving.utterance import SAMPLE_RATE, Utterance
from engines.build.moonshine import TARGET, find_assets

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

TALE_OF_TWO_CITIES = (
    "it was the best of times it was the worst of times it was the age of wisdom it was the age of foolishness it "
    "was the epoch of belief it was the epoch of incredulity it was the season of light it was the season of "
    "darkness it was the spring of hope it was the winter of despair we had everything before us we had nothing "
    "before us we were all going direct to heaven we were all going direct the other way in short the period was "
    "so far like the present period that some of its noisiest authorities insisted on its being received for good "
    "or for evil in the superlative degree of comparison only"
)


def load(path: Path) -> np.ndarray:
    samples, rate = soundfile.read(path, dtype="float32", always_2d=True)
    return np.asarray(soxr.resample(samples.mean(axis=1), rate, SAMPLE_RATE), np.float32)


def wheel_recording(name: str) -> np.ndarray:
    return load(find_assets().parent / name)


def words(text: str) -> str:
    return "".join(c for c in text.lower() if c.isalpha() or c == " ")


def heard(audio: np.ndarray, tokens: Sequence[int] = ()) -> Utterance:
    utterance = Utterance(tokens=list(tokens))
    utterance.append(audio)
    return utterance


@pytest.fixture(scope="module")
def tale() -> np.ndarray:
    return wheel_recording("two_cities.wav")


@pytest.fixture(scope="module")
def beckett() -> np.ndarray:
    return wheel_recording("beckett.wav")


@pytest.fixture(scope="module")
def recognizer() -> MoonshineRecognizer:
    return MoonshineRecognizer(TARGET)


@pytest.fixture(scope="module")
def pieces(tale: np.ndarray, beckett: np.ndarray) -> list[np.ndarray]:
    """Pieces of 0.5 to 6 s that begin and end anywhere, as endpointing's do at worst."""
    rng = random.Random(5)
    cut = []
    for recording in (tale,) * 12 + (beckett,) * 4:
        size = int(rng.uniform(0.5, 6) * SAMPLE_RATE)
        start = rng.randrange(len(recording) - size)
        cut.append(recording[start : start + size])
    return cut


@pytest.fixture(scope="module")
def alone(recognizer: MoonshineRecognizer, pieces: list[np.ndarray]) -> list[list[int]]:
    """Tokens of each piece, transcribed by itself."""
    return [recognizer.transcribe([heard(piece)])[0] for piece in pieces]


def test_batched_is_unbatched(
    recognizer: MoonshineRecognizer, pieces: list[np.ndarray], alone: list[list[int]]
) -> None:
    assert recognizer.transcribe([heard(piece) for piece in pieces]) == alone


def test_batched_is_unbatched_on_recordings_of_commands(recognizer: MoonshineRecognizer) -> None:
    data = Path(os.environ.get("VIVAVOCE_DATA", Path(__file__).parents[3] / "shared" / "data"))
    files = sorted((data / "commands" / "audio").glob("*.flac"))[:24]
    if not files:
        pytest.skip(f"no recordings in {data / 'commands' / 'audio'}; set VIVAVOCE_DATA")
    recordings = [load(file) for file in files]
    expected = [recognizer.transcribe([heard(recording)])[0] for recording in recordings]
    assert recognizer.transcribe([heard(recording) for recording in recordings]) == expected


def test_drafts_change_nothing(
    recognizer: MoonshineRecognizer, pieces: list[np.ndarray], alone: list[list[int]]
) -> None:
    # Each row's own tokens cut short or continued wrongly, another row's, and none.
    drafts = [[*own[: len(own) // 2], *other][i % 3 * 4 :] for i, (own, other) in enumerate(itertools.pairwise(alone))]
    drafts.append([])
    utterances = [heard(piece, draft) for piece, draft in zip(pieces, drafts, strict=True)]
    assert recognizer.transcribe(utterances) == alone


class CountingSteps:
    """Counts the steps of the exact decoder and of the one that drafts."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.exact = self.drafting = 0
        step = DecoderBatch.step

        def counted(batch: DecoderBatch, *given: Any) -> np.ndarray:
            if isinstance(batch, DraftBatch):
                self.drafting += 1
            else:
                self.exact += 1
            return step(batch, *given)

        monkeypatch.setattr(DecoderBatch, "step", counted)


@pytest.mark.parametrize("rows", [1, 2])
def test_texts_that_are_drafted_in_8_bits_are_those_of_the_exact_decoder(
    pieces: list[np.ndarray], alone: list[list[int]], rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moonshine, "drafting_pays", lambda *decoders: True)
    recognizer = MoonshineRecognizer(TARGET)
    steps = CountingSteps(monkeypatch)
    found = []
    for first in range(0, len(pieces), rows):
        found += recognizer.transcribe([heard(piece) for piece in pieces[first : first + rows]])
    assert found == alone
    # The drafts were nearly all right.
    assert steps.drafting > sum(map(len, alone)) / (2 * rows)
    assert steps.exact < steps.drafting / 4


def test_a_draft_that_errs_is_put_right(
    pieces: list[np.ndarray], alone: list[list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moonshine, "drafting_pays", lambda *decoders: True)
    recognizer = MoonshineRecognizer(TARGET)
    for piece, tokens in zip(pieces, alone, strict=True):
        wrong = [*tokens[:2], 99, *tokens[3:]]
        monkeypatch.setattr(recognizer._networks.drafter, "draft", lambda *given, wrong=wrong: [wrong])
        assert recognizer.transcribe([heard(piece)]) == [tokens]


def test_without_speculation_a_text_is_decoded_from_its_first_token_on(
    pieces: list[np.ndarray], alone: list[list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = CountingSteps(monkeypatch)
    recognizer = MoonshineRecognizer(TARGET, speculative=False)
    assert recognizer.transcribe([heard(pieces[0], alone[0])]) == [alone[0]]
    assert (steps.exact, steps.drafting) == (len(alone[0]), 0)


def test_growing_utterances_end_as_whole_ones(
    recognizer: MoonshineRecognizer, pieces: list[np.ndarray], alone: list[list[int]]
) -> None:
    rng = random.Random(6)
    utterances = [Utterance() for _ in pieces]
    while growing := [i for i, utterance in enumerate(utterances) if len(utterance) < len(pieces[i])]:
        for i in growing:
            have = len(utterances[i])
            utterances[i].append(pieces[i][have : have + rng.randrange(100, 3 * SAMPLE_RATE)])
        batch = [utterances[i] for i in growing]
        for utterance, tokens in zip(batch, recognizer.transcribe(batch), strict=True):
            utterance.tokens = tokens
    assert [utterance.tokens for utterance in utterances] == alone


@pytest.mark.parametrize("seconds", [0.001, 0.03, 0.0999])
def test_a_click_is_no_text(recognizer: MoonshineRecognizer, tale: np.ndarray, seconds: float) -> None:
    assert recognizer.transcribe([heard(tale[20_000 : 20_000 + int(seconds * SAMPLE_RATE)])]) == [[]]


def test_extremes_stay_finite_and_leave_their_neighbours_alone(
    recognizer: MoonshineRecognizer, pieces: list[np.ndarray], alone: list[list[int]]
) -> None:
    rng = np.random.default_rng(8)
    odd = [
        np.zeros(20_000, np.float32),
        rng.uniform(-1, 1, 30_000).astype(np.float32),
        np.full(5_000, 1e30, np.float32),
    ]
    batch = [heard(audio) for audio in (odd[0], pieces[0], odd[1], pieces[1], odd[2])]
    transcripts = recognizer.transcribe(batch)
    assert transcripts[1] == alone[0]
    assert transcripts[3] == alone[1]


def test_words_of_a_long_reading(recognizer: MoonshineRecognizer, tale: np.ndarray) -> None:
    """moonshine-voice's own Transcriber has 5.9 % on this recording."""
    halves = [heard(tale[: 28 * SAMPLE_RATE]), heard(tale[28 * SAMPLE_RATE :])]
    text = " ".join(recognizer.text(tokens) for tokens in recognizer.transcribe(halves))
    assert jiwer.wer(TALE_OF_TWO_CITIES, words(text)) <= 0.05


@dataclass(frozen=True)
class Answer:
    transcript: str
    is_final: bool
    decoded_samples: int
    compute_ms: float


class Client:
    """Sends single requests to the model."""

    def __init__(self, address: str) -> None:
        self.triton = triton.InferenceServerClient(address)

    def ask(
        self,
        sequence_id: int,
        audio: np.ndarray,
        start: bool = False,
        end: bool = False,
        decode: bool = False,
        hints: Sequence[str] | None = None,
    ) -> Answer:
        inputs = [
            triton.InferInput("AUDIO", [1, len(audio)], "FP32").set_data_from_numpy(audio[None]),
            triton.InferInput("DECODE", [1, 1], "BOOL").set_data_from_numpy(np.array([[decode]])),
        ]
        if hints is not None:
            phrases = np.array([list(hints)], np.object_)
            inputs.append(triton.InferInput("PHRASE_HINTS", list(phrases.shape), "BYTES").set_data_from_numpy(phrases))
        result = self.triton.infer(
            "asr", inputs, sequence_id=sequence_id, sequence_start=start, sequence_end=end, client_timeout=60
        )
        transcript, is_final, samples, compute_ms = (
            result.as_numpy(name) for name in ("TRANSCRIPT", "IS_FINAL", "DECODED_SAMPLES", "COMPUTE_MS")
        )
        assert transcript.shape == is_final.shape == samples.shape == compute_ms.shape == (1, 1)
        return Answer(transcript.item().decode(), is_final.item(), samples.item(), compute_ms.item())

    def say(self, audio: np.ndarray, chunks: Iterator[int], pace_seconds: float = 0.0) -> list[Answer]:
        """Streams an utterance, with a pause after each chunk; returns all answers."""
        sequence_id, position, answers = new_id(), 0, []
        while position < len(audio):
            end = position + next(chunks)
            answers.append(self.ask(sequence_id, audio[position:end], position == 0, end >= len(audio)))
            position = end
            time.sleep(pace_seconds)
        return answers


def new_id() -> int:
    return random.SystemRandom().randrange(1, 2**63)


def chunks(smallest: int, largest: int, seed: int = 0) -> Iterator[int]:
    rng = random.Random(seed)
    while True:
        yield rng.randint(smallest, largest)


@pytest.fixture(scope="module")
def client(triton_address: str) -> Iterator[Client]:
    client = Client(triton_address)
    yield client
    client.triton.close()


NOTHING = np.zeros(0, np.float32)


@pytest.mark.parametrize(("smallest", "largest"), [(160_000, 160_000), (1_600, 1_600), (1, 20_000)])
def test_any_chunks_give_the_same_final_text(
    client: Client, recognizer: MoonshineRecognizer, beckett: np.ndarray, smallest: int, largest: int
) -> None:
    answers = client.say(beckett, chunks(smallest, largest))
    expected = recognizer.text(recognizer.transcribe([heard(beckett)])[0])
    assert [answer.is_final for answer in answers] == [False] * (len(answers) - 1) + [True]
    assert answers[-1].transcript == expected
    assert answers[-1].decoded_samples == len(beckett)
    assert jiwer.wer("ever tried ever failed no matter try again fail again fail better", words(expected)) == 0


@pytest.mark.alone
def test_partial_results_come_every_500_ms(client: Client, beckett: np.ndarray) -> None:
    answers = client.say(beckett[: 4 * SAMPLE_RATE], chunks(1_600, 1_600), pace_seconds=0.1)
    for sent, answer in zip(range(1_600, 65_000, 1_600), answers, strict=True):
        assert sent - answer.decoded_samples < 0.5 * SAMPLE_RATE
        assert (answer.compute_ms > 0) == (answer.decoded_samples == sent)
    texts = [answer.transcript for answer in answers]
    assert len(set(texts)) > 3


def test_conversations_at_once_share_batches_and_keep_apart(
    client: Client, recognizer: MoonshineRecognizer, pieces: list[np.ndarray], alone: list[list[int]]
) -> None:
    before = client.triton.get_inference_statistics("asr").model_stats[0]
    with ThreadPoolExecutor(len(pieces)) as pool:
        runs = [pool.submit(client.say, piece, chunks(800, 6_000, i)) for i, piece in enumerate(pieces)]
        finals = [run.result()[-1].transcript for run in runs]
    assert finals == [recognizer.text(tokens) for tokens in alone]
    after = client.triton.get_inference_statistics("asr").model_stats[0]
    requests = after.inference_count - before.inference_count
    executions = after.execution_count - before.execution_count
    assert requests > 1.5 * executions
    assert max(batch.batch_size for batch in after.batch_stats) > 4


def test_decode_end_and_cached_results(client: Client, beckett: np.ndarray) -> None:
    sequence_id = new_id()
    first = client.ask(sequence_id, beckett[:5_000], start=True)
    assert (first.transcript, first.decoded_samples, first.compute_ms) == ("", 0, 0)
    asked = client.ask(sequence_id, beckett[5_000:32_000], decode=True)
    assert asked.decoded_samples == 32_000
    assert words(asked.transcript).startswith("ever tried")
    again = client.ask(sequence_id, NOTHING, decode=True)
    assert (again.transcript, again.compute_ms, again.is_final) == (asked.transcript, 0, False)
    final = client.ask(sequence_id, NOTHING, end=True)
    assert (final.transcript, final.compute_ms, final.is_final) == (asked.transcript, 0, True)


def test_one_request_may_be_a_whole_utterance(client: Client, beckett: np.ndarray) -> None:
    answer = client.ask(new_id(), beckett, start=True, end=True, hints=["try again", "fail better"])
    assert answer.is_final
    assert answer.compute_ms > 0
    assert words(answer.transcript).endswith("fail better")


def test_an_utterance_may_be_empty(client: Client) -> None:
    assert client.ask(new_id(), NOTHING, start=True, end=True) == Answer("", True, 0, 0)


def test_a_sequence_that_was_not_started_is_refused(client: Client, beckett: np.ndarray) -> None:
    with pytest.raises(InferenceServerException, match="START"):
        client.ask(new_id(), beckett[:1_600])


def test_an_ended_sequence_is_gone(client: Client, beckett: np.ndarray) -> None:
    sequence_id = new_id()
    client.ask(sequence_id, beckett[:1_600], start=True, end=True)
    with pytest.raises(InferenceServerException, match="START"):
        client.ask(sequence_id, beckett[:1_600])


def test_start_begins_anew(client: Client, beckett: np.ndarray) -> None:
    sequence_id = new_id()
    client.ask(sequence_id, beckett[:32_000], start=True)
    assert client.ask(sequence_id, beckett[:1_600], start=True, decode=True).decoded_samples == 1_600
    client.ask(sequence_id, NOTHING, end=True)


def test_audio_that_is_not_finite_is_refused_and_the_sequence_goes_on(client: Client, beckett: np.ndarray) -> None:
    sequence_id = new_id()
    client.ask(sequence_id, beckett[:16_000], start=True)
    broken = beckett[16_000:17_600].copy()
    broken[7] = np.nan
    with pytest.raises(InferenceServerException, match="NaN or infinite"):
        client.ask(sequence_id, broken)
    final = client.ask(sequence_id, beckett[16_000:32_000], end=True)
    assert final.decoded_samples == 32_000
    assert words(final.transcript).startswith("ever tried")


def test_an_utterance_that_is_too_long_is_refused_and_can_be_ended(client: Client, tale: np.ndarray) -> None:
    sequence_id = new_id()
    client.ask(sequence_id, tale[:1_600], start=True)
    with pytest.raises(InferenceServerException, match="END it and start another sequence"):
        client.ask(sequence_id, tale[: 31 * SAMPLE_RATE])
    assert client.ask(sequence_id, NOTHING, end=True).is_final
