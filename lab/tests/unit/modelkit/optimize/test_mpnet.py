"""Optimizing an engine on an MPNet, whose attention onnxruntime cannot fuse."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch

from lab.tests.tiny_bert import write_tiny_mpnet
from lab.tests.unit.modelkit.optimize.test_run import Listener
from modelkit.networks import SpanNetwork, load_encoder
from modelkit.optimize.options import OptimizeOptions
from modelkit.optimize.run import optimize

if TYPE_CHECKING:
    from pathlib import Path

POINTS = ("onnx", "fused", "int8-lean", "qat")


@pytest.fixture
def mpnet_engine(tmp_path: Path) -> Path:
    folder = tmp_path / "mpnet" / "training"
    folder.mkdir(parents=True)
    write_tiny_mpnet(folder)
    torch.manual_seed(0)
    torch.save(SpanNetwork(load_encoder(folder)).state_dict(), folder / "network.pt")
    return folder.parent


def test_every_form_can_be_made_of_it(mpnet_engine: Path, questions: Path, tmp_path: Path):
    outcome = optimize(
        OptimizeOptions(
            mpnet_engine, (questions,), questions, tmp_path / "out", POINTS, minutes=0.005, rows=64, limit=12,
            allowed_loss=1.0, threads=1,
        ),
        Listener(),
    )  # fmt: skip
    assert [result.point for result in outcome.results] == ["eager", *POINTS]
    eager, *exact = (result.scores for result in outcome.results if result.point in ("eager", "onnx", "fused"))
    assert exact == [eager, eager]
    assert outcome.best is not None
