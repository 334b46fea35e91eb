"""The whole service under load, beside one that is none."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("torch")

from benchmarks.gpu import chain
from benchmarks.gpu.plan import FULL
from benchmarks.gpu.report import markdown
from benchmarks.gpu.sheet import Sheet, read_rows
from modelkit.triton_models import NLU_MODELS, QA_MODELS
from service.processes.child_process import StartError


@pytest.fixture
def started(monkeypatch):
    """Settings that services were started with; none starts with recognition in PyTorch."""
    found = []

    @contextlib.contextmanager
    def listening(arguments, log, seconds):
        settings = tomllib.loads(Path(arguments[arguments.index("--settings") + 1]).read_text(encoding="utf-8"))["asr"]
        found.append(settings | {"log": log.name})
        if settings["device"] != "cpu":
            raise StartError("CUDA out of memory")
        yield None, "localhost:1"

    monkeypatch.setattr(chain, "_engine", lambda folder, *_: (folder, False))
    monkeypatch.setattr(chain, "listening", listening)
    return found


def test_where_recognition_does_not_start_on_the_device_it_is_left_to_the_cores(started, tmp_path, monkeypatch):
    def run_load(*_):
        raise RuntimeError("nobody answers")

    monkeypatch.setattr(chain, "run_load", run_load)
    with pytest.raises(RuntimeError, match="nobody answers"):
        chain.hold_conversations(FULL, Sheet(tmp_path / "chain.json", "chain"))
    assert [(one["device"], one["instances"], one["log"]) for one in started[:2]] == [
        ("cuda", 1, "chain-cuda-1.log"), ("cuda", 4, "chain-cuda-4.log"),
    ]  # fmt: skip
    assert started[2]["device"] == "cpu"
    assert "max_sequences" not in started[2]
    rows = read_rows(tmp_path / "chain.json")
    assert [row["what"] for row in rows] == ["engines", "not started", "not started", "started"]
    text = markdown(FULL, {"gpu": "a card"}, {name: [] for name in FULL.phases} | {"chain": rows}, {})
    assert "Goal at 64, 128, 256 conversations: 99 of 100 replies within 150 ms" in text
    assert "CUDA out of memory" in text


def test_the_cores_recognize_only_where_the_device_does_not(started, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(chain, "_load", lambda *given: asked.append(given[-1]["recognizer"]))
    chain.hold_conversations(FULL, Sheet(tmp_path / "chain.json", "chain"))
    assert asked == ["cuda", "cuda"]
    monkeypatch.setattr(chain, "TARGET", tmp_path)
    assert [recognizer for recognizer, _ in chain._recognizers(FULL)] == ["cuda", "cuda"]


@pytest.mark.parametrize("failure", [None, ImportError("transformers")])
def test_without_their_weights_or_what_reads_them_engines_get_random_ones_of_their_size(failure, tmp_path, monkeypatch):
    def recovered(folder, names):
        if failure:
            raise failure
        return False

    monkeypatch.setattr(chain, "_recovered", recovered)
    written = {}
    monkeypatch.setattr(chain, "write_network", lambda path, shape, state: written.update({path.parts[-3]: shape}))
    monkeypatch.setattr(chain, "random_state", lambda shape: {})
    sheet = Sheet(tmp_path / "chain.json", "chain")
    for names in (NLU_MODELS, QA_MODELS):
        folder, trained = chain._engine(tmp_path / names[0], names, "cuda:0", sheet)
        assert not trained
        config = (folder / "triton" / names[2] / "config.pbtxt").read_text(encoding="utf-8")
        assert 'key: "device", value: { string_value: "cuda" }' in config
    assert (written["intent_slot_bert"].intents, written["intent_slot_bert"].tags) == (64, 109)
    assert written["qa_bert"].reads_segments
    assert len(read_rows(tmp_path / "chain.json")) == (2 if failure else 0)


def test_shipped_weights_are_recovered_by_the_machines_own_python(tmp_path, monkeypatch):
    asked = []

    def run(command, env, **_):
        asked.append((command, env["PYTHONPATH"]))
        return SimpleNamespace(returncode=len(asked) - 1, stderr="no transformers")

    monkeypatch.setattr(chain.subprocess, "run", run)
    monkeypatch.setenv("MACHINE_PYTHON", "/there/python3")
    assert chain._recovered(tmp_path, QA_MODELS)
    ((command, path),) = asked
    assert (command[0], command[-6:]) == (
        "/there/python3", ["benchmarks.gpu.recovering", str(tmp_path), *QA_MODELS],
    )  # fmt: skip
    assert path.split(":")[1].endswith("/clients")
    with pytest.raises(RuntimeError, match="no transformers"):
        chain._recovered(tmp_path, QA_MODELS)
    monkeypatch.setattr(chain, "MODEL_REPOSITORY", tmp_path)
    assert not chain._recovered(tmp_path, QA_MODELS)


def test_our_packages_come_behind_those_of_the_machine(tmp_path):
    (tmp_path / "shown.py").write_text("import sys; print(sys.path[-1], sys.argv[1:])")
    command = [sys.executable, "-c", chain._WITH_OUR_PACKAGES, str(tmp_path), "shown", "one", "two"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert shown == f"{tmp_path} ['one', 'two']\n"
