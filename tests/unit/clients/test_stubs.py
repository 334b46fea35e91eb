from __future__ import annotations

import re
import tomllib

from protos.generate import CONTRACTS, ROOT


def test_every_protobuf_that_may_be_installed_takes_the_stubs():
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    [oldest] = [match[1] for each in wanted if (match := re.fullmatch(r"protobuf>=([\d.]+),<7", each))]
    stubs = [
        stub for contract in CONTRACTS for stub in (ROOT / contract.home / contract.protos).parent.glob("*_pb2.py")
    ]
    assert stubs
    for stub in stubs:
        assert f"# Protobuf Python Version: {oldest}\n" in stub.read_text()
