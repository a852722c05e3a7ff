"""`gossamer export`: Markdown from the archive, the folder that is kept up to date, and chunks."""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from gossamer.console.cli.main import main
from gossamer.console.exports.markdown_files import name_of
from gossamer.events import PageFetched, Tombstone
from gossamer.events.public import Gone
from gossamer.inspection.basics.folder import Folder, Opened
from gossamer.log.codec import encode
from gossamer.web.usage import judge, read_headers
from tests.archive.crawled import archived_folder, document
from tests.archive.harness import HTML, page

CODE = b"""<html><title>Guide</title><body><main><h1>Guide</h1>
<p>How to run the crawler, in many words.</p>
<pre><code>def run():
    return 1

# no heading</code></pre><h2>Install</h2><p>Run the script.</p>"""


def fetched(number: int, body: bytes = CODE, later: float = 0.0) -> PageFetched:
    one = page(number, body, headers=HTML)
    return replace(one, started_at=one.started_at + later)


GUIDE = (
    "# Guide\n\nHow to run the crawler, in many words.\n\n```\ndef run():\n    return 1\n\n"
    "# no heading\n```\n\n## Install\n\nRun the script."
)
VERSIONS = [
    replace(document(fetched(1)), markdown=GUIDE),
    replace(document(fetched(1)), markdown=GUIDE.replace("the script", "another script")),
]


def put(folder: Folder, *events: Any) -> None:
    opened = Opened(folder)
    opened.log.append([encode(event) for event in events])
    opened.database.close()


def export(folder: Folder, target: object, *options: str) -> None:
    assert main(["export", str(target), "--data", str(folder.path), *options]) == 0


def files_in(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.glob("*/*.md")}


def test_markdown_of_pages_that_were_parsed_without_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = archived_folder(tmp_path / "data", [fetched(1)])
    put(folder, document(fetched(1)), document(fetched(2)))
    export(folder, tmp_path / "pages.jsonl", "--columns", "url,markdown")
    rows = [json.loads(line) for line in (tmp_path / "pages.jsonl").read_text().splitlines()]
    found = {row["url"]: row["markdown"] for row in rows}
    assert "def run():\n    return 1\n\n# no heading\n```" in found[fetched(1).visit.url]
    assert found[fetched(2).visit.url] == f"Text of {fetched(2).visit.url}"
    assert "1 page with the plain text as Markdown" in capsys.readouterr().out


