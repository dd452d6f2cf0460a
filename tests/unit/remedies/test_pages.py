"""What the pages of the causes name, `fix --remedy` must know."""

import pytest

from coldsoak.ledger.taxonomy import PAGES
from coldsoak.remedies.registry import ADVICE, REMEDIES

CODES = {entry.id for entry in (*REMEDIES, *ADVICE)}


@pytest.mark.parametrize("page", PAGES.values(), ids=str)
def test_a_page_names_remedies_of_the_catalogue_only(page):
    assert {code for code, _ in page.remedies if code} <= CODES


@pytest.mark.parametrize("page", PAGES.values(), ids=str)
def test_advice_without_a_code_is_a_sentence(page):
    assert all(not advice[0].islower() for code, advice in page.remedies if not code)
