"""What nvidia-riva-client 2.27 knows of the contract, ours says too: number by number, type by type."""

import json
from pathlib import Path

import pytest

from tests.riva_contract import describe

THEIRS = json.loads((Path(__file__).parent / "nvidia_riva_client.json").read_text())
OURS = describe("service.api.riva.proto")


@pytest.mark.parametrize("kind", ["enums", "messages", "services"])
def test_all_that_they_name_is_ours(kind: str):
    assert OURS[kind].keys() == THEIRS[kind].keys()


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind in THEIRS for name in THEIRS[kind]])
def test_each_is_as_they_know_it(kind: str, name: str):
    assert OURS[kind][name] == THEIRS[kind][name]
