"""Style and links of the documentation: ``python -m tools.docs_style`` checks the pages.

A page has at most 18 words a sentence in the mean, no sentence with more than 30, and no line with more than 120
characters outside tables. Code, tables, headings and comments hold no sentences. Pages that are not held to it yet are
named, and the laboratory's are not held to it. Relative links of all pages lead to a file, and to a heading in it where
they name one; those into the laboratory count where it is there.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).resolve().parents[1]
MAX_MEAN_WORDS = 18
MAX_WORDS = 30
MAX_LINE = 120

NOT_YET: tuple[str, ...] = ()
"""Pages that are to be rewritten; take one out when it complies."""
_LAB = "lab/docs/"
_BESIDE = ("README.md", "CONTRIBUTING.md", "SECURITY.md")

_SENTENCE_END = re.compile(r"""(?:(?<=[.!?])|(?<=[.!?]["')*_]))\s+(?=["'(*_]*[A-Z0-9`])""")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_TARGET = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]+))?\)")
_FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)
_CODE_SPAN = re.compile(r"`[^`]*`")
_ITEM = re.compile(r"\s*(?:[-*+]|\d+\.)\s+")
_WORD = re.compile(r"\w")


def pages(root: Path = ROOT) -> list[Path]:
    """List the pages of the documentation."""
    folders = (root / "docs", root / _LAB)
    return [
        *(root / name for name in _BESIDE if (root / name).exists()),
        *(page for folder in folders for page in sorted(folder.rglob("*.md"))),
    ]


def sentences(text: str) -> list[str]:
    """Split a page's prose into sentences; each list item begins a new one."""
    return [
        sentence
        for paragraph in _paragraphs(text)
        for sentence in _SENTENCE_END.split(_plain(paragraph))
        if _WORD.search(sentence)
    ]


def word_count(sentence: str) -> int:
    """Count words; a code span is one."""
    return sum(bool(_WORD.search(word)) for word in sentence.split())


def complaints(text: str) -> list[str]:
    """Tell what a page does wrong, a sentence each."""
    found = [
        f"line {number} has {len(line)} characters; {MAX_LINE} are allowed"
        for number, line in enumerate(text.splitlines(), 1)
        if len(line) > MAX_LINE and not line.lstrip().startswith("|")
    ]
    every = [(word_count(sentence), sentence) for sentence in sentences(text)]
    found += [
        f"a sentence has {words} words; {MAX_WORDS} are allowed: {sentence}"
        for words, sentence in every
        if words > MAX_WORDS
    ]
    mean = sum(words for words, _ in every) / len(every) if every else 0.0
    if mean > MAX_MEAN_WORDS:
        found.append(f"sentences have {mean:.1f} words in the mean; {MAX_MEAN_WORDS} are allowed")
    return found


def broken_links(page: Path, text: str) -> list[str]:
    """Tell which relative links of a page lead nowhere, a sentence each."""
    found = []
    for target, heading in _TARGET.findall(_CODE_SPAN.sub("", _FENCED.sub("", text))):
        if "://" in target or target.startswith("mailto:"):
            continue
        file = (page.parent / target) if target else page
        if not file.exists():
            if "lab" in Path(target).parts and not (ROOT / "lab").exists():
                continue
            found.append(f"the link to {target} leads nowhere")
        elif heading and heading not in _anchors(file.read_text(encoding="utf-8")):
            found.append(f"the link to {target}#{heading} leads to no heading")
    return found


def _anchors(text: str) -> set[str]:
    """List the anchors that GitHub gives to headings."""
    headings = _HEADING.findall(_FENCED.sub("", text))
    return {re.sub(r"[^\w\- ]", "", _LINK.sub(r"\1", heading).lower()).replace(" ", "-") for heading in headings}


def _paragraphs(text: str) -> Iterator[str]:
    """Yield paragraphs and list items without what is no prose."""
    lines: list[str] = []
    in_item = in_code = False
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    for line in [*text.splitlines(), ""]:
        if line.lstrip().startswith("```"):
            in_code = not in_code
            continue
        # Four spaces are code, but continue an item where there is one.
        is_code = in_code or (line.startswith("    ") and not in_item)
        starts_item = bool(_ITEM.match(line)) and not is_code
        ends = not line.strip() or is_code or starts_item or line.lstrip().startswith(("|", "#"))
        if ends and lines:
            yield " ".join(lines)
            lines = []
        if starts_item:
            in_item = True
            lines = [_ITEM.sub("", line, count=1)]
        elif not ends:
            lines.append(line.strip())
            in_item = in_item and line.startswith(" ")


def _plain(paragraph: str) -> str:
    return _LINK.sub(r"\1", _CODE_SPAN.sub("Code", paragraph))


def main(root: Path = ROOT, not_yet: Sequence[str] = NOT_YET) -> int:
    """Check all pages; return the exit status."""
    status = 0
    for page in pages(root):
        name = page.relative_to(root).as_posix()
        text = page.read_text(encoding="utf-8")
        found = [] if name.startswith(_LAB) else complaints(text)
        if name in not_yet:
            found = [] if found else ["complies: take it out of NOT_YET in tools/docs_style.py"]
        found += broken_links(page, text)
        status |= bool(found)
        sys.stdout.write("".join(f"{name}: {complaint}\n" for complaint in found))
    sys.stdout.write(f"not held to the style of the docs yet: {', '.join(not_yet) or 'none'}\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
