from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from tests.unit.engines.bert.gpu.stand_in import import_beside_triton


@pytest.mark.parametrize(
    ("parameters", "overdue"),
    [
        ("", False),
        ("{}", False),
        (json.dumps({"deadline_us": 1}), True),
        (json.dumps({"deadline_us": 2**62}), False),
        (json.dumps({"deadline_us": "1"}), False),
        (json.dumps({"deadline_us": None}), False),
        (json.dumps({"deadline_us": True}), False),
    ],
)
def test_a_request_is_overdue_when_its_deadline_has_passed(parameters, overdue, monkeypatch):
    serving = import_beside_triton("engines.bert.serving", monkeypatch)
    assert serving.is_overdue(SimpleNamespace(parameters=lambda: parameters)) is overdue
