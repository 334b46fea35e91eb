"""Model cards: what a model was made of, in JSON beside its weights."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

BASE = "all-MiniLM-L6-v2 (Wang et al., 2020; Reimers and Gurevych, 2019), Apache 2.0"
_SOURCES = {
    "home/": "NLU-Evaluation-Data, fold 1 (Liu et al., 2019), CC BY 4.0",
    "snips/": "Snips custom intents 2017-06 (Coucke et al., 2018), CC0",
    "squadshifts_": "SQuADShifts (Miller et al., 2020), CC BY 4.0",
}


def name_data(paths: Iterable[Path]) -> dict[str, str]:
    """Names data files by folder and file, each with its data set, authors and licence."""
    names = [f"{path.parent.name}/{path.name}" for path in paths]
    return {name: next((source for key, source in _SOURCES.items() if key in name), "own data") for name in names}


def write_card(path: Path, fields: Mapping[str, object]) -> None:
    """Writes a card with today's date (UTC)."""
    dated = {"date": datetime.now(UTC).date().isoformat(), **fields}
    path.write_text(json.dumps(dated, indent=2) + "\n", encoding="utf-8")
