"""Documents of every format, made for the tests."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import docx
from fpdf import FPDF
from PIL import Image

if TYPE_CHECKING:
    from collections.abc import Sequence


def pdf(pages: Sequence[Sequence[str]], *, title: str = "", bookmarks: Sequence[str] = (), password: str = "") -> bytes:
    """A PDF file with the given lines on each page; lines in ``bookmarks`` are bookmarked."""
    made = FPDF()
    made.set_title(title)
    if password:
        made.set_encryption(owner_password=password, user_password=password)
    for lines in pages:
        made.add_page()
        made.set_font("Helvetica", size=12)
        for line in lines:
            if line in bookmarks:
                made.start_section(line)
            made.cell(text=line, new_x="LMARGIN", new_y="NEXT")
    return bytes(made.output())


def placed_pdf(*texts: tuple[float, float, str]) -> bytes:
    """A PDF file of one page with texts at places: millimeters from the left and from the top."""
    made = FPDF()
    made.add_page()
    made.set_font("Helvetica", size=11)
    for left, top, text in texts:
        made.text(left, top, text)
    return bytes(made.output())


def scan(pages: int) -> bytes:
    """A PDF file whose pages are pictures."""
    made = FPDF()
    for _ in range(pages):
        made.add_page()
        made.image(Image.new("L", (40, 40), 128), w=100)
    return bytes(made.output())


def word(parts: Sequence[str | tuple[str, str] | list[list[str]]], title: str = "") -> bytes:
    """A DOCX file of paragraphs, of paragraphs with a style (style, text), and of tables (rows of cells)."""
    made = docx.Document()
    made.core_properties.title = title
    for part in parts:
        if isinstance(part, str):
            made.add_paragraph(part)
        elif isinstance(part, tuple):
            made.add_paragraph(part[1], style=part[0])
        else:
            table = made.add_table(len(part), len(part[0]))
            for row, cells in zip(table.rows, part, strict=True):
                for cell, text in zip(row.cells, cells, strict=True):
                    cell.text = text
    made.save(packed := io.BytesIO())
    return packed.getvalue()
