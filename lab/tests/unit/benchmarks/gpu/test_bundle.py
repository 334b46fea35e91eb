from __future__ import annotations

import tarfile

import pytest

from benchmarks.gpu.bundle import bundle, files
from service.triton.installation import TritonInstallation


def test_what_one_version_of_python_needs_is_packed():
    installation = TritonInstallation.find()
    stub = installation.python_stub.parents[1] / "3.12"
    packed = set(files(installation, stub))
    assert {installation.server, stub / installation.python_stub.name} <= packed
    assert set(installation.python_backend.iterdir()) - packed <= {installation.python_backend / "__pycache__"}
    assert installation.python_stub not in packed
    assert not any(path.name.startswith("libpython") for path in packed)
    assert any(path.name.startswith("libtritonserver") for path in packed)


def test_a_python_that_triton_does_not_know_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"this Triton runs no models on Python 2\.7: take one of 3\.10, "):
        bundle(tmp_path / "triton.tar.xz", "2.7")
    assert not list(tmp_path.iterdir())


def test_the_folder_of_the_archive_is_made(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "benchmarks.gpu.bundle.files", lambda installation, _: [installation.server.parents[2] / "__init__.py"]
    )
    bundle(tmp_path / "packages" / "triton.tar.xz", "3.12")
    with tarfile.open(tmp_path / "packages" / "triton.tar.xz") as archive:
        assert archive.getnames() == ["pytriton/__init__.py"]
