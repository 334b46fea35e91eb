"""Generates the Python stubs of the contracts: ``make protos`` runs it.

Ours go into the package that clients install, Riva's into the service. The modules of the latter must not be found as
``riva.proto``, whose parent is the name of NVIDIA's own client, so their imports are made to say where they are.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import grpc_tools
from grpc_tools import protoc

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Contract:
    """Some of the files in ``protos/``, and where their stubs belong.

    Attributes:
        protos: glob below ``protos/``.
        home: folder that protoc's output, whose paths are those of the protos, is put below.
        package: what imports of the stubs' own package have to begin with; empty when protoc's are right.
    """

    protos: str
    home: str
    package: str = ""


CONTRACTS = (
    Contract("vivavoce/v1/*.proto", "clients"),
    Contract("riva/proto/*.proto", "service/api", "service.api."),
)


def generate(root: Path) -> list[Path]:
    """Write the stubs of all contracts below ``root`` and return their paths.

    Raises:
        RuntimeError: protoc refuses the files; it has said why.
    """
    return [stub for contract in CONTRACTS for stub in _generate(contract, root / contract.home)]


def _generate(contract: Contract, home: Path) -> list[Path]:
    home.mkdir(parents=True, exist_ok=True)
    protos = [path.relative_to(ROOT / "protos") for path in sorted((ROOT / "protos").glob(contract.protos))]
    paths = [f"--proto_path={path}" for path in (ROOT / "protos", Path(grpc_tools.__file__).parent / "_proto")]
    outputs = [f"--{kind}_out={home}" for kind in ("python", "pyi", "grpc_python")]
    if protoc.main(["protoc", *paths, *outputs, *map(str, protos)]):
        raise RuntimeError("protoc failed")
    stubs = [
        home / proto.parent / f"{proto.stem}{suffix}"
        for proto in protos
        for suffix in ("_pb2.py", "_pb2.pyi", "_pb2_grpc.py")
    ]
    if contract.package:
        for stub in stubs:
            _relocate(stub, ".".join(stub.parent.relative_to(home).parts), contract.package)
    return stubs


def _relocate(stub: Path, package: str, prefix: str) -> None:
    text = stub.read_text()
    stub.write_text(text.replace(f"from {package} import ", f"from {prefix}{package} import "))


if __name__ == "__main__":
    for written in generate(ROOT):
        sys.stdout.write(f"{written.relative_to(ROOT)}\n")
