"""The limits of the archive: the captures that stay. No row points to a record that is gone."""

import os
from math import inf
from pathlib import Path

import pytest

from gossamer.events import PageFetched, Purpose, Visit
from gossamer.services.archive.retention import choose_kept, find_cutoff
from gossamer.services.archive.rewriting import size_on_disk
from gossamer.services.archive.rows import CaptureRow
from gossamer.settings import ArchiveSettings
from gossamer.settings.units import DAY
from gossamer.store.sqlite import SqliteStore
from gossamer.web.validators import Validators
from tests.archive.faults import crashing
from tests.archive.harness import NOW, Crawl, check, files, members, page

MAX_INSTANTS = 400


def row(at: float, digest: str, body_at: float | None = None, status: int = 200) -> CaptureRow:
    """Return the row of a capture at *at*, whose body is in the capture at *body_at*."""
    body_at = at if body_at is None else body_at
    return CaptureRow("c", "http://a.test/", at, status, "f", 0, 1, digest, body_at=body_at)


@pytest.mark.parametrize(
    ("captures", "versions", "since", "kept"),
    [
        ([row(3, "c"), row(2, "b"), row(1, "a")], 0, -inf, {3, 2, 1}),
        ([row(3, "c"), row(2, "b"), row(1, "a")], 1, -inf, {3}),
        ([row(3, "c"), row(2, "b"), row(1, "a")], 2, -inf, {3, 2}),
        ([row(4, "b"), row(3, "b"), row(2, "a"), row(1, "a")], 1, -inf, {4, 3}),
        ([row(3, "a"), row(2, "b"), row(1, "a")], 1, -inf, {3, 1}),
        ([row(3, "c"), row(2, "b"), row(1, "a")], 0, 2, {3, 2}),
        ([row(3, "c"), row(2, "b"), row(1, "a")], 2, 3, {3}),
        ([row(3, "c"), row(2, "b"), row(1, "a")], 0, 4, set()),
        # Errors and redirects replace no page.
        ([row(3, "x", status=503), row(2, "y", status=301), row(1, "a")], 1, -inf, {3, 1}),
        # A body is kept for a kept revisit record.
        ([row(3, "a", 1), row(2, "a", 1), row(1, "a")], 0, 3, {3, 1}),
        ([row(3, "a", 1), row(2, "b"), row(1, "a")], 1, 3, {3, 1}),
        ([row(3, "b"), row(2, "a", 1), row(1, "a")], 1, -inf, {3}),
        ([row(2, "a", 1), row(1, "a")], 0, 3, set()),
    ],
)
def test_kept_captures(
    captures: list[CaptureRow], versions: int, since: float, kept: set[float]
) -> None:
    assert choose_kept(captures, versions, since) & {row.fetched_at for row in captures} == kept


@pytest.mark.parametrize(
    ("total", "limit", "cutoff"),
    [(60, 60, -inf), (61, 60, 2.0), (60, 50, 2.0), (60, 49, 3.0), (60, 30, 3.0), (60, 29, inf)],
)
def test_cutoff_frees_the_oldest_files(total: int, limit: int, cutoff: float) -> None:
    files = [(1.0, 10), (2.0, 20), (3.0, 30)]
    assert find_cutoff(files, total, limit) == cutoff
    assert find_cutoff([], total, limit) == -inf


def test_size_of_less_than_two_segments_is_refused() -> None:
    with pytest.raises(ValueError, match="segment_size"):
        ArchiveSettings(segment_size=1000, keep_size=1999)
    assert ArchiveSettings(segment_size=1000, keep_size=2000).keep_size == 2000


def version(number: int, body: bytes, at: float, **fields: object) -> PageFetched:
    return page(number, body, started_at=at, **fields)


def not_modified(number: int, at: float) -> PageFetched:
    url = page(number).visit.url
    visit = Visit(f"1.{number}.1@{url}", url, validators=Validators('"1"'), conditional=True)
    return page(number, b"", visit=visit, status=304, started_at=at)


def rows(crawl: Crawl) -> list[CaptureRow]:
    return [*SqliteStore(crawl.database).table(CaptureRow).everything()]


def assert_rows_lead_to_records(crawl: Crawl) -> None:
    for one in rows(crawl):
        path = crawl.folder / one.file
        path = path if path.exists() else path.with_name(path.name + ".open")
        (content,) = [data for offset, data in members(path) if offset == one.offset]
        assert f"WARC-Target-URI: {one.url}\r\n".encode() in content


def archive_at(crawl: Crawl, now: float, *pages: PageFetched) -> None:
    crawl.now = now
    crawl.take(*pages)


def test_old_versions_are_erased(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path, keep_versions=2)
    bodies = [b"version %d " % i + os.urandom(50_000) for i in range(5)]
    for i, text in enumerate(bodies):
        at = NOW + i * DAY
        archive_at(crawl, at, version(1, text, at), version(2 + i, b"other", at))
    archive_at(crawl, NOW + 6 * DAY)
    content = b"".join(data for path in files(crawl.folder) for _, data in members(path))
    assert [text in content for text in bodies] == [False, False, False, True, True]
    assert content.count(b"WARC-Type: response") == 7
    assert len(rows(crawl)) == 7
    assert_rows_lead_to_records(crawl)
    length = sum(path.stat().st_size for path in files(tmp_path / "warc"))
    assert length - sum(map(size_on_disk, files(tmp_path / "warc"))) > 3 * 40_000
    crawl.end()
    check(map(str, files(tmp_path / "warc")))


