"""The kernels in the Triton language, compiled for Hopper down to machine code: that needs no GPU."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton")

COMPILE = """
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from engines.bert.gpu import kernels
from engines.gpu import tiled_attention

HALF, FLOAT, FP8, INT = "*bf16", "*fp32", "*fp8e4nv", "i32"
ROUNDING = {"LARGEST": 448.0, "TO_INTEGER": False}
PLANS = [
    (kernels._add_norm, [HALF, HALF, FLOAT, FLOAT, HALF, FP8, FLOAT, INT, "fp32"], {"BLOCK": 1024, **ROUNDING}),
    (kernels._gelu, [HALF, HALF, FP8, FLOAT, INT], {"BLOCK": 4096, **ROUNDING}),
    (tiled_attention._attend, [HALF, "*i32", HALF, "fp32", INT, INT, INT], {"WIDTH": 64, "TILE": 64}),
]
for kernel, types, constants in PLANS:
    names = kernel.arg_names
    signature = dict(zip(names, types + ["constexpr"] * len(constants), strict=True))
    values = {(names.index(name),): value for name, value in constants.items()}
    made = triton.compile(ASTSource(kernel, signature, values), target=GPUTarget("cuda", 90, 32))
    assert made.asm["cubin"], kernel
    print(kernel.fn.__name__, "wgmma" in made.asm["ptx"])
"""


def test_kernels_compile_for_hopper_and_attention_uses_its_matrix_units():
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    done = subprocess.run([sys.executable, "-c", COMPILE], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["_add_norm", "False", "_gelu", "False", "_attend", "True"]
