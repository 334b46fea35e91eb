"""Engine directories, and the versions that come out of them in a model repository."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipelines.errors import InvalidInputError, RolloutRefusedError
from pipelines.models import shipped
from pipelines.models.triton import steps
from service.triton.engine_store import EngineStore, check_engine
from service.triton.fixed_store import FixedStore
from service.triton.repository import composed

if TYPE_CHECKING:
    from collections.abc import Iterator

SHIPPED = Path(__file__).parents[3] / "model_repository"
TENSORS = {"intent_slot": frozenset({"TEXT", "INTENT"}), "qa": frozenset()}
WITH_EMBEDDING = shipped.SHIPPED.including(shipped.EMBEDDING)
NLU = ("intent_slot_tokenize", "intent_slot_bert", "intent_slot_decode", "intent_slot")


@pytest.fixture
def engine(tmp_path: Path) -> Path:
    """An engine directory whose files are small."""
    for name in NLU:
        folder = tmp_path / "engine" / "triton" / name
        (folder / "1").mkdir(parents=True)
        shutil.copy(SHIPPED / name / "config.pbtxt", folder)
        if name != "intent_slot":
            (folder / "1" / "model.py").write_text(f"# {name}")
    return tmp_path / "engine"


@pytest.fixture
def repository() -> Iterator[Path]:
    with composed(SHIPPED, ()) as folder:
        yield folder


async def add(repository: Path, engine: Path) -> EngineStore:
    store = EngineStore(repository)
    await store.add(await store.check(engine), 2)
    return store


def files(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def names(folder: Path, pattern: str) -> list[str]:
    return [path.name for path in folder.glob(pattern)]


async def test_a_version_stands_beside_the_first_one_under_names_of_its_own(engine: Path, repository: Path):
    store = await add(repository, engine)
    assert store.models("intent_slot", 2) == tuple(f"{name}.2" for name in NLU)
    assert store.models("intent_slot", 1) == NLU
    ensemble = (repository / "intent_slot.2" / "config.pbtxt").read_text()
    assert steps(ensemble) == tuple(f"{name}.2" for name in NLU[:3])
    assert 'name: "intent_slot.2"' in ensemble
    assert (repository / "intent_slot_bert.2" / "1" / "model.py").read_text() == "# intent_slot_bert"
    assert (repository / "intent_slot.2" / "1").is_dir()


async def test_the_stages_that_a_model_asks_are_those_of_its_version(tmp_path: Path, repository: Path):
    asr = (SHIPPED / "asr" / "config.pbtxt").read_text()
    asr += 'parameters { key: "stages", value: { string_value: "asr_stage_1,asr_stage_2" } }'
    stage = 'backend: "python"\nparameters { key: "threads", value: { string_value: "1" } }'
    for name, config in {"asr": asr, "asr_stage_1": stage, "asr_stage_2": stage}.items():
        folder = tmp_path / "engine" / "triton" / name
        (folder / "1").mkdir(parents=True)
        (folder / "config.pbtxt").write_text(config)
        (folder / "1" / "model.py").touch()
    store = await add(repository, tmp_path / "engine")
    assert store.models("asr", 2) == ("asr_stage_1.2", "asr_stage_2.2", "asr.2")
    assert steps((repository / "asr.2" / "config.pbtxt").read_text()) == ("asr_stage_1.2", "asr_stage_2.2")
    (tmp_path / "engine/triton/asr/1/model.py").unlink()
    with pytest.raises(InvalidInputError, match=r"asr/1/model.py is missing: export the engine again"):
        await store.check(tmp_path / "engine")


async def test_a_version_stays_what_it_was_when_the_engine_directory_changes(engine: Path, repository: Path):
    before = files(engine)
    await add(repository, engine)
    assert files(engine) == before
    shutil.rmtree(engine)
    assert (repository / "intent_slot_bert.2" / "1" / "model.py").read_text() == "# intent_slot_bert"


async def test_a_version_stays_what_it_was_when_its_files_are_written_over(engine: Path, repository: Path):
    code = engine / "triton" / "intent_slot_bert" / "1" / "model.py"
    await add(repository, engine)
    with code.open("w") as file:
        file.write("# trained anew")
    assert (repository / "intent_slot_bert.2" / "1" / "model.py").read_text() == "# intent_slot_bert"


async def test_what_links_lead_to_is_copied(engine: Path, repository: Path, tmp_path: Path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "model.onnx").write_text("weights")
    folder = engine / "triton" / "intent_slot_bert" / "1"
    (folder / "model.onnx").symlink_to(tmp_path / "elsewhere" / "model.onnx")
    (folder / "more").symlink_to(tmp_path / "elsewhere")
    (folder / "__pycache__").mkdir()
    await add(repository, engine)
    shutil.rmtree(tmp_path / "elsewhere")
    stored = repository / "intent_slot_bert.2" / "1"
    assert (stored / "model.onnx").read_text() == (stored / "more" / "model.onnx").read_text() == "weights"
    assert not (stored / "__pycache__").exists()


async def test_files_that_cannot_be_read_are_named(engine: Path, repository: Path):
    (engine / "triton" / "intent_slot_bert" / "1" / "model.onnx").symlink_to("/nowhere/model.onnx")
    store = EngineStore(repository)
    with pytest.raises(RolloutRefusedError, match=r"model\.onnx") as refused:
        await store.add(await store.check(engine), 2)
    assert refused.value.reason == "FILES_UNREADABLE"
    await store.remove("intent_slot", 2)
    assert names(repository, "*.2") == []


def make_smoke_a_folder(engine: Path) -> None:
    (engine / "smoke.jsonl").mkdir()


def let_smoke_lead_nowhere(engine: Path) -> None:
    (engine / "smoke.jsonl").symlink_to(engine / "nowhere")


@pytest.mark.parametrize("spoil", [make_smoke_a_folder, let_smoke_lead_nowhere])
async def test_a_smoke_evaluation_that_cannot_be_read_is_named(engine: Path, repository: Path, spoil):
    spoil(engine)
    with pytest.raises(
        RolloutRefusedError, match=r"^the engine's files cannot be read: .*/smoke\.jsonl: \w"
    ) as refused:
        await EngineStore(repository).check(engine)
    assert refused.value.reason == "FILES_UNREADABLE"


async def test_a_config_that_may_not_be_read_is_named(engine: Path, repository: Path, monkeypatch: pytest.MonkeyPatch):
    store = EngineStore(repository)

    def read_text(path: Path, **_: object) -> str:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(Path, "read_text", read_text)
    with pytest.raises(RolloutRefusedError, match=r"config\.pbtxt: Permission denied$") as refused:
        await store.check(engine)
    assert refused.value.reason == "FILES_UNREADABLE"


async def test_a_full_disk_is_no_fault_of_the_files(engine: Path, repository: Path, monkeypatch: pytest.MonkeyPatch):
    def copyfile(source: Path, target: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(source), None, str(target))

    monkeypatch.setattr(shutil, "copyfile", copyfile)
    store = EngineStore(repository)
    with pytest.raises(RolloutRefusedError, match=r"model\.py: No space left on device$") as refused:
        await store.add(await store.check(engine), 2)
    assert refused.value.reason == "NO_SPACE"


async def test_removing_a_version_leaves_nothing_of_it_and_the_engine_alone(engine: Path, repository: Path):
    store = await add(repository, engine)
    before = files(engine)
    await store.remove("intent_slot", 2)
    await store.remove("intent_slot", 2)
    assert names(repository, "*.2") == []
    await store.remove("intent_slot", 1)
    assert names(repository, "intent_slot*") == []
    assert files(engine) == before
    assert (SHIPPED / "intent_slot" / "config.pbtxt").is_file()


def test_models_of_no_engine_are_told_apart(tmp_path: Path, repository: Path):
    (tmp_path / "greeting").mkdir()
    (tmp_path / "greeting" / "config.pbtxt").write_text('name: "greeting"')
    (repository / "greeting").symlink_to(tmp_path / "greeting")
    assert EngineStore(repository).others() == ["greeting"]


def test_models_on_demand_are_there_where_their_engine_is_registered(repository: Path):
    assert not (repository / "embed").exists()
    with composed(SHIPPED, (), registry=WITH_EMBEDDING) as folder:
        assert EngineStore(folder, registry=WITH_EMBEDDING).others() == ["embed"]


async def test_an_optional_engine_is_held_where_the_service_begins_with_one(tmp_path: Path, repository: Path):
    folder = tmp_path / "engine" / "triton" / "punctuation"
    (folder / "1").mkdir(parents=True)
    shutil.copy(SHIPPED / "punctuation" / "config.pbtxt", folder)
    (folder / "1" / "model.py").write_text("# another one")
    assert EngineStore(repository).holds("punctuation")
    store = await add(repository, tmp_path / "engine")
    assert store.models("punctuation", 2) == ("punctuation.2",)
    (repository / "punctuation").unlink()
    without = EngineStore(repository)
    assert not without.holds("punctuation")
    with pytest.raises(InvalidInputError, match="must hold one of asr, intent_slot, qa, tts, end_of_turn, but"):
        await without.check(tmp_path / "engine")


def test_the_source_of_the_first_version_is_where_its_files_are(repository: Path):
    assert EngineStore(repository).source("qa") == str(SHIPPED / "qa")


def remove_step(engine: Path) -> None:
    shutil.rmtree(engine / "triton" / "intent_slot_bert")


def remove_code(engine: Path) -> None:
    (engine / "triton" / "intent_slot_bert" / "1" / "model.py").unlink()


def break_config(engine: Path) -> None:
    (engine / "triton" / "intent_slot" / "config.pbtxt").write_text("platform: ensemble {")


def add_engine(engine: Path) -> None:
    shutil.copytree(SHIPPED / "qa", engine / "triton" / "qa")


def break_smoke(engine: Path) -> None:
    (engine / "smoke.jsonl").write_text('{"text": "hello"}\n')


@pytest.mark.parametrize(
    ("spoil", "reason", "says"),
    [
        (remove_step, "NO_ENGINE", "intent_slot_bert/config.pbtxt"),
        (remove_code, "NO_ENGINE", "intent_slot_bert/1/model.py"),
        (break_config, "BAD_MODEL_CONFIG", "intent_slot/config.pbtxt"),
        (add_engine, "NO_ENGINE", "intent_slot and qa"),
        (break_smoke, "BAD_SMOKE_EVALUATION", "line 1"),
        (shutil.rmtree, "NO_ENGINE", "is no engine directory"),
    ],
)
def test_what_is_no_engine_is_refused_with_what_is_missing(engine: Path, spoil, reason: str, says: str):
    assert check_engine(engine, TENSORS).engine == "intent_slot"
    spoil(engine)
    with pytest.raises(InvalidInputError, match=says) as refused:
        check_engine(engine, TENSORS)
    assert refused.value.reason == reason


async def test_an_engine_that_lacks_an_output_is_refused_with_its_name(engine: Path, repository: Path):
    config = engine / "triton" / "intent_slot" / "config.pbtxt"
    config.write_text(config.read_text().replace('name: "CONFIDENCE"', 'name: "CERTAINTY"'))
    with pytest.raises(InvalidInputError, match="CONFIDENCE") as refused:
        await EngineStore(repository).check(engine)
    assert refused.value.reason == "OTHER_CONTRACT"


def test_a_relative_path_is_refused():
    with pytest.raises(InvalidInputError, match="absolute"):
        check_engine(Path("engine"), TENSORS)


async def test_a_triton_of_somebody_else_takes_no_versions(engine: Path):
    with pytest.raises(RolloutRefusedError, match=r"10\.0\.0\.5:8001"):
        await FixedStore("10.0.0.5:8001").check(engine)


def test_a_repository_without_an_engine_is_refused(tmp_path: Path):
    shutil.copytree(SHIPPED / "qa", tmp_path / "qa")
    with pytest.raises(FileNotFoundError, match="no model asr and no intent_slot"), composed(tmp_path, ()):
        pass
