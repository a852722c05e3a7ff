"""Several crawls in one archive: each has its own files and rules, and erasures concern all."""

import os
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from prometheus_client import REGISTRY

from gossamer.erasures import ErasureRow
from gossamer.events import CrawlDefined, PageArchived
from gossamer.inspection.archive.warcs import WarcFiles
from gossamer.log.codec import encode
from gossamer.services.archive.rows import PayloadRow
from gossamer.services.archive.segments import is_of_crawl
from gossamer.settings.units import DAY
from gossamer.web.usage import read_headers
from tests.archive.harness import NOW, Crawl, files, members, page, records
from tests.archive.test_forgetting import SECRET, assert_erased, body, erasure
from tests.archive.test_retention import assert_rows_lead_to_records, rows

CRAWLS = ("default", "news-eu")


def define(crawl: Crawl, name: str, **fields: Any) -> None:
    crawl.log.append(
        [encode(CrawlDefined(at=NOW, crawl=name, scope="any()", max_depth=9, **fields))]
    )


def archived_urls(crawl: Crawl) -> dict[str, set[str]]:
    """Return crawl → the URLs of its published captures."""
    found: dict[str, set[str]] = {name: set() for name in CRAWLS}
    for event in crawl.events():
        assert isinstance(event, PageArchived)
        assert is_of_crawl(event.file, event.crawl)
        found[event.crawl].add(event.url)
    return found


def file_of(folder: Path, crawl: str) -> Path:
    (found,) = (path for path in files(folder) if is_of_crawl(path.name, crawl))
    return found


def test_each_crawl_archives_by_its_own_rules(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path)
    define(crawl, "default", relevant='not pattern("/page/1")', purposes=("archive",))
    define(crawl, "news-eu", relevant='not pattern("/page/2")', purposes=("train-ai",))
    reserved = read_headers((("Content-Usage", "train-ai=n"),), "gossamer")
    for name in CRAWLS:
        crawl.fetch(page(1, crawl=name), page(2, crawl=name))
        crawl.fetch(page(3, crawl=name, usage_statements=reserved))
    crawl.work()
    urls = [page(number).visit.url for number in range(4)]
    assert archived_urls(crawl) == {"default": {urls[2], urls[3]}, "news-eu": {urls[1]}}
    # A later definition of one crawl changes nothing for the other.
    define(crawl, "news-eu")
    for name in CRAWLS:
        again = page(1, b"<p>again", crawl=name, started_at=NOW + 9)
        crawl.fetch(again, page(2, crawl=name, started_at=NOW + 9))
    crawl.work()
    assert archived_urls(crawl) == {"default": {urls[2], urls[3]}, "news-eu": {urls[1], urls[2]}}
    crawl.end()


def test_files_of_a_crawl_have_its_definition_and_only_its_captures(tmp_path: Path) -> None:
    crawl, text = Crawl(tmp_path), os.urandom(5000)
    for depth, name in enumerate(CRAWLS):
        define(crawl, name, revisit=f"fixed:{depth + 1}d")
    for name in CRAWLS:
        # Both crawls have the page with the same bytes.
        crawl.fetch(page(1, text, crawl=name))
    crawl.work()
    crawl.end()
    for depth, name in enumerate(CRAWLS):
        file = file_of(tmp_path / "warc", name)
        (_, info), *others = records(file)
        fields = dict(line.split(": ", 1) for line in info.decode().splitlines())
        assert (fields["isPartOf"], fields["revisit"]) == (name, f"fixed:{depth + 1}d")
        # No file refers to a body of the other crawl, which may be removed.
        kinds = [headers["WARC-Type"] for headers, _ in others]
        assert kinds.count("response") == 1 and "revisit" not in kinds
        listed = WarcFiles(tmp_path / "warc", crawl=name)
        assert [one.name for one in listed.files] == [file.name]