def test_folder_is_kept_up_to_date(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    changed = fetched(1, CODE.replace(b"Install", b"Remove"), later=100.0)
    folder = archived_folder(tmp_path / "data", [fetched(1), fetched(2), changed])
    put(folder, document(fetched(1)), document(fetched(2)), document(fetched(3)))
    out = tmp_path / "notes"
    export(folder, out, "--format", "markdown", "--title", "The [notes]")
    first = files_in(out)
    assert len(first) == 3
    (name,) = (one for one in first if "page-1" in one)
    assert first[name].startswith('---\nfetched_at: "20')
    assert f'url: "{fetched(1).visit.url}"\n' in first[name]
    assert "## Install" in first[name]
    index = (out / "llms.txt").read_text()
    assert index.startswith("# The \\[notes\\]\n\n## site0.example\n")
    assert index.count("\n- [Title of http") == 3
    (out / "mine.md").write_text("a file of somebody else")
    capsys.readouterr()
    gone = fetched(2).visit.url
    put(folder, document(changed), Tombstone("default", gone, fetched(2).site, reason=Gone.MISSING))
    export(folder, out, "--format", "markdown")
    assert "1 file written to" in (said := capsys.readouterr().out)
    assert "1 removed; 1 page unchanged" in said
    second = files_in(out)
    assert len(second) == 2
    assert "## Remove" in second[name]
    assert gone not in (out / "llms.txt").read_text()
    assert (out / "mine.md").exists()
    assert sorted(one.name for one in out.iterdir()) == [
        "llms.txt",
        "mine.md",
        "site0.example",
        "site1.example",
    ]


def test_page_that_disallows_the_purpose_leaves_the_folder(tmp_path: Path) -> None:
    folder = archived_folder(tmp_path / "data", [])
    put(folder, document(fetched(1)), document(fetched(2)))
    options = ("--format", "markdown", "--purpose", "ai-input")
    export(folder, tmp_path / "notes", *options)
    assert len(files_in(tmp_path / "notes")) == 2
    stated = read_headers((("Content-Signal", "ai-input=no"),), "gossamer")
    put(folder, replace(document(fetched(1)), usage=judge(stated)))
    export(folder, tmp_path / "notes", *options)
    (text,) = files_in(tmp_path / "notes").values()
    assert fetched(2).visit.url in text


@pytest.mark.parametrize(
    "url",
    [
        "http://a.example/../../etc/passwd",
        "http://a.example/%2e%2e%2f%2e%2e%2fetc",
        "http://a.example/..%5c..%5cx",
        "http://a.example/" + "x" * 1900,
        "http://[::1]:8080/",
        "http://a.example/%00%0a%1b[2J",
        "http://xn--hxajbheg2az3al.xn--jxalpdlp/%CE%B1",
        "http://a.example/con?nul=aux.md",
        "http://" + "a" * 60 + "." + "b" * 60 + ".example/",
        "http://..a.example/~/.ssh/",
    ],
)
def test_name_of_a_file_is_safe_on_every_file_system(url: str) -> None:
    name = name_of(url)
    host, _, file = name.partition("/")
    assert "/" not in file and host.strip(".-") == host and host
    assert len(host) <= 100 and len(file) <= 80
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789.-/")


def test_names_differ_for_urls_that_differ_in_case_only() -> None:
    assert name_of("http://a.example/A") != name_of("http://a.example/a")
    assert name_of("http://a.example/A").lower() == name_of("http://a.example/A")


def test_chunks_are_rows_with_stable_ids(tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    folder, found = archived_folder(tmp_path / "data", []), []
    for version in VERSIONS:
        put(folder, version)
        export(folder, tmp_path / "chunks.parquet", "--chunks", "25", "--columns", "id,text,site")
        found.append(pq.read_table(tmp_path / "chunks.parquet").to_pylist())
    texts = [row["text"] for row in found[0]]
    assert texts[0].startswith("# Guide") and texts[-1] == "## Install\n\nRun the script."
    assert {row["site"] for row in found[0]} == {fetched(1).site}
    ids = [[row["id"] for row in rows] for rows in found]
    assert ids[0][:-1] == ids[1][:-1] and ids[0][-1] != ids[1][-1]


def test_chunks_since_a_cursor_name_the_documents_that_are_gone(tmp_path: Path) -> None:
    folder = archived_folder(tmp_path / "data", [])
    put(folder, VERSIONS[0])
    options = ("--chunks", "25", "--since", "index")
    export(folder, tmp_path / "1.jsonl", *options)
    lines = [json.loads(line) for line in (tmp_path / "1.jsonl").read_text().splitlines()]
    assert len(lines) > 1 and {line["state"] for line in lines} == {"new"}
    url = fetched(1).visit.url
    put(folder, Tombstone("default", url, fetched(1).site, reason=Gone.MISSING, trace="t"))
    export(folder, tmp_path / "2.jsonl", *options)
    (line,) = [json.loads(line) for line in (tmp_path / "2.jsonl").read_text().splitlines()]
    assert (line["state"], line["gone"], line["url"]) == ("gone", "missing", url)
    assert line["text"] is None
    put(folder, VERSIONS[0], replace(VERSIONS[0], text=None, markdown=None))
    export(folder, tmp_path / "3.jsonl", *options)
    (line,) = [json.loads(line) for line in (tmp_path / "3.jsonl").read_text().splitlines()]
    assert (line["state"], line["gone"], line["url"]) == ("gone", "empty", url)


def test_chunks_are_files_that_change_with_their_text_only(tmp_path: Path) -> None:
    folder, found = archived_folder(tmp_path / "data", []), []
    for version in VERSIONS:
        put(folder, version)
        export(folder, tmp_path / "notes", "--format", "markdown", "--chunks", "25")
        found.append({*files_in(tmp_path / "notes")})
    assert len(found[0]) == len(found[1]) > 1
    assert len(found[0] & found[1]) == len(found[0]) - 1


def test_markdown_of_all_pages_in_one_stream(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = archived_folder(tmp_path / "data", [])
    put(folder, document(fetched(1)), replace(document(fetched(2)), text=None))
    export(folder, "-", "--format", "markdown")
    shown = capsys.readouterr()
    assert shown.out.count("fetched_at: ") == 1 and "Text of http" in shown.out
    assert "1 page without a text" in shown.err


def test_versions_are_rows(tmp_path: Path) -> None:
    folder = _with_document_rows(tmp_path / "data")
    export(folder, tmp_path / "v.csv", "--versions", "--columns", "url,fetched_at,text,verdict")
    lines = (tmp_path / "v.csv").read_text().splitlines()
    assert lines[0] == "url,fetched_at,text,verdict"
    text = (tmp_path / "v.csv").read_text()
    assert "Run the script." in text and "Run another script." in text
    assert text.count(f"\n{fetched(1).visit.url},") == 2


def _with_document_rows(path: Path) -> Folder:
    from gossamer.services.dedup.rows import DocumentRow

    changed = fetched(1, CODE.replace(b"Run the script.", b"Run another script."), later=100.0)
    same = fetched(1, CODE.replace(b"Run the script.", b"Run another script."), later=200.0)
    folder = archived_folder(path, [fetched(1), changed, same, fetched(2)])
    opened = Opened(folder)
    url = fetched(1).visit.url
    opened.store.table(DocumentRow).put(DocumentRow(crawl="default", url=url, at=1.0))
    opened.store.flush()
    opened.database.close()
    return folder
