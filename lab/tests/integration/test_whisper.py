"""Whisper base, from its wheels to texts, languages and translations."""

from __future__ import annotations

import itertools
import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
import soundfile
from click.testing import CliRunner

import vivavoce
from benchmarks.recognition.material import BECKETT, cut
from benchmarks.sla.material import samples as read_samples
from engines.asr.errors import InvalidLanguageError
from engines.asr.recognizers import load_recognizer
from engines.asr.serving.engine import AsrEngine
from engines.asr.serving.requests import AsrRequest, AsrSettings
from engines.build.moonshine import find_assets
from modelkit.cli.import_ import import_
from pipelines.vad.voice_activity import SileroModel
from service.processes.child_process import SERVE, listening
from service.triton.engine_code import EngineCode

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from engines.asr.whisper.model import WhisperRecognizer

MODEL_REPOSITORY = Path(__file__).resolve().parents[3] / "model_repository"
PARAMETERS = {"workers": "2", "threads": "1"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    engine = tmp_path_factory.mktemp("whisper") / "engine"
    done = CliRunner().invoke(import_, ["whisper", "--out", str(engine)])
    assert done.exit_code == 0, done.output
    card = json.loads((engine / "card.json").read_text())
    assert (card["languages"], card["language"]) == (99, "auto")
    EngineCode(MODEL_REPOSITORY).check(engine / "triton" / "asr")
    return engine / "triton" / "asr" / "1"


@pytest.fixture(scope="module")
def recognizer(folder: Path) -> WhisperRecognizer:
    return load_recognizer(folder, {}, PARAMETERS)


@pytest.fixture
def engine(recognizer: WhisperRecognizer) -> AsrEngine:
    return AsrEngine(recognizer, AsrSettings(max_utterance_seconds=29, languages=("auto", "en", "de"), translates=True))


@pytest.fixture(scope="module")
def beckett() -> NDArray[np.float32]:
    return read_samples(find_assets().parent / "beckett.wav").astype(np.float32) / 32768


def ask(engine: AsrEngine, *utterances: tuple[int, NDArray[np.float32], dict[str, object]]) -> dict[int, object]:
    requests = [AsrRequest(number, audio, start=True, end=True, **asked) for number, audio, asked in utterances]
    return {requests[index].sequence_id: answer for index, answer in engine.process(requests)}


def letters(text: str) -> list[str]:
    return "".join(one for one in text.lower() if one.isalpha() or one == " ").split()


def test_words_times_and_language(engine: AsrEngine, beckett: NDArray[np.float32]) -> None:
    answer = ask(engine, (1, beckett, {"word_times": True}))[1]
    said, heard = letters(BECKETT), letters(answer.transcript)
    assert (len(heard), answer.language) == (len(said), "en")
    assert sum(one != other for one, other in zip(said, heard, strict=True)) <= 1
    assert [word.text for word in answer.words] == answer.transcript.split()
    spans = [(word.start, word.end) for word in answer.words]
    assert all(start < end for start, end in spans)
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(spans))
    # "Fail better" are the last two words, after a pause.
    assert spans[-2][0] > 0.75 * len(beckett)


def test_noise_and_silence_have_no_words(engine: AsrEngine) -> None:
    noise = np.random.default_rng(0).standard_normal(32_000).astype(np.float32)
    levels = (0.0, 0.001, 0.01, 0.05)
    answers = ask(engine, *[(number, level * noise, {}) for number, level in enumerate(levels, 1)])
    assert [answer.transcript for answer in answers.values()] == [""] * len(levels)


def test_rows_do_not_depend_on_their_batch_or_on_threads(
    engine: AsrEngine, recognizer: WhisperRecognizer, beckett: NDArray[np.float32]
) -> None:
    pieces = [beckett[: 16_000 * seconds] for seconds in (2, 4, 6, 8)]
    alone = [ask(engine, (1, piece, {}))[1].transcript for piece in pieces]
    together = ask(engine, *[(number, piece, {}) for number, piece in enumerate(pieces)])
    assert [together[number].transcript for number in range(4)] == alone
    engines = [AsrEngine(recognizer, AsrSettings(languages=("auto",), max_utterance_seconds=29)) for _ in pieces]
    with ThreadPoolExecutor(4) as pool:
        found = pool.map(lambda pair: ask(pair[0], (1, pair[1], {}))[1].transcript, zip(engines, pieces, strict=True))
    assert list(found) == alone


