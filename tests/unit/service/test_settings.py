"""Settings files: what they say, what is refused, and what comes of them in a model repository."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from google.protobuf import text_format
from tritonclient.grpc import model_config_pb2

from pipelines.errors import InvalidInputError
from pipelines.models.triton import ModelSettings
from service.app import run
from service.config import ServiceConfig
from service.sessions.capacity_watch import RECOGNIZER_PLACES
from service.triton.engine_store import EngineStore
from service.triton.repository import NoEngineError, composed
from service.triton.served_models import recognizer_places
from service.triton.settings import Settings, SettingsError, parse_settings, read_settings, to_toml

if TYPE_CHECKING:
    from collections.abc import Mapping

SHIPPED = Path(__file__).parents[3] / "model_repository"
EVERYTHING = """
[asr]
instances = 2
max_batch_size = 16
preferred_batch_sizes = [4, 8]
queue_delay_microseconds = 500
strategy = "oldest"
threads = 2
partial_interval_seconds = 0.8

[intent_slot_bert]
dynamic_batching = false
threads = 1
"""
UNBATCHED = {
    "asr": {"max_batch_size": 1},
    "intent_slot_bert": {"dynamic_batching": False, "max_batch_size": 1},
    "qa_bert": {"dynamic_batching": False, "max_batch_size": 4},
}


def configs() -> dict[str, str]:
    return {path.parent.name: path.read_text() for path in SHIPPED.glob("*/config.pbtxt")}


def changed(tables: Mapping[str, Mapping[str, object]]) -> dict[str, model_config_pb2.ModelConfig]:
    found = parse_settings(tables, "mine.toml").adjusted(configs())
    return {name: text_format.Parse(config, model_config_pb2.ModelConfig()) for name, config in found.items()}


def test_a_file_is_read_and_written_alike(tmp_path: Path):
    path = tmp_path / "settings.toml"
    path.write_text(EVERYTHING)
    read = read_settings(path)
    assert read.models["asr"].preferred_batch_sizes == (4, 8)
    assert read.models["intent_slot_bert"] == ModelSettings(dynamic_batching=False, threads=1)
    path.write_text(to_toml(read.models, "chosen\n\nfor this machine"))
    assert path.read_text().startswith("# chosen\n#\n# for this machine\n")
    assert read_settings(path).models == read.models


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[asr]\nthreads 2", r"no TOML: .*line 2"),
        ("threads = 2", "threads: put each setting below its model"),
        ("[asr]\nthread = 2", r"\[asr\] thread: there is no such setting: use instances, "),
        ("[asr]\nmax_queue_size = 2", r"\[asr\] max_queue_size: there is no such setting"),
        ("[asr]\nthreads = 0", r"\[asr\] threads: 0 will not do: give a number from 1"),
        ("[asr]\nthreads = true", "threads: True will not do"),
        ("[asr]\ninstances = 1.5", "instances: 1.5 will not do"),
        ("[qa_bert]\ndynamic_batching = 1", "dynamic_batching: 1 will not do: give true or false"),
        ("[qa_bert]\npreferred_batch_sizes = 4", "preferred_batch_sizes: 4 will not do: give a list"),
        ("[qa_bert]\nqueue_delay_microseconds = -1", "queue_delay_microseconds: -1 will not do"),
        ('[asr]\nstrategy = "newest"', """strategy: 'newest' will not do: give "direct" or "oldest\""""),
        ("[asr]\npartial_interval_seconds = nan", "partial_interval_seconds: nan will not do"),
    ],
)
def test_what_cannot_be_meant_is_named_with_its_file(tmp_path: Path, text: str, complaint: str):
    path = tmp_path / "settings.toml"
    path.write_text(text)
    with pytest.raises(SettingsError, match=complaint) as caught:
        read_settings(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("model", "table", "complaint"),
    [
        ("bert", {"threads": 1}, "there is no model bert: use one of asr, "),
        ("qa", {"threads": 1}, r"\[qa\] threads: an ensemble computes nothing"),
        ("qa_decode", {"threads": 1}, r"\[qa_decode\] threads: the model has no such parameter"),
        ("qa_bert", {"partial_interval_seconds": 1}, "partial_interval_seconds: the model has no such parameter"),
        ("qa_bert", {"strategy": "direct"}, "strategy: the model has no sequences"),
        ("qa_bert", {"max_batch_size": 2}, r"\[qa_bert\] max_batch_size: at least 4, for the windows"),
        ("qa_tokenize", {"max_batch_size": 2}, "max_batch_size: its requests cannot be joined"),
        (
            "asr",
            {"device": "tpu"},
            r"\[asr\] device: 'tpu' will not do: give one of auto, cpu, cuda, tensorrt, torch-cpu",
        ),
        ("qa_bert", {"max_sequences": 9}, "max_sequences: the model has no sequences"),
        ("tts", {"device": "cuda"}, "device: the model has no such parameter"),
        ("asr", {"accelerator": "abacus"}, "'abacus' will not do: give one of openvino, cuda, tensorrt"),
        ("asr", {"accelerator": ["openvino"]}, "accelerator: .* will not do: give one of openvino, cuda, tensorrt"),
        ("qa_decode", {"accelerator": "openvino"}, "accelerator: the model computes no network: leave it out"),
        ("qa", {"accelerator": "openvino"}, "accelerator: an ensemble computes nothing: set it for its steps"),
        ("asr", {"precision_mode": "bf16"}, "precision_mode: it needs an accelerator"),
        ("asr", {"precision_mode": "bf17"}, "'bf17' will not do: give one of fp32, bf16, fp16, int8"),
        ("asr", {"dynamic_batching": False}, "dynamic_batching: sequences are batched by their strategy"),
        ("asr", {"strategy": "direct"}, r"\[asr\] strategy: direct needs a place for each of 64 .* is 32"),
        ("asr", {"preferred_batch_sizes": [64]}, "preferred_batch_sizes: none may be larger than max_batch_size, 32"),
        ("qa_bert", {"dynamic_batching": False, "queue_delay_microseconds": 9}, "it needs dynamic_batching = true"),
    ],
)
def test_what_does_not_suit_a_model_is_named(model: str, table: dict[str, object], complaint: str):
    with pytest.raises(SettingsError, match=complaint) as caught:
        changed({model: table})
    assert str(caught.value).startswith("mine.toml")


