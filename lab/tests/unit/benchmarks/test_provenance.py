import json
import re
import subprocess
from pathlib import Path

import pytest

from benchmarks import provenance
from benchmarks.provenance import keep


def test_a_result_is_kept_with_where_it_comes_from(tmp_path: Path):
    path = tmp_path / "result.json"
    text = keep(path, "python -m benchmarks.something", {"p50": 3})
    kept = json.loads(path.read_text())
    assert kept == json.loads(text)
    assert kept["p50"] == 3
    assert kept["command"] == "python -m benchmarks.something"
    assert kept.keys() == {"command", "date", "commit", "machine", "p50"}
    assert [file.name for file in tmp_path.iterdir()] == ["result.json"]


def test_what_cannot_be_written_leaves_the_last_result(tmp_path: Path):
    path = tmp_path / "result.json"
    path.write_text("the last one")
    with pytest.raises(TypeError):
        keep(path, "python -m benchmarks.something", {"p50": object()})
    assert path.read_text() == "the last one"


@pytest.mark.parametrize("error", [FileNotFoundError("git"), subprocess.CalledProcessError(128, "git")])
def test_a_copy_without_its_history_has_no_commit(error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def run(*_, **__):
        raise error

    monkeypatch.setattr(provenance.subprocess, "run", run)
    keep(tmp_path / "result.json", "python -m benchmarks.something", {})
    assert json.loads((tmp_path / "result.json").read_text())["commit"] == "unknown"


def test_generations_of_one_name_are_told_apart(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(provenance.os, "cpu_count", lambda: 2)
    monkeypatch.setattr(provenance.platform, "system", lambda: "Linux")
    found = "model name\t: AMD EPYC\nflags\t\t: fpu avx2 {}\nbugs\t\t: none\nmodel name\t: AMD EPYC\n"
    for flags, named in [("", "AVX2"), ("avx512f avx512_vnni", "AVX2, AVX-512, AVX-512 VNNI")]:
        monkeypatch.setattr(provenance, "_cpu_information", lambda flags=flags: found.format(flags))
        assert provenance.machine() == f"2 x AMD EPYC ({named}), Linux"


def test_a_processor_that_tells_nothing_has_the_name_of_its_kind(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(provenance, "_cpu_information", lambda: "processor\t: 0\n")
    monkeypatch.setattr(provenance.platform, "machine", lambda: "aarch64")
    assert re.fullmatch(r"\d+ x aarch64, \w+", provenance.machine())
