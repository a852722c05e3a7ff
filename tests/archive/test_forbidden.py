"""Pages that ask not to be archived, and pages that do not."""

import gzip
from pathlib import Path

import pytest

from gossamer.settings import ArchiveSettings
from gossamer.web.http import Headers
from services.archive.service import MAX_HEAD_BYTES, is_forbidden
from tests.archive.harness import HTML, archive_pages, page, responses

FORBIDDEN = frozenset(ArchiveSettings().not_archived)
META = b"<title>A</title><META NAME='Robots' CONTENT='noindex, noarchive'>"


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ((("X-Robots-Tag", "noarchive"),), b"x"),
        ((("X-Robots-Tag", "gossamer: nosnippet, noarchive"),), b"x"),
        (HTML, META),
        (HTML, b"<meta name=gossamer content=noarchive>"),
        ((*HTML, ("Content-Encoding", "gzip")), gzip.compress(META, mtime=0)),
    ],
)
def test_page_with_noarchive_is_not_archived(tmp_path: Path, headers: Headers, body: bytes) -> None:
    asks, other = page(1, body, headers=headers), page(2)
    (event,) = archive_pages(tmp_path, asks, other)
    assert event.url == other.visit.url
    assert responses(tmp_path / "warc") == [other.visit.url]


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ((("X-Robots-Tag", "otherbot: noarchive"),), b"x"),
        ((("X-Robots-Tag", "noindex, nofollow"),), b"x"),
        (HTML, b"<p>noarchive</p><meta name=description content=noarchive>"),
        (HTML, b" " * MAX_HEAD_BYTES + META),
    ],
)
def test_other_pages_are_archived(tmp_path: Path, headers: Headers, body: bytes) -> None:
    assert len(archive_pages(tmp_path, page(1, body, headers=headers))) == 1


def test_forbidding_signals_are_a_setting() -> None:
    noindex = page(1, b"<meta name=robots content=none>")
    assert not is_forbidden(noindex, FORBIDDEN, "gossamer")
    assert is_forbidden(noindex, frozenset({"noindex"}), "gossamer")
    reserved = page(1, headers=(("tdm-reservation", "1"),))
    assert is_forbidden(reserved, frozenset({"tdm-reservation"}), "gossamer")
    assert not is_forbidden(page(1, META), frozenset(), "gossamer")


def test_markup_of_an_error_page_is_ignored() -> None:
    assert not is_forbidden(page(1, META, status=404), FORBIDDEN, "gossamer")
