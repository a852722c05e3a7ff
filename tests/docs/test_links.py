"""Links between documents of the repository lead to existing files and headings."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "schemas" / "README.md"])
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]*))?\)")


def anchors(path: Path) -> set[str]:
    """Return the anchors of the headings of a document."""
    titles = re.findall(r"^#+ (.*)$", path.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def broken_links(document: Path) -> Iterator[str]:
    for target, anchor in LINK.findall(document.read_text()):
        path = (document.parent / target).resolve() if target else document
        if not path.exists() or (anchor and anchor not in anchors(path)):
            yield f"{target}#{anchor}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_to_files_and_headings(document: Path) -> None:
    assert list(broken_links(document)) == []
