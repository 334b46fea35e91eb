"""Streaming recognizers of NeMo and transformers, imported: they hear what their origins hear."""

from __future__ import annotations

import json
import pickle
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest
import soundfile as sf
import torch

from engines.accelerators.choice import Accelerator
from engines.asr.fastconformer.caches import CachedLayers, OnnxStep
from engines.asr.fastconformer.encoder import Encoder
from engines.asr.fastconformer.features import FRAME_SAMPLES, LogMel, normalized
from engines.asr.fastconformer.loading import load_recognizer
from engines.asr.fastconformer.shape import Shape
from engines.asr.recognizers import load_recognizer as load_by_kind
from engines.asr.recognizers import read_card
from engines.asr.serving.engine import AsrEngine
from engines.asr.serving.requests import AsrRequest, AsrSettings
from engines.asr.serving.utterance import SAMPLE_RATE, Utterance
from engines.session import ONNX_RUNTIME, load_session
from lab.tests.unit.modelkit.importing.asr_checkpoints import NEMO, changed, hugging_face_folder
from modelkit.errors import CheckpointError
from modelkit.importing.asr.engine import AsrOptions, import_asr, read_all
from vivavoce.cli import run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from engines.asr.fastconformer.recognizer import FastConformerRecognizer
    from lab.tests.unit.modelkit.importing.asr_checkpoints import Config

RECORDINGS = NEMO.parents[3] / "demo" / "recordings"
OPENVINO = Accelerator("openvino", "fp32")
LOOK_AHEADS = {"R1": 160, "R6": 560, "R13": 1120}
GOLDEN = [("hybrid_streaming", "R1"), ("hybrid_streaming", "R6"), ("hybrid_streaming", "R13"), ("ctc_streaming", "R6")]


def recording(name: str) -> np.ndarray:
    return sf.read(RECORDINGS / f"{name}.flac", dtype="float32")[0]


def served(engine: Path) -> FastConformerRecognizer:
    folder = engine / "triton" / "asr" / "1"
    return load_recognizer(folder, read_card(folder), 1)


def said(*recordings: np.ndarray) -> list[Utterance]:
    utterances = [Utterance() for _ in recordings]
    for utterance, audio in zip(utterances, recordings, strict=True):
        utterance.append(audio)
    return utterances


@pytest.fixture(scope="module", params=GOLDEN, ids="-".join)
def golden(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str, Path]:
    name, right = request.param
    engine = tmp_path_factory.mktemp("golden") / "engine"
    card = import_asr(NEMO / f"{name}.nemo", engine, AsrOptions(LOOK_AHEADS[right], "float32"))
    assert card["parity"]["equal_tokens"]
    assert card["parity"]["rows_independent"]
    return name, right, engine


@pytest.fixture(scope="module")
def quantized(tmp_path_factory: pytest.TempPathFactory) -> Path:
    engine = tmp_path_factory.mktemp("quantized") / "engine"
    import_asr(NEMO / "hybrid_streaming.nemo", engine, AsrOptions(160))
    return engine


def test_features_are_those_of_nemo():
    wanted = np.load(NEMO / "hybrid_streaming.npz")["features"]
    audio = recording("museum_boat")
    mels = len(audio) // FRAME_SAMPLES
    assert LogMel(80).frames(audio, 0, mels) == pytest.approx(wanted[:mels], abs=1e-4)
    parts = [LogMel(80).frames(audio[: 160 * end + 200], end - 50, end) for end in range(50, mels, 50)]
    assert np.concatenate(parts) == pytest.approx(wanted[: 50 * len(parts)], abs=1e-4), "of the samples so far"
    wanted = np.load(NEMO / "per_feature.npz")["features"]
    assert normalized(LogMel(80).frames(audio, 0, mels)) == pytest.approx(wanted[:mels], abs=1e-3)


