from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from engines.asr.gpu import linear  # noqa: E402 - only where PyTorch is


def test_the_product_of_this_machine_is_float32_and_as_exact_as_its_operands(device):
    generator = torch.Generator().manual_seed(0)
    values, weight = (torch.randn(rows, 48, generator=generator).to(device, torch.float16) for rows in (3, 64))
    expected = values.double() @ weight.double().t()
    product = linear.choose_product(torch.device(device), torch.float16)(values, weight)
    assert product.dtype == torch.float32
    torch.testing.assert_close(product.double(), expected, atol=1e-3, rtol=1e-4)
    torch.testing.assert_close(linear._rounded_product(values, weight).double(), expected, atol=0.05, rtol=1e-2)


def test_where_sums_cannot_be_kept_they_are_rounded_with_a_warning(monkeypatch, caplog):
    def fail(*_):
        raise TypeError("mm() got an unexpected keyword argument 'out_dtype'")

    monkeypatch.setattr(linear, "_summed_product", fail)
    monkeypatch.setattr(torch, "zeros", lambda *_, **__: None)
    with caplog.at_level("WARNING"):
        product = linear.choose_product(torch.device("cuda:0"), torch.float16)
    assert product is linear._rounded_product
    assert "logits are rounded to half precision here" in caplog.text
