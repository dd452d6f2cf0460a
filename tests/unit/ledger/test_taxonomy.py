"""The page of each cause, and the documents made from them."""

from pathlib import Path

import pytest

from coldsoak.ledger.taxonomy import PAGES, document
from coldsoak.model.causes import Cause

DOCS = Path(__file__).parents[3] / "docs"


def test_every_cause_has_a_page_in_order():
    assert list(PAGES) == list(Cause)


@pytest.mark.parametrize("page", PAGES.values(), ids=str)
def test_a_page_says_all_that_it_must(page):
    assert page.title
    assert not page.title.endswith(".")
    for text in (page.what, page.scales, page.evidence):
        assert text.endswith((".", "*"))
    assert all(advice.endswith(".") for _, advice in page.remedies)
    assert len(page.markdown().splitlines()) >= 5
    assert f"`{page.cause.value}`" in page.markdown()


def test_the_document_agrees_with_the_pages():
    assert (DOCS / "causes.md").read_text(encoding="utf-8") == document()
