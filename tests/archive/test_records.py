"""Which records are written, by setting, and what they say."""

import gzip
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import brotli  # type: ignore[import-untyped]
import pytest
from backports import zstd
from fastwarc.warc import WarcRecordType
from msgspec.structs import replace

from gossamer.errors import BadSettings
from gossamer.events import CrawlDefined, PageFetched, Purpose, Visit
from gossamer.log.codec import encode
from gossamer.settings import ArchiveSettings, load_settings
from gossamer.web.validators import Validators
from tests.archive.harness import (
    NOW,
    Crawl,
    archive_pages,
    check,
    files,
    only_file,
    page,
    records,
    run_tool,
)

ALL = ArchiveSettings().records


def visited(number: int, purpose: Purpose = Purpose.PAGE, **fields: Any) -> PageFetched:
    found = page(number, **fields)
    return replace(found, visit=replace(found.visit, purpose=purpose))


def not_modified(number: int) -> PageFetched:
    found = page(number, b"", status=304)
    return replace(found, visit=replace(found.visit, validators=Validators('"1"')))


PAGES = {
    "page": visited(1),
    "304": not_modified(2),
    "redirects": visited(3, status=301),
    "errors": visited(4, status=404),
    "robots": visited(5, Purpose.ROBOTS, status=404),
    "usage file": visited(6, Purpose.USAGE),
    "probe": visited(7, Purpose.PROBE, status=410),
    "sitemap": visited(8, Purpose.SITEMAP),
}
ROWS: tuple[tuple[tuple[str, ...], set[str]], ...] = (
    ((), {"page", "304", "sitemap"}),
    (("redirects",), {"page", "304", "sitemap", "redirects"}),
    (("errors",), {"page", "304", "sitemap", "errors", "probe"}),
    (("robots",), {"page", "304", "sitemap", "robots", "usage file"}),
    (ALL, set(PAGES)),
)


@pytest.mark.parametrize(("words", "expected"), ROWS)
def test_setting_selects_the_archived_responses(
    tmp_path: Path, words: tuple[str, ...], expected: set[str]
) -> None:
    archive_pages(tmp_path, *PAGES.values(), records=words)
    (file,) = files(tmp_path / "warc")
    check([str(file)])
    _, *found = records(file)
    urls = {headers["WARC-Target-URI"] for headers, _ in found}
    assert urls == {PAGES[name].visit.url for name in expected}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((), {"response"}),
        (("request",), {"response", "request"}),
        (("metadata",), {"response", "metadata"}),
        (ALL, {"response", "request", "metadata"}),
    ],
)
def test_setting_selects_the_records_of_each_response(
    tmp_path: Path, words: tuple[str, ...], expected: set[str]
) -> None:
    (event, _) = archive_pages(tmp_path, visited(1), visited(2), records=words)
    (file,) = files(tmp_path / "warc")
    check([str(file)])
    kinds = Counter(headers["WARC-Type"] for headers, _ in records(file))
    assert kinds == Counter({"warcinfo": 1, **dict.fromkeys(expected, 2)})
    assert event.record_type == "response"


def test_page_that_is_not_archived_is_not_published(tmp_path: Path) -> None:
    events = archive_pages(tmp_path, visited(1), visited(2, status=404), records=())
    assert [event.url for event in events] == [page(1).visit.url]


@pytest.mark.parametrize(("name", "value"), [("records", ["links"]), ("compression", "lz4")])
def test_unknown_word_is_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(BadSettings, match=rf"archive\.{name}"):
        load_settings(overrides={"archive": {name: value}})


def test_warcinfo_has_the_definition_of_the_crawl_and_its_identity(tmp_path: Path) -> None:
    headers = (("User-Agent", "gossamer/0.1 (+me@example.org)"), ("From", "me@example.org"))
    crawl = Crawl(tmp_path)
    defined = CrawlDefined(
        at=NOW, scope='domain("a.test")', max_depth=3, revisit="fixed:1d", purposes=("archive",)
    )
    crawl.log.append([encode(defined)])
    crawl.work()
    crawl.take(page(1, request_headers=headers))
    crawl.end()
    (info, block), *others = records(only_file(tmp_path / "warc"))
    assert block.decode().splitlines()[3:] == [
        "robots: obey",
        "operator: me@example.org",
        "isPartOf: default",
        "http-header-user-agent: gossamer/0.1 (+me@example.org)",
        "http-header-from: me@example.org",
        'scope: domain("a.test")',
        "maxDepth: 3",
        "externalLinks: deep",
        "revisit: fixed:1d",
        "purposes: archive",
        "usageDisallowed: do not fetch",
        "usageUnknown: fetch",
    ]
    assert {one["WARC-Warcinfo-ID"] for one, _ in others} == {info["WARC-Record-ID"]}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, ["http/1.1"]),
        ({"http_version": "1.0"}, ["http/1.0"]),
        ({"http_version": "7.3"}, []),
        (
            {"tls_version": "tls/1.3", "cipher_suite": "TLS_AES_256_GCM_SHA384"},
            ["http/1.1", "tls/1.3", "TLS_AES_256_GCM_SHA384"],
        ),
        ({"tls_version": "tls/1.2"}, ["http/1.1", "tls/1.2"]),
    ],
)
def test_records_have_protocols_and_cipher_suite(
    tmp_path: Path, fields: dict[str, Any], expected: list[str]
) -> None:
    archive_pages(tmp_path, page(1, **fields))
    _, *found = records(only_file(tmp_path / "warc"))
    names = {"WARC-Protocol", "WARC-Cipher-Suite"}
    for headers, _ in found:
        assert [value for name, value in headers.items() if name in names] == expected
    assert len(found) == 3


