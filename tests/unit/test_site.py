"""Navigation and links on the site of the documentation."""

from __future__ import annotations

import pytest

from tools.site import DOCS, LAB, navigation, rewrite_links


@pytest.mark.parametrize(
    ("uri", "link", "becomes"),
    [
        ("index.md", "[a](docs/python.md#install-it)", "[a](python.md#install-it)"),
        ("index.md", "[a](CONTRIBUTING.md)", "[a](contributing.md)"),
        ("index.md", "[a](CHANGELOG.md)", "a (`CHANGELOG.md`)"),
        ("index.md", "[a](https://example.com/docs/python.md)", "[a](https://example.com/docs/python.md)"),
        ("index.md", "![a](images/live-view.svg)", "![a](images/live-view.svg)"),
        ("contributing.md", "[a](docs/agents.md)", "[a](agents.md)"),
        ("python.md", "[a](../README.md#use-it)", "[a](index.md#use-it)"),
        ("python.md", "[a](../deploy/envoy)", "a (`deploy/envoy`)"),
        ("python.md", "[a](#install-it)", "[a](#install-it)"),
        pytest.param(
            "python.md",
            "[a](../lab/docs/training.md#x)",
            "[a](lab/training.md#x)" if LAB.exists() else "a (`lab/docs/training.md`)",
        ),
        ("lab/training.md", "[a](../../docs/models.md)", "[a](../models.md)"),
        (
            "lab/training.md",
            "[a](importing.md)",
            "[a](importing.md)" if LAB.exists() else "a (`lab/docs/importing.md`)",
        ),
    ],
)
def test_links(uri: str, link: str, becomes: str):
    assert rewrite_links(link, uri) == becomes


def test_the_navigation_is_that_of_the_contents():
    text = "# All\n\n## Start\n\n- [One](one.md)\n\n## Lab\n\n- [Train](../lab/docs/training.md)\n"
    start = [{"Home": "index.md"}, {"Start": [{"One": "one.md"}]}]
    end = [{"Contributing": "contributing.md"}]
    assert navigation(text, has_lab=True) == [*start, {"Lab": [{"Train": "lab/training.md"}]}, *end]
    assert navigation(text, has_lab=False) == [*start, *end], "the product's docs do without the laboratory"


def test_the_contents_list_every_page():
    listed = {page for section in navigation((DOCS / "contents.md").read_text(), has_lab=True)[1:-1]
              for pages in section.values() for entry in pages for page in entry.values()}  # fmt: skip
    assert {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")} - {"contents.md"} <= listed
    assert {f"lab/{path.name}" for path in LAB.glob("*.md")} <= listed
