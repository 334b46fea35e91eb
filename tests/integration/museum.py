"""Documents of a museum, and the knowledge base that is built of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.unit.pipelines.knowledge.documents import pdf
from vivavoce.cli import run

if TYPE_CHECKING:
    from pathlib import Path

BRIDGE = "# The bridge\n\n## History\n\nThe stone bridge was finished in 1902. It was paid for by the wool merchants.\n"


def write_museum(folder: Path) -> None:
    """Writes the documents into a new folder, and builds the base beside it."""
    folder.mkdir()
    (folder / "bridge.md").write_text(BRIDGE)
    (folder / "hours.txt").write_text("Opening hours\n\nThe river museum opens at nine and closes at half past five.")
    (folder / "boats.pdf").write_bytes(pdf([["Boats"], ["The cargo boat Marie was built in 1874."]], title="Boats"))
    build(folder)


def build(folder: Path) -> None:
    """Builds the base anew."""
    assert run(["knowledge", "build", str(folder), "--out", str(base_of(folder))]) == 0


def base_of(folder: Path) -> Path:
    """Returns where the base is."""
    return folder.with_suffix(".db")
