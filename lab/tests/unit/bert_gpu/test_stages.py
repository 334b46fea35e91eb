"""Stages of a network: they hand hidden states on by DLPack, and compute what the whole does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch.utils.dlpack import from_dlpack, to_dlpack  # noqa: E402 - only where PyTorch is

from engines.bert.gpu.network import random_state, read_network, write_network  # noqa: E402
from engines.bert.gpu.session import GpuBertSession, GpuOptions  # noqa: E402
from engines.session import HIDDEN, NEXT_HIDDEN  # noqa: E402

LAYERS = 3


@pytest.fixture
def stages(shape, tmp_path):
    """The network of three layers, and its two stages from their files."""
    whole = replace(shape, layers=LAYERS)
    state = random_state(whole)
    write_network(tmp_path / "whole", whole, state)
    found = [read_network(tmp_path / "whole")]
    for number, (first, stop) in enumerate(((0, 2), (2, LAYERS))):
        path = tmp_path / f"stage_{number}"
        write_network(path, replace(whole, first=first, stop=stop), state)
        found.append(read_network(path))
    return found


# Eight bits are rounded off numbers before they are in half precision, which the next stage does not see.
@pytest.mark.parametrize(("precision", "limit"), [("float32", 0), ("float16", 0), ("bfloat16", 0), ("int8", 0.08)])
@pytest.mark.parametrize("tokens", [256, 40], ids=["one run", "several"])
def test_stages_compute_what_the_whole_does(stages, requests, precision, limit, tokens, device):
    options = GpuOptions.of({"gpu_precision": precision, "gpu_tokens": str(tokens), "gpu_rows": "16"}, str(device))
    whole = GpuBertSession(*stages[0], options)
    first, last = (GpuBertSession(*network, options, whole.method) for network in stages[1:])
    expected = whole.run(requests)
    assert last.inputs == ("attention_mask", HIDDEN)
    given = []
    for request, found in zip(requests, first.run(requests), strict=True):
        assert found.keys() == {NEXT_HIDDEN}
        handed = from_dlpack(to_dlpack(found[NEXT_HIDDEN]))
        assert (handed.device.type, handed.dtype) == (device.type, torch.float32)
        given.append({"attention_mask": request["attention_mask"], HIDDEN: handed})
        last.check(given[-1])
    for result, wanted in zip(last.run(given), expected, strict=True):
        assert result.keys() == wanted.keys()
        for name, values in wanted.items():
            assert np.abs(result[name] - values).max() <= limit * np.abs(values).max()


def test_a_stage_holds_its_own_tensors_alone_and_refuses_what_is_of_another_width(stages):
    (_, whole), (_, first), (shape, last) = stages
    assert first.keys() | last.keys() == whole.keys()
    assert not first.keys() & last.keys()
    session = GpuBertSession(shape, last, GpuOptions(device="cpu"))
    with pytest.raises(ValueError, match=r"hidden_state is \(1, 3, 8\), but attention_mask \(1, 3\): split the engine"):
        session.check({"attention_mask": np.ones((1, 3)), HIDDEN: torch.zeros(1, 3, 8)})