def test_settings_become_what_triton_reads():
    found = changed(
        {
            "asr": {
                "threads": 2,
                "partial_interval_seconds": 0.75,
                "speculative_decoding": False,
                "queue_delay_microseconds": 300,
                "max_sequences": 128,
                "device": "cuda",
                "gpu_precision": "bfloat16",
            },
            "intent_slot_bert": {"instances": 2, "preferred_batch_sizes": [4, 8], "queue_delay_microseconds": 100},
            "qa_bert": {"accelerator": "openvino", "precision_mode": "bf16"},
            "tts": {"accelerator": "cuda"},
        }
    )
    assert set(found) == {"asr", "intent_slot_bert", "qa_bert", "tts"}
    on_the_cpu = found["qa_bert"].optimization.execution_accelerators.cpu_execution_accelerator
    on_the_gpu = found["tts"].optimization.execution_accelerators.gpu_execution_accelerator
    assert [(one.name, dict(one.parameters)) for one in on_the_cpu] == [("openvino", {"precision_mode": "bf16"})]
    assert [(one.name, dict(one.parameters)) for one in on_the_gpu] == [("cuda", {})]
    asr, bert = found["asr"], found["intent_slot_bert"]
    assert asr.parameters["threads"].string_value == "2"
    assert asr.parameters["partial_interval_seconds"].string_value == "0.75"
    assert asr.parameters["speculative_decoding"].string_value == "false"
    assert asr.sequence_batching.oldest.max_candidate_sequences == 128
    assert asr.parameters["device"].string_value == "cuda"
    assert asr.parameters["gpu_precision"].string_value == "bfloat16"
    assert asr.sequence_batching.oldest.max_queue_delay_microseconds == 300
    assert [group.count for group in bert.instance_group] == [2]
    assert list(bert.dynamic_batching.preferred_batch_size) == [4, 8]
    assert bert.dynamic_batching.max_queue_delay_microseconds == 100


def test_without_batches_ensembles_take_none_either():
    found = changed(UNBATCHED)
    assert {name: model.max_batch_size for name, model in found.items()} == {
        "asr": 1,
        "intent_slot": 1,
        "intent_slot_bert": 1,
        "qa_bert": 4,
    }
    assert not found["qa_bert"].HasField("dynamic_batching")


def test_sequences_can_have_places_of_their_own():
    batching = changed({"asr": {"strategy": "direct", "max_batch_size": 64}})["asr"].sequence_batching
    assert batching.WhichOneof("strategy_choice") == "direct"
    assert len(batching.control_input) == 4


