"""Vanished documents in `gossamer pages`."""

import dataclasses
import json
from io import BytesIO
from itertools import islice
from pathlib import Path

import pytest
from msgspec.structs import replace

from gossamer.console.cli.main import main
from gossamer.console.cli.pages import _write_jsonl
from gossamer.crawl import create_own_topic
from gossamer.events import CrawlDefined, Page, Tombstone
from gossamer.events.public import Gone
from gossamer.inspection.basics.folder import Folder, Opened
from gossamer.inspection.crawls.crawl import open_crawl
from gossamer.inspection.crawls.documents import iterate_records
from gossamer.log import Record
from gossamer.log.codec import encode
from gossamer.settings import Settings
from gossamer.web.url import Site
from gossamer.web.usage import judge, read_headers
from tests.console.test_open_crawl import page

THERE, GONE = Site("http://a.example/"), Site("http://b.example/")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = Folder(tmp_path)
    made.make()
    gone = Tombstone("default", GONE, GONE, reason=Gone.MOVED, at=1700000000.5, status=301)
    opened = Opened(made)
    opened.log.append([encode(event) for event in (page(GONE, "was"), page(THERE, "is"), gone)])
    opened.database.close()
    return tmp_path


def test_list_has_no_vanished_documents(
    folder: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert main(["pages", "--data", str(folder)]) == 0
    (line,) = capsysbinary.readouterr().out.splitlines()
    assert json.loads(line)["url"] == THERE


@pytest.mark.parametrize("follow", [False, True])
def test_pages_are_those_of_the_opened_crawl(folder: Path, follow: bool) -> None:
    with open_crawl(Settings(), folder) as crawl:
        news = Tombstone("news", THERE, THERE, reason=Gone.MISSING)
        others = [encode(replace(page(url, "other"), crawl="news")) for url in (GONE, THERE)]
        crawl.log.append([*others, encode(news)])
        of_crawl = {
            name: [*islice(iterate_records(crawl.of(name), follow), count)]
            for name, count in (("default", 1 + follow), ("news", 1 + follow))
        }
    keys = {name: {one.key for one in records} for name, records in of_crawl.items()}
    gone = {f"default/{GONE}"} if follow else set()
    assert keys["default"] == {f"default/{THERE}"} | gone
    gone = {f"news/{THERE}"} if follow else set()
    assert keys["news"] == {f"news/{GONE}"} | gone


def test_pages_of_a_crawl_with_a_topic_of_its_own(
    folder: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    defined = CrawlDefined(at=1.0, crawl="news", scope="any()", max_depth=1, own_topic=True)
    with open_crawl(Settings(), folder) as crawl:
        create_own_topic(crawl.log, defined)
        message = encode(replace(page(THERE, "news"), crawl="news"))
        own = dataclasses.replace(message, topic="pages.news")
        other = encode(replace(defined, crawl="default", own_topic=False))
        crawl.log.append([encode(defined), other, own])
    titles = {}
    for name in ("default", "news"):
        assert main(["pages", "--data", str(folder), "--crawl", name]) == 0
        (line,) = capsysbinary.readouterr().out.splitlines()
        titles[name] = json.loads(line)["title"]
    assert titles == {"default": "is", "news": "news"}


def test_line_has_no_control_characters_and_the_same_value(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    title = "a\x1b[2J\x9b2J\x9d0;owned\x9c\u202egnp.exe\x7f\u2066"
    opened = Folder(tmp_path).create()
    opened.log.append([encode(page(THERE, title))])
    opened.database.close()
    assert main(["pages", "--data", str(tmp_path)]) == 0
    out = capsysbinary.readouterr().out.decode()
    assert [c for c in out if not c.isprintable()] == ["\n"]
    assert json.loads(out)["title"] == title


def test_parquet_has_all_public_fields(folder: Path, tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    file = tmp_path / "pages.parquet"
    assert main(["pages", "--data", str(folder), "--format", "parquet", "--output", str(file)]) == 0
    (row,) = pq.read_table(file).to_pylist()
    assert {*Page.__struct_fields__} - {*row} == {"at", "version"}
    assert row["url"] == THERE and row["verdict"] == "first"
    assert row["fetched_at"].timestamp() == 1.0 and row["first_seen"] is None


def test_parquet_has_the_judgements_of_usage() -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    from gossamer.console.exports.parquet import write_pages

    stated = read_headers((("Content-Usage", "train-ai=n"),), "gossamer")
    document = replace(page(THERE, "x"), usage=judge(stated), usage_statements=stated)
    message, out = encode(document), BytesIO()
    write_pages(iter([Record(message.topic, 0, 0, message.key, message.value)]), out)
    (row,) = pq.read_table(BytesIO(out.getvalue())).to_pylist()
    judgement = dict(row["usage"])["train-ai"]
    assert judgement["allowed"] is False
    assert [one["text"] for one in judgement["by"]] == ["train-ai=n"]
    assert dict(row["usage_statements"][0]["says"]) == {"train-ai": False}


def test_follow_prints_vanished_documents(folder: Path) -> None:
    out = BytesIO()
    with open_crawl(Settings(), folder) as crawl:
        _write_jsonl(islice(iterate_records(crawl, follow=True), 2), out)
    lines = {line["url"]: line for line in map(json.loads, out.getvalue().splitlines())}
    assert lines[THERE]["title"] == "is"
    assert lines[GONE] == {
        "crawl": "default",
        "url": GONE,
        "gone": "moved",
        "status": 301,
        "at": 1700000000.5,
        "verdict": "gone",
        "redirects_to": "",
    }
