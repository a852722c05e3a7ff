"""Each decision has its own number, and is in the index and in the last section of its page."""

import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1] / "docs"
FOLDER, DESIGN = DOCS / "decisions", DOCS / "design"
FILES = sorted(FOLDER.glob("[0-9]*.md"))
DATE = re.compile(r"Decided: (\d{4}-\d\d-\d\d)")
SECTION = re.compile(r"^## .*\n\nDesign page: \[.*\]\(\.\./design/(.*\.md)\)$", re.MULTILINE)


def rows(text: str) -> list[str]:
    """Return the rows of the index in *text*."""
    return [line for line in text.splitlines() if re.match(r"\| \d", line)]


def test_number_in_the_name_is_unique_and_in_the_title() -> None:
    numbers = [path.name[:4] for path in FILES]
    assert sorted(set(numbers)) == numbers
    for path in FILES:
        assert re.fullmatch(r"\d{4}(-[a-z0-9]+)+\.md", path.name)
        assert path.read_text().startswith(f"# {int(path.name[:4])}. ")


def test_index_has_each_decision_with_its_title_and_date() -> None:
    expected = []
    for path in FILES:
        number = int(path.name[:4])
        title, _, date, *_ = path.read_text().split("\n")
        found = DATE.fullmatch(date)
        assert found, f"{path.name}: {date!r}"
        name = title.removeprefix(f"# {number}. ")
        expected.append(f"| {number} | [{name}]({path.name}) | {found[1]} |")
    assert sorted(rows((FOLDER / "README.md").read_text())) == sorted(expected)


def test_design_pages_end_with_links_to_the_decisions_of_their_section() -> None:
    _, *sections = SECTION.split((FOLDER / "README.md").read_text())
    pages = dict(zip(sections[::2], sections[1::2], strict=True))
    assert sorted(pages) == sorted(path.name for path in DESIGN.glob("*.md"))
    for page, text in pages.items():
        decisions = re.findall(r"\((\d{4}-.*?\.md)\)", "\n".join(rows(text)))
        last = (DESIGN / page).read_text().rpartition("\n## ")[2]
        assert [name for name in decisions if f"(../decisions/{name})" not in last] == [], page
