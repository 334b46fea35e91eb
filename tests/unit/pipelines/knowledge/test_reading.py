"""How documents of every format are read into blocks with headings and pages."""

from __future__ import annotations

import io
import zipfile

import pytest

from pipelines.knowledge.reading import docx as docx_reading
from pipelines.knowledge.reading import formats
from pipelines.knowledge.reading import pdf as pdf_reading
from pipelines.knowledge.reading.formats import is_readable, read
from pipelines.knowledge.reading.parsed import Block, UnreadableDocumentError
from tests.unit.pipelines.knowledge.documents import pdf, placed_pdf, scan, word


def texts(name: str, data: bytes) -> list[str]:
    return [block.text for block in read(name, data).blocks]


def refusal(name: str, data: bytes) -> str:
    with pytest.raises(UnreadableDocumentError) as caught:
        read(name, data)
    return caught.value.reason


class TestPlain:
    def test_paragraphs_stand_between_empty_lines(self):
        parsed = read("a.txt", b"The first\nline goes on.\r\n\r\n  \nThe second.\n")
        assert parsed.title == "a"
        assert parsed.blocks == (Block("The first line goes on."), Block("The second."))

    @pytest.mark.parametrize("line", ["Opening hours", "Opening hours\n============="])
    def test_a_first_line_alone_is_the_title(self, line):
        parsed = read("a.txt", f"{line}\n\nWe open at nine.".encode())
        assert (parsed.title, [block.text for block in parsed.blocks]) == ("Opening hours", ["We open at nine."])

    def test_lists_and_tables_keep_their_lines(self):
        assert texts("a.txt", b"Bring:\n- a coat\n- a hat that\n  fits.") == ["Bring:\n- a coat\n- a hat that fits."]
        assert texts("a.txt", b"Room\tPrice\nBlue\t90") == ["Room\tPrice\nBlue\t90"]

    @pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252"])
    def test_encodings(self, encoding):
        assert texts("a.txt", "Das Café öffnet.".encode(encoding)) == ["Das Café öffnet."]


class TestMarkdown:
    def test_headings_hold_what_follows(self):
        museum = b"# Museum\n\nWelcome *to* [us](http://a.b).\n\n"
        text = museum + b"## Hours\n\n### Sunday\nClosed.\n\n## Tickets\n\n- `5` euros\n"
        parsed = read("a.md", text)
        assert parsed.title == "Museum"
        assert parsed.blocks == (
            Block("Welcome to us.", ("Museum",)),
            Block("Closed.", ("Museum", "Hours", "Sunday")),
            Block("5 euros", ("Museum", "Tickets")),
        )

    def test_tables_are_written_with_bars(self):
        assert texts("a.md", b"|Room|Price|\n|---|---|\n|Blue|**90**|\n") == ["| Room | Price |\n| Blue | 90 |"]

    def test_the_front_matter_names_the_document_and_is_not_read(self):
        parsed = read("a.md", b"---\ntitle: 'The house'\ntags: x\n---\n\nText.\n")
        assert (parsed.title, parsed.blocks) == ("The house", (Block("Text."),))

    def test_code_pictures_and_html(self):
        text = b"![a plan](p.png) of it<br>all\n\n```\nx = 1\n```\n\n<p>And <b>HTML</b></p>\n"
        assert texts("a.md", text) == ["a plan of itall", "x = 1", "And HTML"]


class TestHtml:
    def test_what_a_page_says_without_menus_and_scripts(self):
        page = (
            b"<title>The\n castle</title><body><nav>Home</nav><header>Shop</header><script>x()</script>"
            b"<h1>Castle</h1><p>It was <em>built</em>\n in 1300<br>by monks.<div>More <p>text</div>"
            b"<h2>Way</h2><ul><li>Bus<li>Train</ul><p hidden>secret<footer>Imprint</footer>"
        )
        parsed = read("a.html", page)
        assert parsed.title == "The castle"
        assert parsed.blocks == (
            Block("It was built in 1300\nby monks.", ("Castle",)),
            Block("More", ("Castle",)),
            Block("text", ("Castle",)),
            Block("Bus", ("Castle", "Way")),
            Block("Train", ("Castle", "Way")),
        )

    def test_the_main_part_alone_is_read(self):
        assert texts("a.htm", b"<div>Menu</div><main><p>News</p></main><div>Ads</div>") == ["News"]

    def test_tables_are_written_with_bars_and_layouts_read_through(self):
        table = b"<table><tr><th>Room<th>Price<tr><td>Blue <td>9|0</table><table><tr><td><p>Alone</table>"
        assert texts("a.html", table) == ["| Room | Price |\n| Blue | 9/0 |", "Alone"]

    def test_the_page_names_its_encoding(self):
        page = '<meta charset="iso-8859-2"><p>Łódź'.encode("iso-8859-2")
        assert texts("a.html", page) == ["Łódź"]
        unknown = '<meta charset="klingon"><p>Café'.encode("cp1252")
        assert texts("a.html", unknown) == ["Café"]

    def test_without_a_title_the_first_heading_is_it(self):
        assert read("a.html", b"<h2>Way</h2><p>Bus").title == "Way"

    def test_deep_nesting_is_read(self):
        assert texts("a.html", b"<div>" * 3000 + b"deep") == ["deep"]