def test_features_that_need_the_whole_utterance_have_it_decoded_anew(tmp_path: Path):
    change = _set("preprocessor.normalize", "per_feature")
    source = changed(NEMO / "hybrid_streaming.nemo", tmp_path / "changed.nemo", change)
    card = import_asr(source, tmp_path / "engine", AsrOptions(160, "float32"))
    assert card["parity"]["equal_tokens"]
    assert card["parity"]["rows_independent"]
    recognizer, audio = served(tmp_path / "engine"), recording("weather")
    assert (card["texts"], recognizer.is_streaming, recognizer.max_seconds) == ("decoded anew", False, 48)
    assert "max_candidate_sequences: 64" in (tmp_path / "engine/triton/asr/config.pbtxt").read_text()
    (utterance,), found = said(audio[:0]), [[]]
    for number, begin in enumerate(range(0, len(audio), 7_000)):
        utterance.append(audio[begin : begin + 7_000])
        assert recognizer.covered_samples(len(utterance)) == len(utterance)
        found = recognizer.transcribe([utterance], thorough=number % 2 == 0)
        assert found == recognizer.transcribe(said(audio[: begin + 7_000]), thorough=True)
    short = audio[:40_000]
    beside = recognizer.transcribe(said(short, audio, audio[:90], audio[:0]), thorough=True)
    assert beside == [recognizer.transcribe(said(short), thorough=True)[0], found[0], [], []]
    assert found[0]
    (alternatives,) = recognizer.search(said(audio), thorough=False)
    assert list(alternatives[0].tokens) == found[0]


def encoder_of(engine: Path, accelerator: Accelerator = ONNX_RUNTIME) -> Encoder:
    folder = engine / "triton" / "asr" / "1"
    session = load_session(folder / "encoder.onnx", 1, accelerator=accelerator)
    shape = Shape.of(read_card(folder))
    return Encoder(shape, CachedLayers(shape, OnnxStep(session)))


def test_the_encoder_is_that_of_nemo(golden: tuple[str, str, Path]):
    name, right, engine = golden
    for accelerator in (ONNX_RUNTIME, OPENVINO):
        (found,) = read_all(encoder_of(engine, accelerator), [recording("museum_boat")])
        assert found == pytest.approx(np.load(NEMO / f"{name}.npz")[f"encoder_{right}"], abs=1e-5), accelerator


def test_an_accelerator_computes_weights_in_8_bits_alike(quantized: Path):
    (expected,) = read_all(encoder_of(quantized), [recording("museum_boat")])
    (found,) = read_all(encoder_of(quantized, OPENVINO), [recording("museum_boat")])
    # Onnxruntime rounds the activations as well.
    assert np.linalg.norm(found - expected) < 0.02 * np.linalg.norm(expected)


def test_tokens_frames_and_texts_are_those_of_nemo(golden: tuple[str, str, Path]):
    name, right, engine = golden
    recognizer = served(engine)
    wanted = json.loads((NEMO / f"{name}.json").read_text())
    utterances = said(*map(recording, wanted))
    for utterance, tokens, by_nemo in zip(
        utterances, recognizer.transcribe(utterances, thorough=True), wanted.values(), strict=True
    ):
        assert tokens == by_nemo[right]["tokens"]
        assert recognizer.text(tokens) == by_nemo[right]["text"]
        assert recognizer.token_frames(utterance) == by_nemo[right].get("frames", recognizer.token_frames(utterance))


def test_sixteen_streams_of_any_age_hear_what_each_hears_alone(quantized: Path):
    rng = np.random.default_rng(5)
    audio = np.concatenate([recording(name) for name in ("museum_boat", "alarm", "weather")])
    pieces = [audio[begin : begin + rng.integers(8_000, 60_000)] for begin in rng.integers(0, 60_000, 16)]
    recognizer = served(quantized)
    alone = recognizer.transcribe(said(*pieces), thorough=True)
    assert [recognizer.transcribe(said(piece), thorough=True)[0] for piece in pieces] == alone
    engine = AsrEngine(recognizer, AsrSettings())
    left = {row: (piece, 0) for row, piece in enumerate(pieces)}
    texts: dict[int, str] = {}
    partials: dict[int, list[str]] = {row: [] for row in left}
    while left:
        rows = [row for row in left if rng.random() < 0.7] or [next(iter(left))]
        requests = []
        for row in rows:
            piece, sent = left[row]
            more = piece[sent : sent + rng.integers(500, 6_000)]
            ends = sent + len(more) == len(piece)
            requests.append(AsrRequest(row, more, start=sent == 0, end=ends, decode=rng.random() < 0.1))
            left[row] = piece, sent + len(more)
        for index, answer in engine.process(requests):
            row, request = rows[index], requests[index]
            if request.end:
                texts[row] = answer.transcript
                del left[row]
            elif not request.decode:
                partials[row].append(answer.transcript)
    assert texts == {row: recognizer.text(tokens) for row, tokens in enumerate(alone)}
    assert any(any(texts) for texts in partials.values())


