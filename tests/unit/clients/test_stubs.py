from __future__ import annotations

import re

import pytest
import tomllib

from protos.generate import CONTRACTS, ROOT


@pytest.mark.parametrize(("project", "next_major"), [("clients/pyproject.toml", 8), ("pyproject.toml", 7)])
def test_every_protobuf_that_may_be_installed_takes_the_stubs(project: str, next_major: int):
    found = tomllib.loads((ROOT / project).read_text())["project"]
    wanted = [*found["dependencies"], *found["optional-dependencies"].get("serve", [])]
    [oldest] = [match[1] for each in wanted if (match := re.fullmatch(rf"protobuf>=([\d.]+),<{next_major}", each))]
    stubs = [
        stub for contract in CONTRACTS for stub in (ROOT / contract.home / contract.protos).parent.glob("*_pb2.py")
    ]
    assert stubs
    for stub in stubs:
        assert f"# Protobuf Python Version: {oldest}\n" in stub.read_text()
