"""The page of remedies is what the catalogue says."""

from pathlib import Path

from coldsoak.remedies.document import document

DOCS = Path(__file__).parents[3] / "docs"


def test_the_page_is_up_to_date():
    assert (DOCS / "remedies.md").read_text(encoding="utf-8") == document(), (
        "run scripts/make_remedy_docs.py"
    )