def test_a_text_of_chunks_only_grows_and_comes_with_the_chunk(quantized: Path):
    recognizer = served(quantized)
    audio = recording("weather")
    (utterance,) = said(audio[:0])
    texts = []
    for begin in range(0, len(audio), 800):
        utterance.append(audio[begin : begin + 800])
        (tokens,) = recognizer.transcribe([utterance], thorough=False)
        texts.append(tokens)
        assert len(utterance) - recognizer.covered_samples(len(utterance)) < 0.16 * SAMPLE_RATE + 200
    assert all(after[: len(before)] == before for before, after in pairwise(texts))
    assert texts[-1]


@pytest.mark.parametrize("samples", [0, 1, 399, 1_200])
def test_a_chunk_that_is_never_complete_is_heard_to_its_end(quantized: Path, samples: int):
    recognizer, audio = served(quantized), recording("weather")[4_000:][:samples]
    (utterance,) = said(audio[:0])
    for begin in range(0, samples, 160):
        utterance.append(audio[begin : begin + 160])
        assert recognizer.transcribe([utterance], thorough=False) == [[]]
        assert recognizer.covered_samples(len(utterance)) == 0
    paused, again = (recognizer.transcribe([utterance], thorough=True) for _ in range(2))
    assert paused == again == recognizer.transcribe(said(audio), thorough=True)
    # What a pause has made of it is no part of what follows.
    utterance.append(recording("weather")[4_000 + samples :])
    assert recognizer.transcribe([utterance], thorough=True) == recognizer.transcribe(
        said(recording("weather")[4_000:]), thorough=True
    )


def test_hints_and_alternatives_choose_among_what_was_heard(quantized: Path):
    recognizer = served(quantized)
    (plain,) = recognizer.transcribe(said(recording("weather")), thorough=True)
    (utterance,) = said(recording("weather"))
    utterance.wanted = 3
    (found,) = recognizer.search([utterance], thorough=True)
    texts = recognizer.rank(found, 3)
    assert list(found[0].tokens) == plain
    assert len({text.text for text in texts}) == len(texts) > 1
    assert sum(text.confidence for text in texts) <= 1.0001


def test_words_have_times_in_frames(quantized: Path):
    recognizer = served(quantized)
    (utterance,) = said(recording("weather"))
    (utterance.tokens,) = recognizer.transcribe([utterance], thorough=True)
    (words,) = recognizer.time_words([utterance])
    assert " ".join(word.text for word in words) == recognizer.text(utterance.tokens)
    assert all(word.start % 1280 == 0 and word.start <= word.end <= len(utterance) for word in words)
    assert [word.start for word in words] == sorted(word.start for word in words)


