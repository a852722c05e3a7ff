"""The examples in the documentation work: programs of the recipes, and expressions of scopes."""

import json
import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from gossamer.web.scope import parse_scope

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGE = json.loads((ROOT / "schemas" / "examples" / "pages" / "2" / "page.json").read_text())
GUIDE = {
    **PAGE,
    "url": "https://example.org/guide",
    "trace": "a" * 32,
    "title": "Guide",
    "text": "How to run the crawler",
    "markdown": "# Guide\n\nHow to run the crawler\n\n## Install\n\nRun the script",
    "duplicate_of": "",
    "near_duplicate_of": "",
}
COPY = {**GUIDE, "url": "https://example.org/copy", "duplicate_of": GUIDE["url"]}


def program(page: str, number: int) -> str:
    """Return the Python program with this *number* on a page of the documentation."""
    found: list[str] = re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)
    return found[number]


def run(source: str, arguments: list[str], lines: list[dict[str, object]]) -> str:
    given = "".join(json.dumps(line) + "\n" for line in lines)
    command = [sys.executable, "-c", source, *arguments]
    return subprocess.run(command, input=given, capture_output=True, text=True, check=True).stdout


def test_markdown_files_have_front_matter_and_skip_duplicates(tmp_path: Path) -> None:
    run(program("recipes/rag.md", 0), [str(tmp_path)], [GUIDE, COPY])
    (file,) = tmp_path.iterdir()
    assert file.name == f"{GUIDE['trace']}.md"
    assert file.read_text().startswith('---\ntitle: "Guide"\nurl: "https://example.org/guide"\n')


def test_chunks_begin_at_headings() -> None:
    chunks = [
        json.loads(line)
        for line in run(program("recipes/rag.md", 1), [], [GUIDE, COPY]).splitlines()
    ]
    assert [chunk["text"].splitlines()[0] for chunk in chunks] == ["# Guide", "## Install"]


def test_index_replaces_versions_and_deletes_what_is_gone(tmp_path: Path) -> None:
    file = str(tmp_path / "pages.db")
    newer = {**GUIDE, "text": "How to install it"}
    gone = {"url": GUIDE["url"], "gone": "not_found", "status": 404}
    for lines, found in (([GUIDE, COPY, newer], 1), ([gone], 0)):
        run(program("recipes/search-index.md", 0), [file], lines)
        rows = sqlite3.connect(file).execute("SELECT url FROM pages WHERE pages MATCH 'install'")
        assert len(rows.fetchall()) == found


def test_consumer_of_kafka_is_valid_python() -> None:
    compile(program("recipes/search-index.md", 1), "search-index.md", "exec")


RULE = re.compile(r"`((?:any|not|host|domain|prefix|pattern|depth)\b[^`]*\([^`]*\))`")
SCOPES = [
    text.replace("\\|", "|")
    for text in RULE.findall((DOCS / "scope.md").read_text())
    if "…" not in text and "n)" not in text and "()" not in text.replace("any()", "")
]


@pytest.mark.parametrize("text", SCOPES)
def test_scopes_are_valid(text: str) -> None:
    parse_scope(text)


def test_scopes_are_found() -> None:
    assert len(SCOPES) > 15
