"""Location of Triton in the ``nvidia-pytriton`` wheel, and its environment."""

from __future__ import annotations

import importlib.util
import os
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path


class TritonNotInstalledError(RuntimeError):
    """The wheel that carries Triton is not there; the message says how to install it."""


@dataclass(frozen=True, slots=True)
class TritonInstallation:
    """Paths of Triton's parts.

    Attributes:
        server: the ``tritonserver`` executable.
        python_backend: directory with the Python backend's library and utilities.
        python_stub: the executable that runs a Python model, built for this interpreter's version.
        libraries: directories for ``LD_LIBRARY_PATH``.
        executables: directory of the interpreter in whose environment Python models run.
    """

    server: Path
    python_backend: Path
    python_stub: Path
    libraries: tuple[Path, ...]
    executables: Path

    @classmethod
    def find(cls) -> TritonInstallation:
        """Look for the wheel in this interpreter's environment.

        Raises:
            TritonNotInstalledError: it is not there, or has no stub for this version of Python.
        """
        spec = importlib.util.find_spec("pytriton")
        if spec is None or spec.origin is None:
            raise TritonNotInstalledError(
                "Triton is not installed: run `make setup`, or `pip install '.[serve]'`, in a checkout of Vivavoce, "
                "or name a running Triton with --triton"
            )
        package = Path(spec.origin).parent
        root = package / "tritonserver"
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        stub = root / "python_backend_stubs" / version / "triton_python_backend_stub"
        if not stub.exists():
            raise TritonNotInstalledError(f"this Triton cannot run models on Python {version}: use Python 3.11 or 3.12")
        return cls(
            server=root / "bin" / "tritonserver",
            python_backend=root / "backends" / "python",
            python_stub=stub,
            libraries=(package.parent / "nvidia_pytriton.libs", Path(sysconfig.get_config_var("LIBDIR"))),
            executables=Path(sys.executable).parent,
        )

    def lay_out_backends(self, directory: Path) -> None:
        """Make ``directory`` a ``--backend-directory``: the Python backend and its stub."""
        target = directory / "python"
        target.mkdir(parents=True)
        for file in (*self.python_backend.iterdir(), self.python_stub):
            if file.is_file():
                (target / file.name).symlink_to(file)

    def environment(self) -> dict[str, str]:
        """Return this process's environment with what Triton and its Python models need."""
        libraries = os.pathsep.join(map(str, self.libraries))
        return {
            **os.environ,
            "LD_LIBRARY_PATH": os.pathsep.join(filter(None, (libraries, os.environ.get("LD_LIBRARY_PATH")))),
            # The interpreter inside the stub is isolated: it ignores PYTHONPATH, and takes the packages that belong to
            # the first `python3` on the PATH. That must be ours, whether or not its environment was activated.
            "PATH": os.pathsep.join((str(self.executables), os.environ.get("PATH", os.defpath))),
            # Each model already has the threads that its config.pbtxt names.
            "OMP_NUM_THREADS": "1",
            # One arena a thread would make memory grow with the number of threads that ever served a request.
            "MALLOC_ARENA_MAX": "2",
            "TOKENIZERS_PARALLELISM": "false",
        }