def test_a_language_is_asked_for_or_refused(engine: AsrEngine, beckett: NDArray[np.float32]) -> None:
    piece = beckett[: 16_000 * 4]
    answers = ask(engine, (1, piece, {"language": "de"}), (2, piece, {"language": "fr"}), (3, piece, {}))
    assert answers[1].language == "de"
    assert answers[1].transcript != answers[3].transcript
    assert isinstance(answers[2], InvalidLanguageError)
    assert "choose auto, en, de" in str(answers[2])


def test_alternatives_and_hints(engine: AsrEngine, recognizer: WhisperRecognizer, beckett: NDArray[np.float32]) -> None:
    answer = ask(engine, (1, beckett[: 16_000 * 4], {"alternatives": 3}))[1]
    assert answer.transcript == answer.alternatives[0].text
    confidences = [one.confidence for one in answer.alternatives]
    assert 0 < sum(confidences) <= 1.001
    assert confidences == sorted(confidences, reverse=True)


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda folder: (folder / "model.bin").write_bytes(b"\0" * 4096), "cannot be loaded"),
        (lambda folder: (folder / "config.json").write_text("{}"), "not that of a Whisper model"),
        (lambda folder: (folder / "tokenizer.json").unlink(), "ct2-transformers-converter"),
    ],
)
def test_damaged_folders_are_refused(folder: Path, tmp_path: Path, damage: object, says: str) -> None:
    source = tmp_path / "source"
    source.mkdir()
    for name in ("model.bin", "config.json", "tokenizer.json"):
        shutil.copy(folder / name, source)
    damage(source)
    done = CliRunner().invoke(import_, ["whisper", str(source), "--out", str(tmp_path / "out")])
    assert done.exit_code == 1
    assert says in done.output
    assert not (tmp_path / "out").exists()


def test_a_language_that_the_model_lacks_is_refused(folder: Path, tmp_path: Path) -> None:
    arguments = ["whisper", str(folder), "--language", "tlh", "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(import_, arguments)
    assert done.exit_code == 1
    assert "has no language 'tlh': choose auto, en, zh" in done.output


def test_speech_of_a_recording_is_kept_whole(engine: AsrEngine) -> None:
    samples, _ = soundfile.read(MODEL_REPOSITORY.parent / "demo" / "recordings" / "museum_boat.flac", dtype="float32")
    assert letters(ask(engine, (1, samples, {}))[1].transcript) == ["when", "was", "the", "cargo", "boat", "built"]


async def test_it_gives_a_second_opinion_and_tells_the_language(
    folder: Path, engine: AsrEngine, tmp_path: Path
) -> None:
    samples, _ = soundfile.read(MODEL_REPOSITORY.parent / "demo" / "recordings" / "lights.flac", dtype="float32")
    chosen = ["--variant", f"whisper={folder.parents[2]}", "--second-opinion", "whisper"]
    heard: dict[str | None, list[vivavoce.Transcript]] = {}
    with listening([*SERVE, *chosen], tmp_path / "log.txt") as (_, address):
        async with vivavoce.connect(address) as client:
            for second in (None, ""):
                said = vivavoce.pace(np.split(samples, range(1_600, len(samples), 1_600)), 16_000)
                options = {"second_opinion": second, "interim_results": True, "reply_budget_seconds": 40.0}
                events = [event async for event in client.converse(said, **options)]
                heard[second] = [event for event in events if isinstance(event, vivavoce.Transcript)]
                (reply,) = [event for event in events if isinstance(event, vivavoce.Reply)]
                assert ("asr-whisper" in reply.model_versions) == (second is None)
            with pytest.raises(vivavoce.InvalidRequest, match="no variant 'moonshine' of 'asr'"):
                _ = [event async for event in client.converse([], second_opinion="moonshine")]
    assert {transcript.language for transcripts in heard.values() for transcript in transcripts} == {"en"}
    assert [transcript.is_final for transcript in heard[None]].count(True) == 1
    # The first ones hold as much as was there when a busy machine came to them.
    partial, alone = ([it for it in heard[second] if not it.is_final][-1] for second in (None, ""))
    assert letters(partial.text)[0] == letters(alone.text)[0], "what is told while somebody speaks is Moonshine's"
    # The service sends the utterance alone, without the silence around it.
    (utterance,) = cut(samples, SileroModel())
    answer = ask(engine, (1, utterance, {"language": "en"}))[1]
    assert letters(heard[None][-1].text) == letters(answer.transcript)
