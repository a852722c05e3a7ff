"""What asks not to be archived is not, and no more than that."""

import gzip
from pathlib import Path

import pytest

from gossamer.settings import ArchiveSettings
from gossamer.web.http import Headers
from services.archive.forbidden import MAX_HEAD_BYTES, is_forbidden
from tests.archive.harness import HTML, archived, page, responses

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
def test_a_page_that_asks_not_to_be_archived_is_not(
    tmp_path: Path, headers: Headers, body: bytes
) -> None:
    asks, other = page(1, body, headers=headers), page(2)
    (event,) = archived(tmp_path, asks, other)
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
    assert len(archived(tmp_path, page(1, body, headers=headers))) == 1


def test_settings_say_what_keeps_a_page_out_of_the_archive() -> None:
    noindex = page(1, b"<meta name=robots content=none>")
    assert not is_forbidden(noindex, FORBIDDEN, "gossamer")
    assert is_forbidden(noindex, frozenset({"noindex"}), "gossamer")
    reserved = page(1, headers=(("tdm-reservation", "1"),))
    assert is_forbidden(reserved, frozenset({"tdm-reservation"}), "gossamer")
    assert not is_forbidden(page(1, META), frozenset(), "gossamer")


def test_an_error_says_nothing_in_its_markup() -> None:
    assert not is_forbidden(page(1, META, status=404), FORBIDDEN, "gossamer")
