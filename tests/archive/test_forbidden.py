"""Pages that ask not to be archived, and pages that do not."""

import gzip
from pathlib import Path

import pytest
from msgspec.structs import replace

from gossamer.events import CrawlDefined, PageFetched, Purpose
from gossamer.services.archive.exclusions import MAX_HEAD_BYTES, add_meta_statements, is_forbidden
from gossamer.settings import ArchiveSettings
from gossamer.web.http import Headers
from gossamer.web.usage import read_headers
from gossamer.web.walls import Wall, WallKind
from tests.archive.harness import (
    HTML,
    NOW,
    Crawl,
    archive_pages,
    only_file,
    page,
    records,
    responses,
)

FORBIDDEN = frozenset(ArchiveSettings().not_archived)
META = b"<title>A</title><META NAME='Robots' CONTENT='noindex, noarchive'>"


@pytest.mark.parametrize(
    ("headers", "body", "is_archived"),
    [
        ((("X-Robots-Tag", "noarchive"),), b"x", False),
        ((("X-Robots-Tag", "gossamer: nosnippet, noarchive"),), b"x", False),
        (HTML, META, False),
        (HTML, b"<meta name=gossamer content=noarchive>", False),
        ((*HTML, ("Content-Encoding", "gzip")), gzip.compress(META, mtime=0), False),
        ((("X-Robots-Tag", "otherbot: noarchive"),), b"x", True),
        ((("X-Robots-Tag", "noindex, nofollow"),), b"x", True),
        (HTML, b"<p>noarchive</p><meta name=description content=noarchive>", True),
        (HTML, b" " * MAX_HEAD_BYTES + META, True),
    ],
)
def test_page_with_noarchive_is_not_archived(
    tmp_path: Path, headers: Headers, body: bytes, is_archived: bool
) -> None:
    asks, other = page(1, body, headers=headers), page(2)
    expected = [asks.visit.url] * is_archived + [other.visit.url]
    assert [event.url for event in archive_pages(tmp_path, asks, other)] == expected
    assert responses(tmp_path / "warc") == expected


def forbids(fetched: PageFetched, *signals: str) -> bool:
    """Return whether the page has one of the signals."""
    with_meta, robots_meta = add_meta_statements(fetched, "gossamer")
    return is_forbidden(with_meta, robots_meta, frozenset(signals), "gossamer")


def test_forbidding_signals_are_a_setting() -> None:
    noindex = page(1, b"<meta name=robots content=none>")
    assert not forbids(noindex, *FORBIDDEN)
    assert forbids(noindex, "noindex")
    stated = read_headers((("tdm-reservation", "1"),), "gossamer")
    assert forbids(page(1, usage_statements=stated), "tdm-reservation")
    assert forbids(page(1, b"<meta name=tdm-reservation content=1>"), "tdm-reservation")
    assert not forbids(page(1, META))


@pytest.mark.parametrize("walls", [False, True])
def test_wall_is_archived_only_by_setting(tmp_path: Path, walls: bool) -> None:
    wall = replace(page(1), wall=Wall(WallKind.CHALLENGE, "Anubis", "its cookie"))
    crawl = Crawl(tmp_path, walls=walls)
    crawl.take(wall, page(2))
    crawl.end()
    expected = [wall.visit.url] if walls else []
    assert responses(tmp_path / "warc") == [*expected, page(2).visit.url]


@pytest.mark.parametrize("purpose", [Purpose.PAGE, Purpose.REQUISITE])
def test_excluded_use_is_not_archived(tmp_path: Path, purpose: Purpose) -> None:
    stated = read_headers((("Content-Usage", "train-ai=n"),), "gossamer")
    fetched = [page(1, usage_statements=stated), page(2)]
    fetched = [replace(one, visit=replace(one.visit, purpose=purpose)) for one in fetched]
    crawl = Crawl(tmp_path)
    crawl.archive.handle(
        CrawlDefined(at=NOW, scope="any()", max_depth=3, purposes=("train-ai",)), NOW
    )
    crawl.take(*fetched)
    crawl.end()
    assert responses(tmp_path / "warc") == [page(2).visit.url]


def test_markup_of_an_error_page_is_ignored() -> None:
    assert not forbids(page(1, META, status=404), *FORBIDDEN)


def test_metadata_record_has_statements_and_judgements(tmp_path: Path) -> None:
    stated = read_headers((("Content-Usage", "train-ai=y, search=y"),), "gossamer")
    body = b"<meta name=tdm-reservation content=1>"
    (event,) = archive_pages(tmp_path, page(1, body, usage_statements=stated))
    metadata = records(only_file(tmp_path / "warc"))[-1][1].split(b"\r\n")
    assert [line for line in metadata if line.startswith(b"usage")] == [
        b"usageStatement: header Content-Usage: train-ai=y, search=y",
        b"usageStatement: meta tdm-reservation: 1",
        b"usage: search: allowed",
        b"usage: train-ai: disallowed",
        b"usage: ai-input: disallowed",
    ]
    assert event.usage["train-ai"].word == "disallowed"
