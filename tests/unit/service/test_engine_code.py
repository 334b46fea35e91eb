"""Engine directories as data: which code is run for their models, and what is refused."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pipelines.errors import InvalidInputError
from service.triton.engine_code import ANY_CODE, EngineCode, EngineCodeError
from service.triton.engine_store import EngineStore
from service.triton.repository import composed

if TYPE_CHECKING:
    from collections.abc import Callable

SHIPPED = Path(__file__).parents[3] / "model_repository"
NLU = ("intent_slot_tokenize", "intent_slot_bert", "intent_slot_decode", "intent_slot")
DATA_ONLY = EngineCode(SHIPPED)
BERT = Path("triton", "intent_slot_bert")


@pytest.fixture
def engine(tmp_path: Path) -> Path:
    """An engine directory with the shipped code, and small data."""
    for name in NLU:
        folder = tmp_path / "engine" / "triton" / name
        (folder / "1").mkdir(parents=True)
        shutil.copy(SHIPPED / name / "config.pbtxt", folder)
        if name != "intent_slot":
            shutil.copy(SHIPPED / name / "1" / "model.py", folder / "1")
    (tmp_path / "engine" / BERT / "1" / "model.onnx").write_text("weights")
    return tmp_path / "engine"


def change_code(engine: Path) -> None:
    (engine / BERT / "1" / "model.py").write_text("raise SystemExit('not mine')")


def set_in_config(line: str) -> Callable[[Path], None]:
    def change(engine: Path) -> None:
        config = engine / BERT / "config.pbtxt"
        config.write_text(config.read_text() + "\n" + line + "\n")

    return change


def set_backend(engine: Path) -> None:
    config = engine / BERT / "config.pbtxt"
    config.write_text(config.read_text().replace('backend: "python"', 'backend: "mine"'))


def add(place: str) -> Callable[[Path], None]:
    def change(engine: Path) -> None:
        path = engine / BERT / place
        path.parent.mkdir(exist_ok=True)
        path.write_text("")

    return change


def add_pipe(engine: Path) -> None:
    os.mkfifo(engine / BERT / "1" / "model.json")


def add_circle(engine: Path) -> None:
    (engine / BERT / "1" / "again").symlink_to(engine / BERT / "1")


def add_model(engine: Path) -> None:
    """A step that is called as no shipped model is."""
    shutil.copytree(engine / BERT, engine / "triton" / "mine")
    config = engine / "triton" / "intent_slot" / "config.pbtxt"
    config.write_text(config.read_text().replace('"intent_slot_bert"', '"mine"'))


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (add("1/helper.py"), r"helper\.py is no file of an engine"),
        (add("1/evil.so"), r"evil\.so is no file of an engine"),
        (add("triton_python_backend_stub"), "triton_python_backend_stub is no file of an engine"),
        (add("2/model.py"), r"2/model\.py is no file of an engine"),
        (add("2/model.onnx"), r"2/model\.onnx is no file of an engine"),
        (add_pipe, "neither a file nor a folder"),
        (add_circle, "leads back to a folder above"),
        (add_model, "mine is a model with code that this service does not ship"),
        (set_backend, "sets the backend 'mine'"),
        (set_in_config('runtime: "evil.so"'), "sets runtime"),
        (set_in_config('default_model_filename: "weights.json"'), "sets default_model_filename"),
        (set_in_config('cc_model_filenames { key: "7.5" value: "a" }'), "sets cc_model_filenames"),
        (set_in_config('model_repository_agents { agents { name: "a" } }'), "sets model_repository_agents"),
        (set_in_config('model_operations { op_library_filename: "a.so" }'), "sets op_library_filename"),
        (
            set_in_config('parameters { key: "EXECUTION_ENV_PATH" value: { string_value: "env.tar.gz" } }'),
            "sets EXECUTION_ENV_PATH",
        ),
    ],
)
async def test_what_chooses_code_is_refused(engine: Path, spoil: Callable[[Path], None], says: str):
    with composed(SHIPPED, ()) as repository:
        store = EngineStore(repository, code=DATA_ONLY)
        await store.check(engine)
        spoil(engine)
        with pytest.raises(InvalidInputError, match=says) as refused:
            await store.check(engine)
    assert refused.value.reason == "OWN_CODE"
    with pytest.raises(EngineCodeError, match=says), composed(SHIPPED, (engine,), code=DATA_ONLY):
        pass
    with (
        pytest.raises(EngineCodeError, match=says),
        composed(SHIPPED, (), variants={"bar": engine}, code=DATA_ONLY),
    ):
        pass


def test_the_shipped_code_is_run_in_place_of_another(engine: Path, caplog: pytest.LogCaptureFixture):
    change_code(engine)
    with composed(SHIPPED, (engine,), code=DATA_ONLY) as repository:
        model = repository / "intent_slot_bert"
        assert (model / "1" / "model.py").samefile(SHIPPED / "intent_slot_bert" / "1" / "model.py")
        assert (model / "1" / "model.onnx").samefile(engine / BERT / "1" / "model.onnx")
        assert EngineStore(repository).source("intent_slot_bert") == str(engine / BERT)
    (line,) = caplog.messages
    assert "intent_slot_bert/1/model.py is not run" in line


def as_stage(engine: Path, name: str) -> None:
    """Let a stage stand in place of the network."""
    (engine / BERT).rename(engine / "triton" / name)
    for model in ("intent_slot", name):
        config = engine / "triton" / model / "config.pbtxt"
        config.write_text(config.read_text().replace('"intent_slot_bert"', f'"{name}"'))


async def test_a_stage_runs_the_code_of_its_network_which_is_not_loaded(engine: Path):
    as_stage(engine, "intent_slot_bert_stage_1")
    with composed(SHIPPED, (engine,), code=DATA_ONLY) as repository:
        assert (repository / "intent_slot_bert_stage_1" / "1" / "model.onnx").exists()
        assert not (repository / "intent_slot_bert").exists()
        assert (repository / "qa_bert").exists()
    with composed(SHIPPED, (), code=DATA_ONLY) as repository:
        store = EngineStore(repository, code=DATA_ONLY)
        change = engine / "triton" / "intent_slot_bert_stage_1" / "1" / "model.py"
        change.write_text("raise SystemExit('not mine')")
        await store.add(await store.check(engine), 2)
        code = repository / "intent_slot_bert_stage_1.2" / "1" / "model.py"
        assert code.read_text() == (SHIPPED / "intent_slot_bert" / "1" / "model.py").read_text()


async def test_a_stage_of_a_network_that_is_not_shipped_is_refused(engine: Path):
    as_stage(engine, "mine_stage_1")
    with pytest.raises(EngineCodeError, match="mine_stage_1 is a model with code that this service does not ship"):
        DATA_ONLY.check(engine / "triton" / "mine_stage_1")


def test_what_is_compiled_beside_the_same_code_is_not_where_it_is_run(engine: Path, caplog: pytest.LogCaptureFixture):
    # Python runs a compiled file whose header says that it need not be compared (PEP 552).
    add("1/__pycache__/model.cpython-311.pyc")(engine)
    with composed(SHIPPED, (engine,), code=DATA_ONLY) as repository:
        version = repository / "intent_slot_bert" / "1"
        assert {path.name for path in version.iterdir()} == {"model.py", "model.onnx"}
        assert not version.is_symlink()
        assert not version.parent.is_symlink()
    assert not caplog.messages


def test_so_it_is_for_variants(engine: Path):
    change_code(engine)
    with composed(SHIPPED, (), variants={"bar": engine}, code=DATA_ONLY) as repository:
        (model,) = (path for path in repository.glob("intent_slot_bert*") if path.name != "intent_slot_bert")
        assert (model / "1" / "model.py").samefile(SHIPPED / "intent_slot_bert" / "1" / "model.py")


async def test_and_for_later_versions(engine: Path, caplog: pytest.LogCaptureFixture):
    change_code(engine)
    with composed(SHIPPED, ()) as repository:
        store = EngineStore(repository, code=DATA_ONLY)
        await store.add(await store.check(engine), 2)
        code = repository / "intent_slot_bert.2" / "1" / "model.py"
        assert code.read_bytes() == (SHIPPED / "intent_slot_bert" / "1" / "model.py").read_bytes()
    assert len(caplog.messages) == 1


def test_the_same_code_is_linked_without_a_word(engine: Path, caplog: pytest.LogCaptureFixture):
    with composed(SHIPPED, (engine,), code=DATA_ONLY) as repository:
        assert (repository / "intent_slot_bert").is_symlink()
    assert not caplog.messages


def test_who_trusts_an_engine_has_its_code_run(engine: Path):
    change_code(engine)
    add("1/helper.py")(engine)
    with composed(SHIPPED, (engine,), code=ANY_CODE) as repository:
        assert "not mine" in (repository / "intent_slot_bert" / "1" / "model.py").read_text()


@pytest.mark.parametrize("name", sorted(path.parent.name for path in SHIPPED.glob("*/config.pbtxt")))
def test_the_shipped_models_are_engines_that_pass(name: str):
    DATA_ONLY.check(SHIPPED / name)
    assert not DATA_ONLY.replaces(SHIPPED / name)
