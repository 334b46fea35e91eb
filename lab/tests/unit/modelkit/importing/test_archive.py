"""Archives that would fill the memory, or that nobody can read."""

from __future__ import annotations

import io
import tarfile
import tracemalloc
from typing import TYPE_CHECKING

import pytest

from modelkit.errors import CheckpointError
from modelkit.importing.archive import unpack

if TYPE_CHECKING:
    from pathlib import Path


class Zeros:
    """A file of zeros without end."""

    def read(self, size: int) -> bytes:
        return bytes(size)


def header(kind: bytes, size: int) -> tarfile.TarInfo:
    made = tarfile.TarInfo("header")
    made.type, made.size = kind, size
    return made


def refused(path: Path, scratch: Path, match: str) -> None:
    scratch.mkdir()
    with pytest.raises(CheckpointError, match=match):
        unpack(path, scratch)
    assert not any(scratch.iterdir())


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK])
def test_long_headers_are_refused_before_they_are_unpacked(kind: bytes, tmp_path: Path):
    path = tmp_path / "model.nemo"
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        archive.addfile(header(kind, 64 << 20), Zeros())
    assert path.stat().st_size < 1 << 20
    tracemalloc.start()
    try:
        refused(path, tmp_path / "scratch", r"model\.nemo would unpack to more than 4 MiB of headers: do not trust it")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4 << 20


def test_many_headers_are_as_long_as_one(tmp_path: Path):
    path = tmp_path / "model.nemo"
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        for _ in range(10):
            archive.addfile(header(tarfile.GNUTYPE_LONGNAME, 1 << 20), Zeros())
            archive.addfile(header(tarfile.DIRTYPE, 0))
    refused(path, tmp_path / "scratch", "more than 4 MiB of headers")


def test_headers_upon_headers_are_refused(tmp_path: Path):
    path = tmp_path / "model.nemo"
    with tarfile.open(path, "w") as archive:
        for _ in range(2000):
            archive.addfile(header(tarfile.GNUTYPE_LONGNAME, 0))
    refused(path, tmp_path / "scratch", "truncated or no tar archive")


def test_a_size_below_nothing_is_refused(tmp_path: Path):
    path = tmp_path / "model.nemo"
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as archive:
        member = tarfile.TarInfo("weights")
        member.pax_headers = {"size": "-1000000"}
        archive.addfile(member)
    refused(path, tmp_path / "scratch", "would unpack to more than 1,000 files or 4 GiB at 'weights'")


def test_other_compressions_are_no_archives(tmp_path: Path):
    path = tmp_path / "model.nemo"
    with tarfile.open(path, "w:xz") as archive:
        archive.addfile(header(tarfile.REGTYPE, 3), io.BytesIO(b"abc"))
    refused(path, tmp_path / "scratch", "no tar archive, plain or gzipped")


@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_contents_come_out_as_they_went_in(mode: str, tmp_path: Path):
    contents = {f"{'long' * 40}/{number}": bytes([number]) * 100_000 * number for number in range(4)}
    with tarfile.open(tmp_path / "model.nemo", mode) as archive:
        for name, content in contents.items():
            member = tarfile.TarInfo(name)
            member.size, member.mtime = len(content), 0.5
            archive.addfile(member, io.BytesIO(content))
    (tmp_path / "scratch").mkdir()
    files = unpack(tmp_path / "model.nemo", tmp_path / "scratch")
    assert {name: file.read_bytes() for name, file in files.items()} == contents
