"""Model cards: what a model was made of, in JSON beside its weights."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from modelkit.agent_folder import agent_files, is_agent
from modelkit.domain import SENTENCES, SLOT_VALUES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

MINILM = "all-MiniLM-L6-v2 (Wang et al., 2020; Reimers and Gurevych, 2019), Apache 2.0"
_SOURCES = {
    "home/": "NLU-Evaluation-Data, fold 1 (Liu et al., 2019), CC BY 4.0",
    "snips/": "Snips custom intents 2017-06 (Coucke et al., 2018), CC0",
    "squadshifts_": "SQuADShifts (Miller et al., 2020), CC BY 4.0",
    "commands/": "Picovoice Speech-to-Intent Benchmark, Apache 2.0",
}


def name_data(paths: Iterable[Path]) -> dict[str, dict[str, str]]:
    """Names data files by folder and file, each with its data set, authors and licence, and its SHA-256 digest.

    Args:
        paths: files, or folders of domains or agents, of which nothing is named but what is read of them.
    """
    files = [file for path in paths for file in (_read_of(path) if path.is_dir() else [path])]
    return {name: {"source": _source(name), "sha256": sha256(file)} for file in files if (name := _name(file))}


def sha256(path: Path) -> str:
    """Digest of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def dated(fields: Mapping[str, object]) -> dict[str, object]:
    """Puts today's date (UTC) before the fields of a card, unless they have one."""
    return {"date": datetime.now(UTC).date().isoformat(), **fields}


def _read_of(domain: Path) -> list[Path]:
    if is_agent(domain):
        return agent_files(domain)
    return [domain / name for name in (SENTENCES, SLOT_VALUES)]


def _name(file: Path) -> str:
    return f"{file.resolve().parent.name}/{file.name}"


def _source(name: str) -> str:
    return next((source for key, source in _SOURCES.items() if key in name), "own data")