def test_status_line_is_read_again(tmp_path: Path) -> None:
    """Servers state any status of three digits, and any version."""
    archive_pages(tmp_path, page(1, status=0, http_version="2"))
    _, (_, block), *_ = records(only_file(tmp_path / "warc"))
    assert block.startswith(b"HTTP/1.1 000 OK\r\n")


def test_dns_record_of_each_host_and_address_of_a_file(tmp_path: Path) -> None:
    host = "http://site1.example"
    pages = (
        page(1, host=host),
        page(4, host=host),
        page(7, host=host, address="[2001:db8::7]"),
        page(10, host=host, address=""),
        page(2, host="http://192.0.2.7", visit=Visit("1.2.0", "http://192.0.2.7/")),
    )
    archive_pages(tmp_path, *pages, records=("dns",))
    (file,) = files(tmp_path / "warc")
    check([str(file)])
    found = [
        (headers["WARC-Target-URI"], headers["Content-Type"], block)
        for headers, block in records(file, WarcRecordType.resource)
    ]
    assert found == [
        ("dns:site1.example", "text/dns", b"20231114221321\nsite1.example.\t\tIN\tA\t192.0.2.7\n"),
        (
            "dns:site1.example",
            "text/dns",
            b"20231114221327\nsite1.example.\t\tIN\tAAAA\t2001:db8::7\n",
        ),
    ]


def test_next_file_has_its_own_dns_record(tmp_path: Path) -> None:
    for number in (1, 4):
        archive_pages(tmp_path, page(number, host="http://site1.example"), records=("dns",))
    found = [len(records(file, WarcRecordType.resource)) for file in files(tmp_path / "warc")]
    assert found == [1, 1]


LONG = b"<p>" + b"word " * 1000


def coded(
    number: int, coding: str, body: bytes, *more: tuple[str, str], **fields: Any
) -> PageFetched:
    headers = (("Content-Type", "text/html"), ("Content-Encoding", coding), *more)
    return page(number, body, headers=headers, **fields)


@pytest.mark.slow
@pytest.mark.parametrize("coding", ["br", ""])
def test_records_of_every_kind_are_read_by_other_tools(tmp_path: Path, coding: str) -> None:
    """webrecorder/warcio#38, #74, #95; internetarchive/heritrix3#769; apache/stormcrawler#828:
    digests with transfer and content codings, octets in heads, HTTP/2. warcio fails at Brotli."""
    fetched = [
        coded(1, "gzip", gzip.compress(LONG), ("Transfer-Encoding", "gzip, chunked")),
        coded(2, "gzip", gzip.compress(LONG)[:50], truncated="length"),
        coded(3, "gzip", b"plain"),
        coded(4, "gzip", b""),
        coded(5, "deflate", zlib.compress(LONG)),
        coded(6, "deflate", zlib.compress(LONG)[2:-4]),
        coded(7, "zstd", zstd.compress(LONG)),
        coded(8, "gzip, gzip", gzip.compress(gzip.compress(LONG))),
        page(9, headers=(("Set-Cookie", "a=Ω"), ("X-A", "\xe9\xff"), ("Location", "/日"))),
        page(10, reason="Artículo no encontrado", status=404),
        page(11, headers=(("X A", "b"), ("", "x"), ("X-B", ""), ("X-C", "a\r\nb: c"))),
        page(12, http_version="2", reason="", status=999),
        page(13, http_version="1.0", headers=(("Transfer-Encoding", "chunked"),)),
    ]
    if coding == "br":
        fetched.append(coded(14, "br", brotli.compress(LONG)))
    archive_pages(tmp_path, *fetched)
    paths = [str(path) for path in files(tmp_path / "warc")]
    run_tool("fastwarc", "check", *paths)
    assert len(run_tool("cdxj-indexer", *paths).splitlines()) == len(fetched)
    index = run_tool("warcio", "index", "-f", "warc-type,http:status", *paths)
    assert index.count('"response"') == len(fetched)
    if coding != "br":
        check(paths)
