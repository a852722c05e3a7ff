"""The examples in the documentation work: programs of the recipes, and expressions of scopes."""

import gzip
import json
import re
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from gossamer.web.scope import parse_scope
from gossamer.web.validators import Validators
from tests.archive.harness import archive_pages, page

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


def program(page: str, number: int, language: str = "python") -> str:
    """Return the program in *language* with this *number* on a page of the documentation."""
    pattern = rf"```{language}\n(.*?)```"
    found: list[str] = re.findall(pattern, (DOCS / page).read_text(), re.DOTALL)
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


BODY = b"<p>A page"


@pytest.fixture
def captured(tmp_path: Path) -> list[dict[str, object]]:
    """Return the events of a capture, and of a 304 that confirmed it."""
    fetched = page(1, gzip.compress(BODY), headers=(("Content-Encoding", "gzip"),))
    visit = replace(fetched.visit, validators=Validators('"1"'), conditional=True)
    later = fetched.started_at + 1
    again = replace(fetched, visit=visit, status=304, body=b"", started_at=later)
    return [
        {
            "uri": (tmp_path / "a crawl" / "warc" / event.file).as_uri(),
            "offset": event.offset,
            "length": event.length,
            "digest": event.digest,
        }
        for event in archive_pages(tmp_path / "a crawl", fetched, again)
    ]


def test_python_reads_a_capture_and_the_body_of_a_revisit_record(
    captured: list[dict[str, object]],
) -> None:
    found = run(program("consuming.md", 0), [], captured).splitlines()
    assert [line.split()[0] for line in found] == ["200", "304"]
    assert {line.split()[-1] for line in found} == {str(len(BODY))}
    (alone,) = run(program("consuming.md", 0), [], captured[1:]).splitlines()
    assert alone.startswith("the body is in another record http://")


@pytest.mark.skipif(shutil.which("javac") is None, reason="needs a JDK")
def test_java_reads_a_capture(captured: list[dict[str, object]], tmp_path: Path) -> None:
    source = tmp_path / "ReadCapture.java"
    source.write_text(program("consuming.md", 1, "java"))
    subprocess.run(["javac", "-Xlint:all", "-Werror", source.name], cwd=tmp_path, check=True)
    found = []
    for event in captured:
        place = [str(event[name]) for name in ("uri", "offset", "length")]
        command = ["java", "-cp", str(tmp_path), "ReadCapture", *place]
        found.append(subprocess.run(command, capture_output=True, check=True))
    assert found[0].stdout == BODY
    assert found[0].stderr.startswith(b"response http://")
    assert found[1].stdout == b""
    assert f"in the record with the digest {captured[0]['digest']}".encode() in found[1].stderr


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
