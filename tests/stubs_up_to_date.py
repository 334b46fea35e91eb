"""Fails if the stubs in ``clients/vivavoce/v1`` are not what ``protos/`` generates: ``make check`` runs it."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import grpc_tools
from grpc_tools import protoc

ROOT = Path(__file__).parent.parent


def differences() -> list[str]:
    """Generates the stubs anew and returns the names of those that differ."""
    protos = [str(path.relative_to(ROOT / "protos")) for path in (ROOT / "protos").glob("vivavoce/v1/*.proto")]
    with tempfile.TemporaryDirectory() as directory:
        out = [f"--{kind}_out={directory}" for kind in ("python", "pyi", "grpc_python")]
        well_known = Path(grpc_tools.__file__).parent / "_proto"
        paths = [f"--proto_path={path}" for path in (ROOT / "protos", well_known)]
        status = protoc.main(["protoc", *paths, *out, *protos])
        if status:
            return ["protoc failed"]
        fresh = {path.relative_to(directory): path.read_text() for path in Path(directory).rglob("*.py*")}
    kept = ROOT / "clients"
    return [
        str(name) for name, text in fresh.items() if not (kept / name).exists() or (kept / name).read_text() != text
    ]


if __name__ == "__main__":
    found = differences()
    for name in found:
        sys.stderr.write(f"clients/{name} is not what protos/ generates: run make protos\n")
    sys.exit(1 if found else 0)
