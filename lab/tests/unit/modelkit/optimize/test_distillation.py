"""What students learn, and from what."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lab.tests.unit.modelkit.optimize.conftest import inputs
from modelkit.export import QA_INPUTS, QA_OUTPUTS
from modelkit.optimize.distillation import Distillation, hidden_loss, imitation_loss
from modelkit.optimize.students import keep_layers
from modelkit.optimize.teacher import WATCHED, Teacher, group, run_watched


def rows(count: int = 40) -> list[dict[str, np.ndarray]]:
    rng = np.random.default_rng(0)
    made = []
    for length in rng.integers(6, 30, count):
        ids = rng.integers(5, 20, (1, length))
        made.append(dict(zip(QA_INPUTS, (ids, np.ones_like(ids), np.zeros_like(ids)), strict=True)))
    return made


@pytest.fixture
def teacher(network, tmp_path) -> Teacher:
    return Teacher(network, tuple(QA_OUTPUTS), rows(), tmp_path / "teacher")


def test_every_row_is_in_one_batch():
    batches = group(rows())
    assert sum(len(batch["input_ids"]) for batch in batches) == 40
    assert len(batches) >= 8
    lengths = sorted(int(n) for batch in batches for n in batch["attention_mask"].sum(axis=1))
    assert lengths == sorted(row["input_ids"].shape[1] for row in rows())


def test_a_lesson_is_what_the_network_says(teacher, network):
    lesson = teacher.lesson(0)
    with torch.no_grad():
        outputs, hidden = run_watched(network, lesson.inputs)
    for said, exact in zip(lesson.logits.values(), outputs, strict=True):
        torch.testing.assert_close(said, exact, atol=2e-3, rtol=2e-3)
    row, place = len(lesson.mask) - 1, int(lesson.places[-1, 2])
    assert lesson.hidden.shape == (6, len(lesson.mask), WATCHED, 32)
    torch.testing.assert_close(lesson.hidden[:, row, 2], hidden[:, row, place], atol=2e-3, rtol=2e-3)
    assert lesson.mask.gather(1, lesson.places).all()


def test_a_lesson_is_computed_once(teacher, network, tmp_path):
    before = teacher.lesson(0).logits["start_logits"]
    with torch.no_grad():
        network.span.weight.zero_()
    torch.testing.assert_close(teacher.lesson(0).logits["start_logits"], before)
    assert not list(tmp_path.glob("teacher/*.new"))


@pytest.mark.parametrize(("shape", "per_token"), [((3, 12), True), ((3, 12, 5), True), ((3, 5), False)])
def test_who_says_the_same_loses_nothing(shape, per_token):
    mask = inputs()[1].bool()
    logits = torch.randn(shape)
    assert float(imitation_loss(logits, logits, mask, per_token=per_token)) == pytest.approx(0, abs=1e-6)
    other = logits + torch.randn(shape)
    assert float(imitation_loss(other, logits, mask, per_token=per_token)) > 0.01


def test_padding_does_not_count():
    mask = inputs()[1].bool()
    logits = torch.randn(mask.shape)
    noisy = torch.where(mask, logits, torch.randn(mask.shape) * 9)
    assert float(imitation_loss(noisy, logits, mask, per_token=True)) == pytest.approx(0, abs=1e-5)


def test_hidden_states_that_are_zero_lose_all():
    hidden = torch.randn(3, 2, 8, 32)
    assert float(hidden_loss(torch.zeros_like(hidden), hidden)) == pytest.approx(1)


def test_a_student_comes_nearer(teacher, network):
    student = keep_layers(network, (1, 3, 5))
    task = Distillation(student, teacher, QA_OUTPUTS)
    with torch.no_grad():
        before = task.validate()["nearness"]
    optimizer = torch.optim.AdamW(student.parameters(), lr=3e-3)
    for epoch in range(8):
        for number in [*task.batches(epoch), 0]:
            task.loss(number).backward()
            optimizer.step()
            optimizer.zero_grad()
    with torch.no_grad():
        assert before < 0.8 * before < task.validate()["nearness"] < 0