def test_file_without_kept_captures_is_removed(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path, keep_age=30 * DAY)
    archive_at(crawl, NOW, version(1, b"old", NOW), version(2, b"old, too", NOW))
    archive_at(crawl, NOW + 20 * DAY, version(3, b"new", NOW + 20 * DAY))
    archive_at(crawl, NOW + 29 * DAY)
    assert len(files(crawl.folder)) == 2
    archive_at(crawl, NOW + 31 * DAY)
    assert len(files(crawl.folder)) == 1
    assert [one.url for one in rows(crawl)] == [page(3).visit.url]
    assert_rows_lead_to_records(crawl)
    crawl.end()


def test_body_of_a_kept_revisit_record_is_kept(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path, keep_age=30 * DAY)
    text = b"unchanged" + os.urandom(20_000)
    archive_at(crawl, NOW, version(1, text, NOW), version(2, os.urandom(50_000), NOW))
    archive_at(crawl, NOW + 20 * DAY, not_modified(1, NOW + 20 * DAY))
    archive_at(crawl, NOW + 31 * DAY)
    assert sorted((one.status, one.fetched_at) for one in rows(crawl)) == [
        (200, NOW),
        (304, NOW + 20 * DAY),
    ]
    assert_rows_lead_to_records(crawl)
    assert any(text in data for _, data in members(files(crawl.folder)[0]))
    archive_at(crawl, NOW + 51 * DAY)
    assert rows(crawl) == []
    assert files(crawl.folder) == []
    crawl.end()


def test_body_that_another_url_refers_to_is_kept(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path, keep_age=30 * DAY)
    text = b"copied" + os.urandom(20_000)
    archive_at(crawl, NOW, version(1, text, NOW), version(2, os.urandom(50_000), NOW))
    later = NOW + 20 * DAY
    archive_at(crawl, later, version(3, text, later))
    archive_at(crawl, NOW + 31 * DAY)
    found = {one.url: one for one in rows(crawl)}
    assert set(found) == {page(1).visit.url, page(3).visit.url}
    assert found[page(3).visit.url].body_url == page(1).visit.url
    assert_rows_lead_to_records(crawl)
    archive_at(crawl, NOW + 53 * DAY)
    assert rows(crawl) == []
    # The body is gone, so nothing may refer to it.
    archive_at(crawl, NOW + 54 * DAY, version(4, text, NOW + 54 * DAY))
    assert [one.record_type for one in rows(crawl)] == ["response"]
    crawl.end()


def test_captures_without_rows_are_erased_by_age(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path, keep_age=30 * DAY)
    url = "http://site1.example/sitemap.xml"
    visit = Visit("1.1.0@" + url, url, purpose=Purpose.SITEMAP)
    archive_at(crawl, NOW, page(1, b"<urlset/>", visit=visit))
    archive_at(crawl, NOW + DAY)
    assert len(files(crawl.folder)) == 1
    archive_at(crawl, NOW + 31 * DAY)
    assert files(crawl.folder) == []
    crawl.end()


def test_oldest_files_are_removed_beyond_the_size(tmp_path: Path) -> None:
    limit = 400_000
    crawl = Crawl(tmp_path, segment_size=50_000, keep_size=limit)
    for i in range(60):
        at = NOW + i * 7200
        archive_at(crawl, at, version(i, os.urandom(20_000), at))
    archive_at(crawl, NOW + 61 * 7200)
    total = sum(map(size_on_disk, files(crawl.folder)))
    assert limit / 2 < total <= limit
    left = sorted(one.fetched_at for one in rows(crawl))
    assert left == [NOW + i * 7200 for i in range(60 - len(left), 60)]
    assert_rows_lead_to_records(crawl)
    crawl.end()


def test_files_are_untouched_without_limits(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path)
    archive_at(crawl, NOW, version(1, b"one", NOW), version(1, b"two", NOW + 1))
    archive_at(crawl, NOW + 3650 * DAY)
    assert crawl.archive.due() is None
    assert len(rows(crawl)) == 2
    crawl.end()


@pytest.mark.slow
def test_crash_at_any_instant_leaves_no_row_without_a_record(tmp_path: Path) -> None:
    instants, crashed = 0, True
    while crashed:
        folder = tmp_path / str(instants)
        crawl = Crawl(folder, keep_versions=1, keep_age=30 * DAY)
        archive_at(crawl, NOW, version(1, b"old" * 1000, NOW), version(2, b"old", NOW))
        at = NOW + 20 * DAY
        archive_at(crawl, at, version(3, b"one", at), version(3, os.urandom(9000), at + 1))
        crawl.now = NOW + 31 * DAY
        with crashing() as crash:
            crashed = crash.interrupts(crawl.work, instants)
            assert_rows_lead_to_records(crawl)
            crawl.kill()
            crash.clean_up()
        again = Crawl(folder, keep_versions=1, keep_age=30 * DAY)
        again.now = NOW + 32 * DAY
        again.work()
        assert_rows_lead_to_records(again)
        assert [(one.url, one.fetched_at) for one in rows(again)] == [(page(3).visit.url, at + 1)]
        assert len(files(again.folder)) == 1
        again.end()
        if instants % 10 == 0:
            check(map(str, files(folder / "warc")))
        instants += 1
        assert instants < MAX_INSTANTS
    assert instants > 10
