"""The indexes of WARC files: as cdxj-indexer writes them, and complete after a crash."""

import json
import random
from pathlib import Path

import pytest
from msgspec.structs import replace
from surt import surt

from gossamer.events import PageFetched
from gossamer.services.archive.index import INDEX_SUFFIX, index_file
from gossamer.services.archive.reading import read_chunks
from gossamer.web.surt import surt_key, viewer_key, viewer_spellings
from gossamer.web.url import canonicalize
from gossamer.web.validators import Validators
from tests.archive.faults import Crash, Crashed, crashing
from tests.archive.harness import Crawl, archive_pages, files, page, reference_index

PARTS = (
    *("a", "B", "/", "//", "/../", "/./", "..", ".", "?", "&", "=", "-", "+", ";", "|", "{", "~"),
    *("%41", "%2f", "%25", "%2541", "%c3%a9", "é", "%20", "%23", "%3f", "%26", "%", "%zz", "%00"),
    *("sid=", "PHPSESSID=", "jsessionid=", "0123456789abcdef" * 2, "cfid=1&cftoken=2"),
    *("/(S(0123456789abcdefghijklmn))/", "x.aspx", "a-b=1", "a=1", "a_=", "www.", "%0a", "%ff"),
)
HOSTS = (
    *("example.org", "www.example.org", "www2.a.example.co.uk:8080", "192.0.2.1", "[::1]:81"),
    *("www.com", "x:443", "x:80", "bücher.example", "a_b.c", "wwww.d", "www3.www.e", "a..b"),
)


def test_surt_keys_equal_those_of_the_reference() -> None:
    chance = random.Random(147)
    for _ in range(5000):
        path = "".join(chance.choice(PARTS) for _ in range(chance.randint(0, 7)))
        scheme = chance.choice(("http", "https"))
        url = canonicalize(f"{scheme}://{chance.choice(HOSTS)}/{path}")
        if url:
            assert surt_key(url) == surt(url), url


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("https://www2.A.example/Dir/?b=%2F&a=1", "example,a)/dir/?a=1&b=%2f"),
        ("http://a.example:8080/a%20b//c", "example,a:8080)/a%20b//c"),
        ("http://[2001:db8::1]:81/?sid=", "[2001:db8::1]:81)/?sid="),
        ("http://192.0.2.9/?", "9,2,0,192)/"),
        ("dns:a.example", "dns:a.example"),
    ],
)
def test_viewer_key_has_escapes_and_slashes(url: str, key: str) -> None:
    """`tests/browser/test_viewer.py` has the viewer itself."""
    assert viewer_key(url) == key


@pytest.mark.parametrize(
    ("url", "others"),
    [
        ("http://a.example/?q=1", ()),
        ("http://a.example/%C3%A9", ("%c3%a9",)),
        ("http://a.example/~b", ("%7Eb", "%7eb")),
        ("http://a.example/a|b", ("a%7Cb", "a%7cb")),
        ("http://a.example/~/%2F|", ("~/%2F%7C", "%7E/%2F|", "%7E/%2F%7C", "~/%2f|", "~/%2f%7c",
                                     "%7e/%2f|", "%7e/%2f%7c")),
    ],
)  # fmt: skip
def test_spellings_are_those_of_browsers_and_pages(url: str, others: tuple[str, ...]) -> None:
    found = viewer_spellings(url)
    assert found[0] == url
    assert sorted(found[1:]) == sorted(f"http://a.example/{other}" for other in others)


def pages() -> list[PageFetched]:
    """Return fetches of many kinds: with redirects, errors, odd headers and a 304."""
    fetched = [page(number, b"<p>%d" % number) for number in range(1, 9)]
    first = fetched[0]
    fetched += [
        page(20, b"", status=301, reason="Moved", headers=(("Location", "/page/1?q=1"),)),
        page(21, b"gone", status=404, reason="", headers=()),
        page(22, b"x", headers=(("content-type", " Text/HTML;charset=x , y"), ("X", "\x80é"))),
        page(23, b"", headers=(("Content-Type", ""),)),
        page(24, bytes(3 << 20), headers=(("Content-Type", "image/png"),)),
    ]
    visit = replace(first.visit, validators=Validators('"1"'), conditional=True)
    later = replace(first, visit=visit, started_at=first.started_at + 99, status=304, body=b"")
    return [*fetched, later]


def test_index_equals_that_of_cdxj_indexer(tmp_path: Path) -> None:
    archive_pages(tmp_path, *pages())
    (path,) = files(tmp_path / "warc")
    found = path.with_name(path.name + INDEX_SUFFIX).read_text()
    assert len(found.splitlines()) == len(pages())
    assert '"mime": "warc/revisit"' in found
    assert found == reference_index([path])


def test_index_of_a_partial_file_has_its_whole_records(tmp_path: Path) -> None:
    archive_pages(tmp_path, *pages()[:3])
    (path,) = files(tmp_path / "warc")
    data = path.read_bytes()
    whole = [json.loads(line.split(" ", 2)[2]) for line in index_file([data], path.name)]
    for end in range(0, len(data), 101):
        cut = index_file([data[:end]], path.name)
        positions = {json.loads(line.split(" ", 2)[2])["offset"] for line in cut}
        expected = [one for one in whole if int(one["offset"]) + int(one["length"]) <= end]
        assert positions == {one["offset"] for one in expected}


def test_index_of_other_bytes_is_empty() -> None:
    assert list(index_file([b"no archive", b"\x1f\x8b"], "x")) == []
    assert list(index_file([], "x")) == []


@pytest.mark.slow
def test_crash_at_any_instant_leaves_an_index_with_every_complete_file(tmp_path: Path) -> None:
    with crashing() as crash:
        instant = 0
        while _crashes(crash, instant, tmp_path / str(instant)):
            instant += 1
    assert instant > 30


def _crashes(crash: Crash, instant: int, folder: Path) -> bool:
    crawl = Crawl(folder, segment_size=900)
    crawl.fetch(*pages()[:4])
    crash.left = instant
    try:
        crawl.work()
        crawl.end()
    except Crashed:
        crash.clean_up()
        crawl.kill()
    else:
        crash.left = None
        return False
    _assert_indexed(folder / "warc")
    again = Crawl(folder, segment_size=900)
    again.work()
    again.end()
    captured = _assert_indexed(folder / "warc")
    assert sorted(captured) == sorted(one.visit.url for one in pages()[:4])
    return True


def _assert_indexed(folder: Path) -> list[str]:
    """Check that each complete file has the index of its records; return the URLs of all."""
    found = list[str]()
    for path in files(folder):
        if path.suffix == ".gz":
            lines = path.with_name(path.name + INDEX_SUFFIX).read_text()
            with path.open("rb") as file:
                assert lines == "".join(index_file(read_chunks(file.read), path.name))
            found += [json.loads(line.split(" ", 2)[2])["url"] for line in lines.splitlines()]
    return found