def test_metrics_count_the_bytes_and_exclusions_of_each_crawl(tmp_path: Path) -> None:
    names = "gossamer_archived_bytes_total", "gossamer_not_archived_total"

    def read() -> dict[tuple[str, str], float]:
        return {
            (name, crawl): REGISTRY.get_sample_value(name, {"crawl": crawl}) or 0.0
            for name in names
            for crawl in CRAWLS
        }

    before, crawl = read(), Crawl(tmp_path)
    define(crawl, "news-eu", purposes=("train-ai",))
    reserved = read_headers((("Content-Usage", "train-ai=n"),), "gossamer")
    for name in CRAWLS:
        crawl.fetch(page(1, crawl=name), page(2, crawl=name, usage_statements=reserved))
    crawl.work()
    crawl.end()
    counted = {at: value - before[at] for at, value in read().items()}
    sizes = {name: file_of(tmp_path / "warc", name).stat().st_size for name in CRAWLS}
    assert counted == {
        **{(names[0], name): sizes[name] for name in CRAWLS},
        (names[1], "default"): 0,
        (names[1], "news-eu"): 1,
    }


def test_erased_page_is_in_the_files_of_no_crawl(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path)
    for name in CRAWLS:
        crawl.fetch(*(page(number, body(number), crawl=name) for number in range(6)))
    crawl.work()
    urls = {page(number).visit.url for number in range(6)} - {page(SECRET).visit.url}
    for part, name in enumerate(CRAWLS):
        crawl.log.append([encode(replace(erasure(), crawl=name, part=part))])
    crawl.work()
    assert_erased(tmp_path / "warc")
    entries = crawl.store.table(ErasureRow).everything()
    found = [one.rows.get("warc_records", 0) for one in entries if one.service == "archive/archive"]
    assert sorted(found) == [0, 3 * len(CRAWLS)]
    assert {(one.crawl, one.url) for one in rows(crawl)} == {
        (name, url) for name in CRAWLS for url in urls
    }
    assert_rows_lead_to_records(crawl)
    crawl.end()


def test_removal_of_a_crawl_erases_its_rows_and_keeps_its_files(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path)
    for name in CRAWLS:
        define(crawl, name)
        crawl.fetch(*(page(number, body(number), crawl=name) for number in range(6)))
    crawl.work()
    before = {path.name.removesuffix(".open"): path.read_bytes() for path in files(crawl.folder)}
    define(crawl, "news-eu", removed=True)
    for _ in range(2):
        event = replace(erasure(), crawl="news-eu", removal=True)
        crawl.log.append([encode(replace(event, urls=(page(n).visit.url,))) for n in range(6)])
        crawl.work()
    assert {(one.crawl, one.url) for one in rows(crawl)} == {
        ("default", page(number).visit.url) for number in range(6)
    }
    assert {one.crawl for one in crawl.store.table(PayloadRow).everything()} == {"default"}
    # A removal is no erasure: visits of other crawls are not ignored, and no file is rewritten.
    assert not [*crawl.store.table(ErasureRow).everything()]
    crawl.fetch(page(SECRET, b"<p>again", started_at=NOW + 99))
    crawl.work()
    crawl.end()
    after = {path.name: path.read_bytes() for path in files(crawl.folder)}
    assert all(after[name].startswith(content) for name, content in before.items())
    assert b"<p>again" in b"".join(
        data for path in files(crawl.folder) for _, data in members(path)
    )


def test_versions_of_a_page_are_counted_in_each_crawl(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path, keep_versions=1)
    for day in range(3):
        crawl.now = at = NOW + day * DAY
        crawl.fetch(page(1, os.urandom(50_000), started_at=at))
        if day == 0:
            crawl.fetch(page(1, os.urandom(50_000), started_at=at, crawl="news-eu"))
        crawl.work()
    crawl.now = NOW + 5 * DAY
    crawl.work()
    kept = {(one.crawl, one.fetched_at) for one in rows(crawl)}
    assert kept == {("default", NOW + 2 * DAY), ("news-eu", NOW)}
    assert_rows_lead_to_records(crawl)
    crawl.end()


def test_removed_crawl_is_not_archived_and_its_file_is_complete(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path)
    for name in CRAWLS:
        define(crawl, name)
        crawl.fetch(page(1, crawl=name))
    crawl.work()
    define(crawl, "news-eu", removed=True)
    for name in CRAWLS:
        crawl.fetch(page(2, crawl=name))
    crawl.work()
    urls = [page(number).visit.url for number in range(3)]
    assert archived_urls(crawl) == {"default": {urls[1], urls[2]}, "news-eu": {urls[1]}}
    names = {path.name for path in files(tmp_path / "warc")}
    assert {is_of_crawl(name, "news-eu"): name.endswith(".open") for name in names} == {
        True: False,
        False: True,
    }
    crawl.end()