@pytest.mark.parametrize("prompted", [False, True])
def test_a_folder_of_transformers_is_imported(tmp_path: Path, *, prompted: bool):
    network = hugging_face_folder(tmp_path / "model", prompted=prompted)
    card = import_asr(tmp_path / "model", tmp_path / "engine", AsrOptions(560, "float32"))
    assert card["parity"]["greatest_difference"] < 1e-4
    audio = recording("museum_boat")
    mels = torch.from_numpy(LogMel(80).frames(audio, 0, len(audio) // FRAME_SAMPLES))[None]
    told = {"prompt_ids": torch.tensor([5])} if prompted else {}
    with torch.inference_mode():
        sequence = network.generate(
            input_features=mels, num_lookahead_tokens=6, decoder_start_token_id=network.config.blank_token_id, **told
        )
    recognizer = served(tmp_path / "engine")
    (tokens,) = recognizer.transcribe(said(audio), thorough=True)
    found = sequence if isinstance(sequence, torch.Tensor) else sequence.sequences
    blank = network.config.blank_token_id
    assert tokens == [token for token in found[0].tolist() if token != blank]
    config = (tmp_path / "engine" / "triton" / "asr" / "config.pbtxt").read_text()
    assert 'key: "punctuates", value: { string_value: "false" }' in config
    assert ('"auto,' in config) == prompted
    assert tokens


def test_a_gpu_computes_the_same_step(tmp_path: Path):
    import_asr(NEMO / "ctc_streaming.nemo", tmp_path / "engine", AsrOptions(560, "float32", gpu=True))
    folder = tmp_path / "engine" / "triton" / "asr" / "1"
    args = {"model_config": "{}", "model_instance_kind": "CPU", "model_instance_device_id": "0"}
    parameters = {"threads": "1", "device": "torch-cpu", "gpu_precision": "float32"}
    recognizer = load_by_kind(folder, args, parameters)
    wanted = json.loads((NEMO / "ctc_streaming.json").read_text())
    found = recognizer.transcribe(said(*map(recording, wanted)), thorough=True)
    # The weights are those of float16, so that a token on the edge may fall on the other side.
    equal = [tokens == one["R6"]["tokens"] for tokens, one in zip(found, wanted.values(), strict=True)]
    assert sum(equal) >= 3
    for name, message in (("tensorrt", "TensorRT computes the BERTs alone"), ("abacus", "device is 'abacus'")):
        with pytest.raises(ValueError, match=message):
            load_by_kind(folder, args, parameters | {"device": name})
    (folder / "network.safetensors").unlink()
    with pytest.raises(ValueError, match="vivavoce import asr --gpu"):
        load_by_kind(folder, args, parameters)


class _Evil:
    def __reduce__(self) -> tuple[Callable[[str], object], tuple[str]]:
        return (print, ("run",))


def _set(key: str, value: object) -> Callable[[Config], None]:
    def change(config: Config) -> None:
        *path, last = key.split(".")
        for part in path:
            config = config[part]
        config[last] = value

    return change


REFUSED = [
    (_set("preprocessor.normalize", "all_features"), "'all_features'; take a checkpoint that was trained with"),
    (_set("sample_rate", 8000), "sound is recognized at 16 kHz"),
    (_set("encoder.att_context_style", "regular"), "take a cache-aware streaming checkpoint"),
    (_set("encoder.conv_norm_type", "batch_norm"), "only layer_norm is served"),
    (_set("encoder.subsampling", "striding"), "only dw_striding is served"),
    (_set("joint.jointnet.activation", "gelu"), "only relu is served"),
    (_set("loss.loss_name", "tdt"), "token-and-duration transducer"),
    (_set("target", "nemo.EncDecMultiTaskModel"), "holds EncDecMultiTaskModel"),
    (_set("labels", [f"piece{i}" for i in range(90)]), "the configuration and labels ask for"),
    (_set("encoder.d_model", 10**9), "a whole number from 1 to"),
    (_set("encoder.n_heads", 5), "among 5 heads"),
    (_set("encoder.att_context_size", [70, "six"]), "pairs of left and right frames"),
    (_set("encoder.n_layers", 3), "weights that are not known"),
    (_set("encoder.n_layers", 5), "projections of positions"),
]


@pytest.mark.parametrize(("change", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_what_cannot_be_streamed_is_refused_by_name(tmp_path: Path, change: Callable[[Config], None], message: str):
    archive = changed(NEMO / "hybrid_streaming.nemo", tmp_path / "model.nemo", change)
    with pytest.raises(CheckpointError, match=message):
        import_asr(archive, tmp_path / "engine", AsrOptions())
    assert not (tmp_path / "engine").exists()


def test_archives_are_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    whole = (NEMO / "ctc_streaming.nemo").read_bytes()
    (tmp_path / "short.nemo").write_bytes(whole[: len(whole) // 2])
    evil = changed(NEMO / "ctc_streaming.nemo", tmp_path / "evil.nemo", lambda _: None, pickle.dumps(_Evil()))
    for source, message in (
        (tmp_path / "short.nemo", "truncated"),
        (evil, "model_weights.ckpt"),
        (tmp_path / "none.nemo", "does not exist"),
        (tmp_path, "lacks config.json"),
    ):
        with pytest.raises(CheckpointError, match=message):
            import_asr(source, tmp_path / "engine", AsrOptions())
    assert "run" not in capsys.readouterr().out
    with pytest.raises(CheckpointError, match="choose 80, 160, 560, 1120"):
        import_asr(NEMO / "ctc_streaming.nemo", tmp_path / "engine", AsrOptions(look_ahead=300))
    with pytest.raises(CheckpointError, match="has no decoder rnnt"):
        import_asr(NEMO / "ctc_streaming.nemo", tmp_path / "engine", AsrOptions(decoder="rnnt"))


def test_an_engine_is_run_without_a_service(golden: tuple[str, str, Path], capsys: pytest.CaptureFixture[str]):
    name, right, engine = golden
    wanted = json.loads((NEMO / f"{name}.json").read_text())
    files = [str(RECORDINGS / f"{recorded}.flac") for recorded in wanted]
    assert run(["eval", "asr", str(engine), *files, "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["file"] for line in lines] == files
    assert [line["tokens"] for line in lines] == [golden_one[right]["tokens"] for golden_one in wanted.values()]
    assert all(len(line["frames"]) == len(line["tokens"]) for line in lines)
    assert run(["eval", "asr", str(engine)]) == 2
    assert run(["eval", "asr", str(engine), str(NEMO / "README.md")]) == 1
