"""Rights that Triton and its models' processes need."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from service.processes.confinement import Confinement
from service.processes.private_memory import SHARED_MEMORY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from service.triton.installation import TritonInstallation
    from service.triton.run_folder import RunFolder

_PACKAGES = ("engines", "pipelines")
"""Of this project, what models import."""
_PACKAGE_FOLDERS = ("site-packages", "dist-packages")
_SYSTEM = ("/usr", "/lib", "/lib64", "/bin", "/opt", "/nix", "/proc", "/sys")
_SETTINGS = (
    "/etc/alternatives",
    "/etc/group",
    "/etc/hosts",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/ld.so.preload",
    "/etc/localtime",
    "/etc/nsswitch.conf",
    "/etc/passwd",
    "/etc/ssl/openssl.cnf",
)
"""Settings that every program reads. Keys and certificates lie beside them, and are none of a model's business."""
_TEMPORARY = "/tmp"  # noqa: S108 - where the Python backend makes a folder for environments, which ours have none of
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/dri")
_CACHES = (".nv", ".triton")
"""Where compilers for GPUs keep what they made, in the user's home."""


def what_it_needs(
    installation: TritonInstallation, model_repository: Path, run: RunFolder, metrics_port: int | None
) -> Confinement | None:
    """Return what a Triton is left with; None where it is not confined.

    Args:
        installation: what it runs from.
        model_repository: what it serves, with links to files elsewhere.
        run: where its socket and backends are, and later versions of its models.
        metrics_port: TCP port on which it listens; None for none.
    """
    if not run.confined:
        return None
    root = Path(__file__).resolve().parents[2]
    readable = {
        *_SYSTEM,
        *_SETTINGS,
        *(str(root / name) for name in _PACKAGES),
        *map(str, (sys.prefix, sys.base_prefix, *installation.libraries, Path(sys.executable).resolve().parents[1])),
        *_other_packages(),
        *filter(None, os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)),
        *map(str, _real_folders(model_repository)),
    }
    gpus = sorted(Path("/dev").glob("nvidia*"))
    writable = (run.path, SHARED_MEMORY, *_DEVICES, *gpus, *(_caches() if gpus else ()))
    return Confinement(
        listed=(str(root),),
        readable=tuple(sorted(readable)),
        writable=tuple(map(str, writable)),
        scratch=(_TEMPORARY,),
        ports=() if metrics_port is None else (metrics_port,),
        memory_bytes=run.model_memory_bytes,
    )


def _other_packages() -> Iterator[str]:
    """List the folders that a ``.pth`` file adds from other environments."""
    return (path for path in sys.path if Path(path).name in _PACKAGE_FOLDERS)


def _caches() -> Iterator[Path]:
    for name in _CACHES:
        path = Path.home() / name
        with contextlib.suppress(OSError):
            path.mkdir(mode=0o700, exist_ok=True)
        yield path


def _real_folders(repository: Path) -> set[Path]:
    """List the real folders of a repository's files, behind links."""
    found = {repository.resolve()}
    waiting = [repository]
    while waiting:
        for path in waiting.pop().iterdir():
            real = path.resolve()
            if path.is_dir():
                if real not in found:
                    found.add(real)
                    waiting.append(path)
            elif path.is_symlink():
                found.add(real)
    return found
