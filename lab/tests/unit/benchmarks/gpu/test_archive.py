"""The archive for a machine that can fetch nothing, but for the downloads."""

from __future__ import annotations

import subprocess
import tarfile
import zipfile

import pytest

pytest.importorskip("torch")
pytest.importorskip("jiwer")

from benchmarks.gpu import archive, wheels
from benchmarks.gpu.spoken import recordings_in


def sized(folder, **sizes):
    paths = []
    for name, size in sizes.items():
        path = folder / f"{name}.tar.xz"
        path.write_bytes(b"x" * size)
        paths.append(path)
    return paths


def test_parts_hold_no_more_than_they_may_and_what_comes_first_is_in_the_first(tmp_path):
    members = sized(tmp_path, tree=400_000, triton=700_000, service=300_000, speech=200_000)
    parts = archive.split(members, 1_000_000)
    assert [[member.name.split(".")[0] for member in part] for part in parts] == [
        ["tree", "service", "speech"],
        ["triton"],
    ]
    with pytest.raises(ValueError, match=r"triton\.tar\.xz has 0\.7 MiB: give --part-mib more than that"):
        archive.split(members, 700_000)


def test_a_part_brings_the_script_that_unpacks_it(tmp_path):
    (member,) = sized(tmp_path, tree=10)
    archive.write_part(tmp_path / "part.tar", [member])
    with tarfile.open(tmp_path / "part.tar") as part:
        assert part.getnames() == ["run.sh", "packages/tree.tar.xz"]
        assert part.getmember("run.sh").mode == 0o755


def test_sources_are_those_that_a_run_imports_without_large_networks():
    packed = dict(archive.sources())
    assert {"lab/benchmarks/gpu/bare_machine.sh", "clients/vivavoce/__init__.py", "demo/manifest.json"} <= set(packed)
    assert "model_repository/asr/1/model.py" in packed
    assert not any(name.startswith(("tests/", "docs/", "lab/tests/", "lab/benchmarks/results/")) for name in packed)
    assert sum(path.stat().st_size for path in packed.values()) < 16e6


@pytest.mark.parametrize("filters", [archive._CODE, archive._WEIGHTS])
def test_tar_unpacks_what_is_packed(filters, tmp_path):
    (tmp_path / "one").write_bytes(bytes(range(256)) * 100)
    archive.pack(tmp_path / "packed.tar.xz", [("folder/one", tmp_path / "one")], filters)
    subprocess.run(["tar", "-xJf", tmp_path / "packed.tar.xz", "-C", tmp_path], check=True)
    assert (tmp_path / "folder" / "one").read_bytes() == (tmp_path / "one").read_bytes()


def test_wheels_are_unpacked_without_their_tests(tmp_path):
    with zipfile.ZipFile(tmp_path / "one.whl", "w") as wheel:
        wheel.writestr("one/__init__.py", "")
        wheel.writestr("one/tests/test_one.py", "")
    archive.unpack_wheels([tmp_path / "one.whl"], tmp_path / "site")
    assert [name for name, _ in archive.below(tmp_path / "site")] == ["one/__init__.py"]


def test_wheels_are_those_of_the_tested_versions(tmp_path, monkeypatch):
    commands = []
    monkeypatch.setattr(wheels.subprocess, "run", lambda command, check: commands.append(command))
    for names in (wheels.WITHOUT_SERVER, wheels.TRITON, wheels.SERVICE, wheels.SPEECH):
        assert wheels.download(names, tmp_path, "3.12") == []
    wanted = [part for command in commands for part in command if "==" in part]
    assert "numpy==1.26.4" in wanted
    assert "hibari-tts==0.2.1" in wanted
    assert "--abi=cp312" in commands[0]


def test_recordings_are_spread_evenly(tmp_path):
    for number in range(10):
        (tmp_path / f"{number}.flac").touch()
    (tmp_path / "labels.json").touch()
    assert [path.stem for path in recordings_in(tmp_path, 3)] == ["0", "3", "6"]
    assert len(recordings_in(tmp_path)) == 10


def test_the_compiled_decoder_of_flac_comes_from_the_environment():
    packed = [name for name, _ in archive.pyflac()]
    assert "pyflac/__init__.py" in packed
    assert any(name.endswith(".abi3.so") for name in packed)
    assert not any("win" in name or "darwin" in name for name in packed)
