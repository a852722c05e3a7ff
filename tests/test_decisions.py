"""Decisions are numbered without gaps, and each is in the index and on its design page."""

import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1] / "docs"
FOLDER, DESIGN = DOCS / "decisions", DOCS / "design"
FILES = sorted(FOLDER.glob("[0-9]*.md"))
STATUS = re.compile(r"Status: (accepted|proposed|superseded by \d+), (\d{4}-\d\d-\d\d)")
SECTION = re.compile(r"^## .*\n\nDesign page: \[.*\]\(\.\./design/(.*\.md)\)$", re.MULTILINE)


def rows(text: str) -> list[str]:
    """Return the rows of the index in *text*."""
    return [line for line in text.splitlines() if re.match(r"\| \d", line)]


def test_numbers_are_consecutive_and_in_the_title() -> None:
    assert [int(path.name[:4]) for path in FILES] == list(range(1, len(FILES) + 1))
    for number, path in enumerate(FILES, 1):
        assert re.fullmatch(r"\d{4}(-[a-z0-9]+)+\.md", path.name)
        assert path.read_text().startswith(f"# {number}. ")


def test_index_has_each_decision_with_its_title_status_and_date() -> None:
    expected = []
    for number, path in enumerate(FILES, 1):
        title, _, status, *_ = path.read_text().split("\n")
        found = STATUS.fullmatch(status)
        assert found, f"{path.name}: {status!r}"
        name = title.removeprefix(f"# {number}. ")
        expected.append(f"| {number} | [{name}]({path.name}) | {found[1]} | {found[2]} |")
    assert sorted(rows((FOLDER / "README.md").read_text())) == sorted(expected)


def test_design_pages_link_to_the_decisions_of_their_section() -> None:
    _, *sections = SECTION.split((FOLDER / "README.md").read_text())
    pages = dict(zip(sections[::2], sections[1::2], strict=True))
    assert sorted(pages) == sorted(path.name for path in DESIGN.glob("*.md"))
    for page, text in pages.items():
        decisions = re.findall(r"\((\d{4}-.*?\.md)\)", "\n".join(rows(text)))
        linked = (DESIGN / page).read_text().partition("\n## History\n")[2]
        assert [name for name in decisions if f"(../decisions/{name})" not in linked] == []
