"""Decisions are numbered without gaps, and the index has each of them and nothing else."""

import re
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "decisions"
FILES = sorted(FOLDER.glob("[0-9]*.md"))
STATUS = re.compile(r"Status: (accepted|proposed|superseded by \d+), (\d{4}-\d\d-\d\d)")


def test_numbers_are_consecutive_and_stand_in_the_title() -> None:
    assert [int(path.name[:4]) for path in FILES] == list(range(1, len(FILES) + 1))
    for number, path in enumerate(FILES, 1):
        assert re.fullmatch(r"\d{4}(-[a-z0-9]+)+\.md", path.name)
        assert path.read_text().startswith(f"# {number}. ")


def test_the_index_has_each_with_its_title_status_and_date() -> None:
    expected = []
    for number, path in enumerate(FILES, 1):
        title, _, status, *_ = path.read_text().split("\n")
        found = STATUS.fullmatch(status)
        assert found, f"{path.name}: {status!r}"
        name = title.removeprefix(f"# {number}. ")
        expected.append(f"| {number} | [{name}]({path.name}) | {found[1]} | {found[2]} |")
    index = (FOLDER / "README.md").read_text().splitlines()
    assert [line for line in index if re.match(r"\| \d", line)] == expected
