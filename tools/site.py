"""Hooks of the documentation's site (mkdocs.yml): pages that lie elsewhere, the navigation, and links into the tree."""

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
DOCS = ROOT / "docs"
LAB = ROOT / "lab" / "docs"
"""Pages of the laboratory, which a checkout may lack; on the site they are `lab/…`."""
_HOME = "index.md"
_CONTENTS = "contents.md"
_ELSEWHERE = {_HOME: ROOT / "README.md", "contributing.md": ROOT / "CONTRIBUTING.md"}
"""Pages of the site that are no files of `docs/`."""
_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)#\s]+)(#[^)\s]+)?\)")
_SECTION = re.compile(r"^## (.+)$|^- \[(.+)\]\((.+)\)$", re.MULTILINE)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Take the navigation from the page of contents."""
    config.nav = navigation((DOCS / _CONTENTS).read_text(encoding="utf-8"), has_lab=LAB.is_dir())
    return config


def navigation(contents: str, *, has_lab: bool) -> list[dict[str, Any]]:
    """Return mkdocs' navigation.

    Args:
        contents: text of the page of contents: headings, and lists of links.
        has_lab: whether the pages of the laboratory are there.
    """
    sections: dict[str, list[dict[str, str]]] = {}
    for heading, title, target in _SECTION.findall(contents):
        if heading:
            pages = sections[heading] = []
            continue
        file = (DOCS / target).resolve()
        if has_lab or not file.is_relative_to(LAB):
            pages.append({title: _uri(file) or target})
    return [
        {"Home": _HOME},
        *({heading: pages} for heading, pages in sections.items() if pages),
        {"Contributing": "contributing.md"},
    ]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the README as the home page, and what else lies outside of `docs/`."""
    from mkdocs.structure.files import File  # noqa: PLC0415 - an extra, and the rest is tested without it

    from tools.openapi import document  # noqa: PLC0415 - needs the service

    readme = (ROOT / "README.md").read_text(encoding="utf-8").replace("](docs/images/", "](images/")
    files.append(File.generated(config, _HOME, content=readme))
    elsewhere = {uri: path for uri, path in _ELSEWHERE.items() if uri != _HOME}
    elsewhere |= {f"lab/{path.name}": path for path in sorted(LAB.glob("*.md"))}
    for uri, path in elsewhere.items():
        files.append(File.generated(config, uri, content=path.read_text(encoding="utf-8")))
    files.append(File.generated(config, "openapi.json", content=document()))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:  # noqa: ANN401 - what mkdocs passes besides
    """Rewrite the links of a page for the site."""
    return rewrite_links(markdown, page.file.src_uri)


def rewrite_links(markdown: str, uri: str) -> str:
    """Lead links to pages of the site, and turn links to other files of the project into their names.

    Args:
        markdown: text of a page.
        uri: place of the page on the site.
    """
    folder = _source(uri).parent

    def rewrite(link: re.Match[str]) -> str:
        text, target, heading = link[1], link[2], link[3] or ""
        if ":" in target:
            return link[0]
        file = (folder / target).resolve()
        place = _uri(file)
        if place is None or (file.is_relative_to(LAB) and not file.exists()):
            return f"{text} (`{file.relative_to(ROOT).as_posix()}`)"
        return f"[{text}]({Path(os.path.relpath(place, Path(uri).parent)).as_posix()}{heading})"

    return _LINK.sub(rewrite, markdown)


def _source(uri: str) -> Path:
    if uri in _ELSEWHERE:
        return _ELSEWHERE[uri]
    return LAB / uri.removeprefix("lab/") if uri.startswith("lab/") else DOCS / uri


def _uri(file: Path) -> str | None:
    """Return the place of a file on the site; None: it is not there."""
    for uri, path in _ELSEWHERE.items():
        if file == path:
            return uri
    if file.is_relative_to(LAB):
        return f"lab/{file.relative_to(LAB).as_posix()}"
    return file.relative_to(DOCS).as_posix() if file.is_relative_to(DOCS) else None