def test_no_queue_is_bounded_whatever_is_set():
    everything = {"queue_delay_microseconds": 100, "max_batch_size": 8, "instances": 2}
    model = changed({"intent_slot_bert": everything})["intent_slot_bert"]
    assert not model.dynamic_batching.HasField("default_queue_policy")


def test_what_is_set_as_it_was_changes_nothing():
    assert changed({"asr": {"threads": 1, "strategy": "oldest"}, "qa": {}}) == {}


def test_a_changed_model_has_its_own_config_and_the_files_of_the_shipped_one():
    with composed(SHIPPED, (), parse_settings(UNBATCHED, "mine.toml")) as repository:
        assert not (repository / "qa_bert").is_symlink()
        assert "max_batch_size: 4" in (repository / "qa_bert" / "config.pbtxt").read_text()
        assert (repository / "qa_bert" / "1" / "model.py").samefile(SHIPPED / "qa_bert" / "1" / "model.py")
        assert (repository / "intent_slot" / "1").is_dir()
        assert (repository / "qa").is_symlink()
        assert EngineStore(repository).source("intent_slot") == str(SHIPPED / "intent_slot")
    assert "max_batch_size: 32" in (SHIPPED / "qa_bert" / "config.pbtxt").read_text()


def engine(folder: Path) -> Path:
    """An engine directory whose models hold nothing but their configs."""
    for name in ("intent_slot_tokenize", "intent_slot_bert", "intent_slot_decode", "intent_slot"):
        (folder / "triton" / name / "1").mkdir(parents=True)
        (folder / "triton" / name / "config.pbtxt").write_text((SHIPPED / name / "config.pbtxt").read_text())
        (folder / "triton" / name / "1" / "model.py").write_text("")
    return folder


async def test_later_versions_keep_the_settings(tmp_path: Path):
    settings = parse_settings(UNBATCHED, "mine.toml")
    with composed(SHIPPED, (), settings) as repository:
        store = EngineStore(repository, settings)
        await store.add(await store.check(engine(tmp_path)), 2)
        config = (repository / "intent_slot_bert.2" / "config.pbtxt").read_text()
    assert 'name: "intent_slot_bert.2"' in config
    assert "max_batch_size: 1\n" in config


async def test_a_version_that_the_settings_do_not_suit_is_refused(tmp_path: Path):
    config = engine(tmp_path) / "triton" / "intent_slot_bert" / "config.pbtxt"
    config.write_text(config.read_text().replace("threads", "cores"))
    settings = Settings({"intent_slot_bert": ModelSettings(threads=1)}, "mine.toml")
    complaint = r"mine.toml, \[intent_slot_bert\] threads: the model has no such parameter"
    with composed(SHIPPED, (), settings) as repository, pytest.raises(InvalidInputError, match=complaint):
        await EngineStore(repository, settings).check(tmp_path)


@pytest.mark.parametrize("broken", [b"name: [", b'name: "\xff"', b"max_batch_size: 99999999999999999999"])
def test_a_config_that_cannot_be_read_is_named(tmp_path: Path, broken: bytes):
    folder = tmp_path / "triton" / "qa"
    folder.mkdir(parents=True)
    (folder / "config.pbtxt").write_bytes(broken)
    complaint = r"triton/qa/config\.pbtxt is no model configuration.*export"
    with pytest.raises(NoEngineError, match=complaint), composed(SHIPPED, (tmp_path,), Settings()):
        pass


def test_serving_with_settings_that_are_not_in_order_fails_in_a_sentence(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
):
    path = tmp_path / "settings.toml"
    assert run(ServiceConfig(port=0, settings=path)) == 1
    assert f"there is no settings file {path}" in capfd.readouterr().err
    path.write_text("[asr]\nthreads = 0\n")
    assert run(ServiceConfig(port=0, settings=path)) == 1
    assert f"vivavoce serve: {path}, [asr] threads: 0 will not do" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("toml", "places"),
    [
        ("", RECOGNIZER_PLACES),
        ("[asr]\nmax_sequences = 256", 256),
        ("[asr]\ninstances = 4", 4 * RECOGNIZER_PLACES),
    ],
)
def test_the_recognizer_has_the_places_that_its_settings_give_it(toml, places):
    assert recognizer_places(parse_settings(tomllib.loads(toml), "settings.toml")) == places
