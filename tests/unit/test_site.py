"""Links on the site of the documentation."""

from __future__ import annotations

import pytest

from tools.site import ROOT, rewrite_links

DOCS = ROOT / "docs"


@pytest.mark.parametrize(
    ("link", "becomes"),
    [
        ("[a](docs/python.md#install-it)", "[a](python.md#install-it)"),
        ("[a](docs/research/performance.md)", "[a](research/performance.md)"),
        ("[a](CHANGELOG.md)", "a (`CHANGELOG.md`)"),
        ("[a](https://example.com/docs/python.md)", "[a](https://example.com/docs/python.md)"),
        ("![a](images/live-view.svg)", "![a](images/live-view.svg)"),
    ],
)
def test_links_of_the_home_page(link: str, becomes: str):
    assert rewrite_links(link, ROOT, DOCS) == becomes


@pytest.mark.parametrize(
    ("link", "becomes"),
    [
        ("[a](../models.md#scores)", "[a](../models.md#scores)"),
        ("[a](../../README.md#use-it)", "[a](../index.md#use-it)"),
        ("[a](../../benchmarks/results)", "a (`benchmarks/results`)"),
        ("[a](#beside-the-alternatives)", "[a](#beside-the-alternatives)"),
    ],
)
def test_links_of_a_page_in_a_folder(link: str, becomes: str):
    assert rewrite_links(link, DOCS / "research", DOCS / "research") == becomes
