"""Every way to compute a step, beside float32 computed as the formula says."""

from __future__ import annotations

import sys

import pytest

torch = pytest.importorskip("torch")

from engines.bert.gpu.linear import PlainLinear, make_linear  # noqa: E402
from engines.bert.gpu.ops import Norm, TorchOps  # noqa: E402
from engines.bert.gpu.precision import Precision, largest, round_rows  # noqa: E402
from engines.bert.gpu.selection import ROUNDING_LIMIT  # noqa: E402
from engines.gpu.attention import candidates, eager_attention, padded_attention  # noqa: E402 - as above
from engines.gpu.choice import LIMITS, choose_attention, relative_error  # noqa: E402

OPERANDS = [torch.float8_e4m3fn, torch.int8]
DTYPES = [torch.float32, torch.float16, torch.bfloat16]


def packed_rows(lengths, filler, device, dtype, heads=2, width=16):
    generator = torch.Generator().manual_seed(0)
    qkv = torch.randn(sum(lengths) + filler, 3, heads, width, generator=generator).to(device, dtype)
    offsets = torch.tensor([0, *lengths, 0, 0], dtype=torch.int32).cumsum(0, dtype=torch.int32)
    return qkv, offsets.to(device)


def assert_attends(attend, dtype, device):
    lengths = (1, 70, 64, 3, 65)
    qkv, offsets = packed_rows(lengths, 30, device, dtype)
    got = attend(qkv, offsets, max(lengths))
    assert got.shape == (len(qkv), 32)
    assert got.dtype == dtype
    expected = eager_attention(qkv.float(), offsets, max(lengths))
    assert relative_error(got[: sum(lengths)], expected[: sum(lengths)]) <= LIMITS[dtype]


def test_eager_attention_is_pytorchs_own_row_by_row(device):
    qkv, offsets = packed_rows((5, 9), 0, device, torch.float32)
    got = eager_attention(qkv, offsets, 9)
    for begin, end in ((0, 5), (5, 14)):
        rows = qkv[begin:end].permute(1, 2, 0, 3)
        expected = torch.nn.functional.scaled_dot_product_attention(*rows).transpose(0, 1).flatten(1)
        torch.testing.assert_close(got[begin:end], expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("dtype", DTYPES)
def test_padded_attention(dtype, device):
    assert_attends(padded_attention, dtype, device)


@pytest.mark.parametrize("tile", [64, 128])
def test_tiled_attention(tile, tiled, kernel_device):
    # The interpreter multiplies no bfloat16.
    assert_attends(lambda *given: tiled(*given, tile=tile), torch.float16, kernel_device)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_every_attention_of_this_machine(dtype, device):
    for name, attend in candidates(device).items():
        if not name.startswith("flash"):
            assert_attends(attend, dtype, device)


def test_a_package_that_cannot_be_imported_leaves_the_other_ways(tmp_path, monkeypatch):
    (tmp_path / "flash_attn.py").write_text("raise ImportError('undefined symbol')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "flash_attn", raising=False)
    ways = candidates(torch.device("cuda"))
    assert "padded" in ways
    with pytest.raises(ImportError, match="undefined symbol"):
        ways["flash-attention-2"](*packed_rows((2,), 0, "cpu", torch.float16), 2)


def test_the_chosen_attention_is_one_of_this_machine(device):
    name, attend = choose_attention(2, 16, torch.float16, 256, 32, device)
    assert name in candidates(device)
    assert_attends(attend, torch.float16, device)


@pytest.mark.parametrize("operand", OPERANDS)
def test_rounding_keeps_each_row_by_itself(operand, device):
    values = torch.randn(6, 48, device=device) * torch.tensor([1e-3, 1, 1e3, 1, 1, 0], device=device)[:, None]
    rounded = round_rows(values, operand)
    assert rounded.values.dtype == operand
    for row in range(5):
        assert relative_error((rounded.values.float() * rounded.scales)[row], values[row]) < ROUNDING_LIMIT
        assert float(rounded.values[row].float().abs().max()) == largest(operand)
    assert not rounded.values[5].float().any()
    alone = round_rows(values[2:3], operand)
    assert torch.equal(alone.values.float(), rounded.values[2:3].float())


@pytest.mark.parametrize("precision", list(Precision))
def test_products(precision, device):
    generator = torch.Generator().manual_seed(0)
    values, weight = (torch.randn(n, 64, generator=generator).to(device) for n in (32, 48))
    bias = torch.randn(48, generator=generator).to(device)
    product = make_linear(weight, bias, precision, TorchOps())
    given = values.to(precision.dtype)
    rounded = None if precision.operand is None else round_rows(given, precision.operand)
    got = product(given, rounded)
    assert got.dtype == precision.dtype
    limit = ROUNDING_LIMIT if precision.operand else LIMITS[precision.dtype]
    assert relative_error(got, values.double() @ weight.double().t() + bias) <= limit


def test_gelu_in_the_product_is_near_gelu_after_it(device):
    product = PlainLinear(torch.randn(48, 64, device=device) / 8, torch.randn(48, device=device))
    values = torch.randn(32, 64, device=device)
    exact = torch.nn.functional.gelu(product(values, None))
    torch.testing.assert_close(product.gelu(values), exact, atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize("width", [48, 128])
@pytest.mark.parametrize("operand", [None, *OPERANDS])
@pytest.mark.parametrize("dtype", DTYPES)
def test_fused_steps_compute_what_plain_ones_do(width, operand, dtype, fused, kernel_device):
    plain = TorchOps()
    generator = torch.Generator().manual_seed(0)
    values, residual = torch.randn(2, 5, width, generator=generator).to(kernel_device, dtype)
    weight, bias = torch.randn(2, width, generator=generator).to(kernel_device)
    norm = Norm(weight, bias, 1e-12)
    pairs = [
        (fused.add_norm(values, residual, norm, operand), plain.add_norm(values, residual, norm, operand)),
        (fused.gelu(values, operand), plain.gelu(values, operand)),
    ]
    for (got, got_rounded), (expected, expected_rounded) in pairs:
        if operand is None:
            assert got_rounded is expected_rounded is None
        else:
            numbers = [r.values.float() * r.scales for r in (got_rounded, expected_rounded)]
            assert relative_error(*numbers) <= 2 * ROUNDING_LIMIT
            torch.testing.assert_close(got_rounded.scales, expected_rounded.scales)
        if len(got):
            assert relative_error(got, expected) <= LIMITS[dtype]


@pytest.mark.parametrize("operand", OPERANDS)
def test_fused_rounding_and_rescaling(operand, fused, kernel_device):
    plain = TorchOps()
    values = torch.randn(7, 40).to(kernel_device, torch.float16)
    got, expected = fused.round(values, operand), plain.round(values, operand)
    torch.testing.assert_close(got.scales, expected.scales)
    assert relative_error(got.values.float() * got.scales, values) <= 2 * ROUNDING_LIMIT
    sums = torch.randint(-1000, 1000, (7, 40), dtype=torch.int32).to(kernel_device)
    rows, columns = (torch.rand(n).to(kernel_device) for n in (7, 40))
    bias = torch.randn(40).to(kernel_device, torch.float16)
    scaled = [ops.rescale(sums, rows[:, None], columns, bias) for ops in (fused, plain)]
    torch.testing.assert_close(*scaled, atol=1e-2, rtol=1e-3)


def test_no_number_is_infinitely_wrong():
    assert relative_error(torch.tensor([float("nan"), 1.0]), torch.ones(2)) == float("inf")
