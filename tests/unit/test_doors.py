"""The table of features over doors says what the code has, and leaves nothing of the contract out."""

from __future__ import annotations

import re
from pathlib import Path

from service.api.http import problems
from tools.features import FEATURES, Cell, Gap, names
from vivavoce.v1 import conversation_pb2 as pb

CONTRACT = (pb.ConversationConfig, pb.ConversationUpdate, pb.ConverseRequest, pb.ConverseResponse)
NAMES = names()


def claimed(cell: Cell) -> set[str]:
    return set() if isinstance(cell, Gap) else {cell} if isinstance(cell, str) else set(cell)


def test_what_the_table_claims_is_there():
    missing = {
        (feature.name, door, name)
        for feature in FEATURES
        for door, cell in feature.cells().items()
        for name in claimed(cell) - NAMES[door]
    }
    assert not missing


def test_the_table_has_everything_of_the_contract():
    known = {name for feature in FEATURES for name in claimed(feature.contract)}
    assert [
        f"{message.DESCRIPTOR.name}.{field.name}"
        for message in CONTRACT
        for field in message.DESCRIPTOR.fields
        if f"{message.DESCRIPTOR.name}.{field.name}" not in known
    ] == []


def test_every_reason_is_needed():
    used = {cell for feature in FEATURES for cell in feature.cells().values() if isinstance(cell, Gap)}
    assert used == set(Gap)


def test_the_documented_codes_of_web_sockets_are_those_that_are_sent():
    page = (Path(problems.__file__).parents[3] / "docs/http.md").read_text(encoding="utf-8")
    documented = {int(code) for code in re.findall(r"^\| (1\d{3}) \|", page, re.MULTILINE)}
    sent = {problems._NORMAL_CLOSURE, problems._POLICY_VIOLATION, *problems._CLOSE_CODES.values()}
    assert documented == sent
