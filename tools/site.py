"""Hooks of the documentation's site (mkdocs.yml): the README is its home page, and links into the tree become names."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
_HOME = "index.md"
_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)#\s]+)(#[^)\s]+)?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the README as the home page."""
    from mkdocs.structure.files import File  # noqa: PLC0415 - an extra, and the rest is tested without it

    readme = (ROOT / "README.md").read_text(encoding="utf-8").replace("](docs/images/", "](images/")
    files.append(File.generated(config, _HOME, content=readme))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:  # noqa: ANN401 - what mkdocs passes besides
    """Rewrite the links of a page for the site."""
    uri = page.file.src_uri
    folder = ROOT if uri == _HOME else (ROOT / "docs" / uri).parent
    return rewrite_links(markdown, folder, (ROOT / "docs" / uri).parent)


def rewrite_links(markdown: str, folder: Path, site_folder: Path) -> str:
    """Lead links to pages of the site, and turn links to other files of the project into their names.

    Args:
        markdown: text of a page.
        folder: what its links are relative to.
        site_folder: what they are relative to on the site.
    """
    docs = ROOT / "docs"

    def rewrite(link: re.Match[str]) -> str:
        text, target, heading = link[1], link[2], link[3] or ""
        if ":" in target:
            return link[0]
        file = (folder / target).resolve()
        if file == ROOT / "README.md":
            file = docs / _HOME
        if file.is_relative_to(docs):
            return f"[{text}]({Path(os.path.relpath(file, site_folder)).as_posix()}{heading})"
        return f"{text} (`{file.relative_to(ROOT).as_posix()}`)"

    return _LINK.sub(rewrite, markdown)
