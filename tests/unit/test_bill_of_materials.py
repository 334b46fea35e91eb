"""The bill of materials: what it lists, and that it is valid CycloneDX."""

from __future__ import annotations

import hashlib
import json

import pytest
from cyclonedx.output.json import JsonV1Dot6

from tools.bill_of_materials import MODELS, bill_of_materials


@pytest.fixture(scope="module")
def written() -> str:
    return JsonV1Dot6(bill_of_materials()).output_as_string()


def test_it_is_valid(written: str):
    # Here alone: it brings parsers that take seconds to build, in every process that collects the tests.
    from cyclonedx.schema import SchemaVersion  # noqa: PLC0415
    from cyclonedx.validation.json import JsonStrictValidator  # noqa: PLC0415

    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(written) is None


def test_it_lists_packages_with_their_versions(written: str):
    found = {one["name"]: one for one in json.loads(written)["components"] if one["type"] == "library"}
    assert {"grpcio", "nvidia-pytriton", "onnxruntime", "numpy", "opentelemetry-sdk", "vivavoce"} <= found.keys()
    assert not {"pytest", "torch", "vivavoce-server"} & found.keys(), "a server does without"
    assert found["grpcio"]["purl"] == f"pkg:pypi/grpcio@{found['grpcio']['version']}"
    assert all(one["licenses"] for one in found.values())


def test_it_lists_all_weights_with_their_hashes(written: str):
    found = {one["name"]: one["hashes"] for one in json.loads(written)["components"] if one["type"] != "library"}
    weights = {str(path.relative_to(MODELS)) for path in MODELS.rglob("*.onnx")}
    assert weights <= found.keys()
    name = "qa_bert/1/model.int8.onnx"
    assert found[name] == [{"alg": "SHA-256", "content": hashlib.sha256((MODELS / name).read_bytes()).hexdigest()}]
