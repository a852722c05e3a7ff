"""The examples in the documentation work: programs of the recipes, and expressions of scopes."""

import gzip
import json
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from gossamer.console.cli.main import main
from gossamer.events import Page
from gossamer.inspection.basics.folder import Folder
from gossamer.log.codec import encode
from gossamer.services.parser.wiring import check_rules
from gossamer.settings import Settings
from gossamer.web.scope import parse_scope
from gossamer.web.validators import Validators
from tests.archive.harness import archive_pages, page

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGE = json.loads((ROOT / "schemas" / "examples" / "pages" / "2" / "page.json").read_text())
GUIDE = {
    **PAGE,
    "crawl": "default",
    "url": "https://example.org/guide",
    "trace": "a" * 32,
    "title": "Guide",
    "text": "How to run the crawler",
    "markdown": "# Guide\n\nHow to run the crawler\n\n## Install\n\nRun the script",
    "language": "en",
    "verdict": "first",
    "duplicate_of": "",
    "near_duplicate_of": "",
}
COPY = {
    **GUIDE,
    "url": "https://example.org/copy",
    "trace": "b" * 32,
    "verdict": "duplicate",
    "duplicate_of": GUIDE["url"],
}


def program(page: str, number: int, language: str = "python") -> str:
    """Return the program in *language* with this *number* on a page of the documentation."""
    pattern = rf"```{language}\n(.*?)```"
    found: list[str] = re.findall(pattern, (DOCS / page).read_text(), re.DOTALL)
    return found[number]


def run(source: str, arguments: list[str], lines: list[dict[str, object]]) -> str:
    return run_text(source, arguments, "".join(json.dumps(line) + "\n" for line in lines))


def run_text(source: str, arguments: list[str], given: str) -> str:
    command = [sys.executable, "-c", source, *arguments]
    return subprocess.run(command, input=given, capture_output=True, text=True, check=True).stdout


def put(data: Path, *documents: dict[str, object]) -> None:
    """Append *documents* to the topic of the crawl in *data*, as dedup does."""
    opened = Folder(data).create()
    opened.log.append([encode(msgspec.convert(one, Page)) for one in documents])
    opened.database.close()


def exports_in(page: str) -> list[list[str]]:
    """Return the arguments of the export commands on a page of the documentation."""
    text = "\n".join(
        program(page, n, "sh") for n in range((DOCS / page).read_text().count("```sh"))
    )
    lines = text.replace("\\\n", " ").splitlines()
    words = [shlex.split(line, comments=True) for line in lines if "gossamer export" in line]
    return [line[: line.index("|")] if "|" in line else line for line in words]


@pytest.fixture
def recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Return the export commands of the recipe, in a folder with a crawl."""
    pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    put(Path("gossamer-data"), GUIDE, COPY)
    return exports_in("recipes/rag.md")


def test_recipe_for_retrieval_writes_chunks_files_and_a_table(recipe: list[list[str]]) -> None:
    assert len(recipe) == 4
    for command in recipe:
        assert main(command[1:]) == 0
    chunks = [json.loads(line) for line in Path("chunks.jsonl").read_text().splitlines()]
    assert [(one["title"], one["url"]) for one in chunks] == [("Guide", GUIDE["url"])]
    assert "## Install\n\nRun the script" in chunks[0]["text"]
    (file,) = Path("notes").glob("*/*.md")
    assert 'title: "Guide"\n' in file.read_text()
    assert file.name in Path("notes/llms.txt").read_text()
    table = pytest.importorskip("pyarrow.parquet").read_table("pages.parquet")
    assert {row["url"] for row in table.to_pylist()} == {GUIDE["url"], COPY["url"]}


def test_recipe_keeps_an_index_up_to_date(recipe: list[list[str]]) -> None:
    (command,) = (one for one in recipe if "--since" in one)
    newer = {**GUIDE, "markdown": f"{GUIDE['markdown']} again"}
    disallowed = {**GUIDE, "usage": {"ai-input": {"allowed": False, "by": []}}}
    texts = list[list[str]]()
    for documents in ((), (newer,), (disallowed,), ()):
        put(Path("gossamer-data"), *documents)
        assert main(command[1:]) == 0
        given = Path("changes.jsonl").read_text()
        run_text(program("recipes/rag.md", 0), ["index.db"], given)
        rows = sqlite3.connect("index.db").execute("SELECT text FROM chunks")
        texts.append([text for (text,) in rows])
    assert texts == [[GUIDE["markdown"]], [newer["markdown"]], [], []]


def test_examples_of_exports_are_valid(recipe: list[list[str]]) -> None:
    commands = [one for one in exports_in("exports.md") if "s3://" not in " ".join(one)]
    assert len(commands) > 3
    for command in commands:
        assert main(command[1:]) == 0


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


@pytest.mark.slow
def test_rules_of_the_documentation_work_on_the_sample_page(tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("lamp desk")
    for number in range(4):
        file = tmp_path / f"rules{number}.py"
        file.write_text(program("rules.md", number))
        assert check_rules(Settings(), str(file)) == []