class TestPdf:
    def test_pages_and_bookmarks(self):
        pages = [["Hours", "We open at nine and close", "at five."], ["Open longer in summer."]]
        parsed = read("a.pdf", pdf(pages, title="Guide", bookmarks=["Hours"]))
        assert parsed.title == "Guide"
        assert parsed.blocks == (
            Block("We open at nine and close at five.", ("Hours",), 1),
            Block("Open longer in summer.", ("Hours",), 2),
        )

    def test_headers_and_footers_are_left_out(self):
        pages = [["The Guide", f"Text number {word}.", f"Page {number}"] for number, word in enumerate("abcd", 1)]
        assert texts("a.pdf", pdf(pages)) == [f"Text number {word}." for word in "abcd"]

    def test_rows_of_a_table_keep_their_cells(self) -> None:
        rows = [("Boat", "Hour", "Day"), ("Canoe", "9 EUR", "30 EUR"), ("Sailing boat", "25 EUR", "90 EUR")]
        cells = [(20 + 50 * x, 40 + 7 * y, text) for y, row in enumerate(rows) for x, text in enumerate(row)]
        heading, table, after = texts(
            "a.pdf", placed_pdf((20, 20, "Boats for hire"), *cells, (20, 80, "Ask at the pier."))
        )
        assert (heading, after) == ("Boats for hire", "Ask at the pier.")
        assert table.split("\n") == [
            "| Boat | Hour | Day |", "| Canoe | 9 EUR | 30 EUR |", "| Sailing boat | 25 EUR | 90 EUR |"
        ]  # fmt: skip

    @pytest.mark.parametrize("written", ["line by line", "column by column"])
    def test_columns_are_read_one_after_another(self, written: str) -> None:
        left = "The mill was built in the year/of the great flood, and burnt/down twice in May be-/fore it was mended."
        right = "Its wheel is as high as a house/and turned by the little river/that comes from the hills in/spring."
        columns = ((20, left.split("/")), (85, right.split("/")))
        places = [(x, 30 + 6 * y, text) for x, lines in columns for y, text in enumerate(lines)]
        if written == "line by line":
            places.sort(key=lambda place: place[1])
        (text,) = texts("a.pdf", placed_pdf(*places))
        assert text == (
            "The mill was built in the year of the great flood, and burnt down twice in May before it was mended. "
            "Its wheel is as high as a house and turned by the little river that comes from the hills in spring."
        )

    def test_scans_say_what_to_do(self):
        with pytest.raises(UnreadableDocumentError, match=r"2 of its 2 pages are pictures.*ocrmypdf") as caught:
            read("a.pdf", scan(2))
        assert caught.value.reason == "SCANNED"

    def test_encrypted_ones_say_what_to_do(self):
        with pytest.raises(UnreadableDocumentError, match="without a password") as caught:
            read("a.pdf", pdf([["secret"]], password="x"))
        assert caught.value.reason == "ENCRYPTED"

    def test_damaged_and_empty_ones(self, monkeypatch):
        whole = pdf([["Some text on a page."]])
        assert refusal("a.pdf", b"%PDF-1.7 nothing") == "DAMAGED"
        assert refusal("a.pdf", pdf([[]])) == "EMPTY"
        monkeypatch.setattr(pdf_reading, "MAX_PAGES", 0)
        assert refusal("a.pdf", whole) == "TOO_LONG"


class TestDocx:
    def test_headings_lists_and_tables(self):
        parts = [
            ("Title", "The house"),
            "Welcome.",
            ("Heading 1", "Rooms"),
            ("List Bullet", "with a view"),
            [["Room", "Price"], ["Blue", "90"]],
            ("Heading 2", "Dogs"),
            "Not allowed.",
        ]
        parsed = read("a.docx", word(parts, title="House rules"))
        assert parsed.title == "House rules"
        assert parsed.blocks == (
            Block("Welcome.", ("The house",)),
            Block("with a view", ("Rooms",)),
            Block("| Room | Price |\n| Blue | 90 |", ("Rooms",)),
            Block("Not allowed.", ("Rooms", "Dogs")),
        )

    def test_encrypted_damaged_and_huge_ones(self, monkeypatch):
        assert refusal("a.docx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1....") == "ENCRYPTED"
        assert refusal("a.docx", b"PK no archive") == "DAMAGED"
        whole = word(["Text."])
        assert refusal("a.docx", whole[: len(whole) // 2]) == "DAMAGED"
        with zipfile.ZipFile(packed := io.BytesIO(), "w") as archive:
            archive.writestr("a.txt", "no document")
        assert refusal("a.docx", packed.getvalue()) == "DAMAGED"
        monkeypatch.setattr(docx_reading, "MAX_UNPACKED_BYTES", 100)
        assert refusal("a.docx", whole) == "TOO_LARGE"


class TestFormats:
    def test_the_ending_tells_the_format(self):
        assert is_readable("A.PDF")
        assert not is_readable("a.png")
        assert refusal("a.png", b"x") == "UNKNOWN_FORMAT"

    @pytest.mark.parametrize("name", ["a.txt", "a.md", "a.html", "a.pdf", "a.docx"])
    def test_empty_ones(self, name):
        assert refusal(name, b" \n") == "EMPTY"

    @pytest.mark.parametrize("data", [b"<script>x</script>", b"<body></body>", b"<!-- -->"])
    def test_pages_that_say_nothing(self, data):
        assert refusal("a.html", data) == "EMPTY"

    def test_what_is_no_text(self):
        assert refusal("a.txt", bytes(range(256))) == "NOT_TEXT"

    def test_bounds(self, monkeypatch):
        monkeypatch.setattr(formats, "MAX_CHARACTERS", 5)
        assert refusal("a.txt", b"longer than that") == "TOO_LONG"
        monkeypatch.setattr(formats, "MAX_FILE_BYTES", 5)
        assert refusal("a.txt", b"longer than that") == "TOO_LARGE"
