"""Records as other writers write them: each is read, or counted by its kind. None becomes a page
that is not the document at its URL."""

import bz2
import gzip
import hashlib
import lzma
import zlib
from base64 import b32encode, b64encode
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile

import pytest
from backports import zstd

from gossamer.events import Purpose
from gossamer.events.hazards import Hazard
from gossamer.inspection.crawls.crawl import open_crawl
from tests.console.gossamer import Gossamer
from tests.console.test_import import HOME, OLD, TEXT, Found, make_importer, read, write
from tests.console.test_import import Record as Written

GZIP_WITH_EXTRA = b"\x1f\x8b\x08\x04" + bytes(6)
DATE, LATER = "2019-05-06T07:08:09Z", "2020-05-06T07:08:09Z"
AT, LATER_AT = 1557126489.0, 1588748889.0
OTHER_TEXT = b"<title>Sent</title><p>Your message was sent."

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gzip": gzip.compress,
    "zstd": zstd.compress,
}


def http(body: bytes = TEXT, status: str = "200 OK", *headers: str, end: str = "\r\n") -> bytes:
    """Return an HTTP response."""
    lines = [f"HTTP/1.1 {status}", "Content-Type: text/html", *headers]
    return (end.join(lines) + end * 2).encode() + body


def record(
    kind: str, block: bytes, *fields: str, url: str = OLD, date: str = DATE,
    version: str = "1.0", end: str = "\r\n",
) -> bytes:  # fmt: skip
    """Return a record of WARC with the lines *fields*."""
    lines = [f"WARC/{version}", f"WARC-Type: {kind}", f"WARC-Target-URI: {url}"]
    lines += [f"WARC-Date: {date}", *fields, f"Content-Length: {len(block)}"]
    return (end.join(lines) + end * 2).encode() + block + end.encode() * 2


def sha1(data: bytes, written: Callable[[bytes], str] = lambda one: b32encode(one).decode()) -> str:
    return "sha1:" + written(hashlib.sha1(data, usedforsecurity=False).digest())


class Result(Found):
    """The pages, problems and counts of an import of one file with *records*."""

    def __init__(self, *records: bytes, packed: bool = True) -> None:
        with TemporaryDirectory() as folder:
            file = Path(folder, "others.warc.gz")
            file.write_bytes(b"".join(map(gzip.compress, records) if packed else records))
            super().__init__(file)


def request(method: str, *fields: str, date: str = DATE) -> bytes:
    block = f"{method} /old HTTP/1.1\r\nHost: a.test\r\n\r\n".encode()
    return record("request", block, *fields, date=date)


def response_id(*fields: str, body: bytes = OTHER_TEXT, status: str = "200 OK") -> bytes:
    return record("response", http(body, status), "WARC-Record-ID: <urn:a>", *fields)


JOINED: dict[str, Callable[[str], tuple[bytes, ...]]] = {
    "request names response, after it": lambda method: (
        response_id(),
        request(method, "WARC-Record-ID: <urn:b>", "WARC-Concurrent-To: <urn:a>"),
    ),
    "request names response, before it": lambda method: (
        request(method, "WARC-Record-ID: <urn:b>", "WARC-Concurrent-To: <urn:a>"),
        response_id(),
    ),
    "response names request": lambda method: (
        request(method, "WARC-Record-ID: <urn:b>"),
        response_id("WARC-Concurrent-To: <urn:c>", "WARC-Concurrent-To: <urn:b>"),
    ),
    "equal URL and date": lambda method: (request(method), response_id()),
}


@pytest.mark.parametrize("joined", JOINED)
@pytest.mark.parametrize("packed", [True, False])
def test_only_the_response_to_a_get_is_a_page(joined: str, packed: bool) -> None:
    """webrecorder/pywb#988, webrecorder/archiveweb.page#242: the answer to a form took the place of
    the page."""
    for method in ("POST", "PUT", "HEAD", "OPTIONS", "QUERY", "M-SEARCH"):
        result = Result(*JOINED[joined](method), packed=packed)
        assert (result.bodies, result.problems) == ([], [])
        assert result.left_out == {"response to a request that is not a GET": 1}
    assert Result(*JOINED[joined]("GET"), packed=packed).bodies == [OTHER_TEXT]


@pytest.mark.parametrize("date", [DATE, "2019-05-06T07:08:09.000Z", "20190506070809"])
@pytest.mark.parametrize("url", [OLD, f"<{OLD}>", "http://A.test:80/old#top"])
def test_urls_and_dates_of_a_request_may_be_spelled_in_another_way(date: str, url: str) -> None:
    """Writers of a request and its response in one file, without WARC-Concurrent-To."""
    posted = request("POST", date=date).replace(OLD.encode(), url.encode())
    assert Result(posted, response_id()).bodies == []
    elsewhere = request("POST", date=date).replace(OLD.encode(), HOME.encode())
    assert Result(elsewhere, response_id()).bodies == [OTHER_TEXT]


@pytest.mark.parametrize("between", [" ", ", ", ",", "\r\n "])
@pytest.mark.parametrize("ids", [("<urn:c>", "<urn:a>"), ("urn:c", "urn:a")])
def test_ids_of_several_records_may_be_in_one_field(between: str, ids: tuple[str, ...]) -> None:
    """WARC 1.1, 5.7, has a field for each: the answer to a form became a page."""
    posted = request("POST", f"WARC-Concurrent-To: {between.join(ids)}")
    result = Result(response_id(), posted)
    assert result.left_out == {"response to a request that is not a GET": 1}


@pytest.mark.parametrize("named", ["urn:a", "<URN:A>", "<urn:a> "])
def test_ids_of_records_are_compared_without_brackets(named: str) -> None:
    """WARC 1.1, 4, and its errata disagree about the brackets. URN are case-insensitive."""
    posted = request("POST", f"WARC-Concurrent-To: {named}")
    assert Result(response_id(), posted).bodies == []


def test_responses_to_a_get_and_a_post_in_one_second_are_told_apart() -> None:
    """The kind of webrecorder/pywb#988: the page is not lost with the answer to its form."""
    result = Result(
        record("response", http(), "WARC-Record-ID: <urn:1>"),
        request("GET", "WARC-Concurrent-To: <urn:1>"),
        response_id(),
        request("POST", "WARC-Concurrent-To: <urn:a>"),
    )
    assert result.bodies == [TEXT]


def test_part_of_a_document_is_not_a_page() -> None:
    """The kind of webrecorder/pywb#988: the answer to a request for a range."""
    part = http(TEXT[:20], "206 Partial Content", "Content-Range: bytes 0-19/60")
    again = record("revisit", part, f"WARC-Payload-Digest: {sha1(TEXT[:20])}", date=LATER)
    result = Result(record("response", part), again)
    assert (result.pages, result.problems) == ([], [])
    assert result.left_out == {"part of a document (206)": 2}


@pytest.mark.parametrize("end", ["\r\n", "\n"])
@pytest.mark.parametrize(
    "block", [b"", http(b"", "206 Partial Content", "Content-Range: {}")], ids=["no block", "head"]
)
def test_206_with_the_whole_document_is_the_document(end: str, block: bytes) -> None:
    """RFC 9110, 15.3.7.3: browsers ask for videos and PDF files with `Range: bytes=0-`."""
    whole = f"content-range: bytes 0-{len(TEXT) - 1}/{len(TEXT)}"
    part = http(TEXT, "206 Partial Content", whole, end=end)
    again = block.replace(b"Content-Range: {}", whole.encode())
    result = Result(
        record("response", part, DIGEST),
        record("revisit", again, IDENTICAL, DIGEST, url=HOME, date=LATER),
    )
    assert (result.left_out, result.problems) == ({}, [])
    found = [(page.visit.url, page.status, page.body, page.headers) for page in result.pages]
    headers = (("Content-Type", "text/html"),)
    assert found == [(OLD, 200, TEXT, headers), (HOME, 200, TEXT, headers)]
    assert [page.visit.purpose for page in result.pages] == [Purpose.PAGE] * 2


@pytest.mark.parametrize(
    "ranges",
    [
        (f"bytes 0-{len(TEXT) - 1}/*",),
        (f"bytes 0-{len(TEXT) - 1}/{len(TEXT) + 1}",),
        (f"bytes 1-{len(TEXT)}/{len(TEXT) + 1}",),
        (f"bytes 0-{len(TEXT)}/{len(TEXT) + 1}",),
        (f"lines 0-{len(TEXT) - 1}/{len(TEXT)}",),
        (f"bytes 0-{len(TEXT) - 1}/{len(TEXT)}", "bytes 0-9/10"),
        (),
    ],
)
def test_206_that_does_not_prove_to_be_whole_is_a_part(ranges: tuple[str, ...]) -> None:
    """RFC 9110, 14.4: an unknown length, another unit, or fewer bytes than it says."""
    fields = (f"Content-Range: {one}" for one in ranges)
    part = http(TEXT, "206 Partial Content", *fields)
    result = Result(record("response", part))
    assert (result.pages, result.problems) == ([], [])
    assert result.left_out == {"part of a document (206)": 1}


@pytest.mark.parametrize("end", ["\r\n", "\n"])
@pytest.mark.parametrize(
    "interim", ["100 Continue", "103 Early Hints", "102 Processing", "199 Unknown"]
)
def test_interim_responses_are_before_the_response(interim: str, end: str) -> None:
    """iipc/warc-specifications#55: the page was lost, and its status was 103."""
    first = http(b"", interim, "Link: </style.css>; rel=preload", end=end)
    whole = http(end=end)
    for block in (first + whole, first * 3 + whole):
        for digest in ((), (f"WARC-Payload-Digest: {sha1(block.partition(end.encode() * 2)[2])}",)):
            (page,) = Result(record("response", block, *digest)).pages
            assert (page.status, page.body) == (200, TEXT)
            assert len(page.headers) == 1
    assert Result(record("response", first)).left_out == {
        "response without a final status (1xx)": 1
    }


TUNNELS = ["200 Connection established", "200 Connection Established", "200 Tunnel established",
           "200 OK\r\nProxy-Agent: a/1"]  # fmt: skip


@pytest.mark.parametrize("tunnel", TUNNELS)
def test_answer_of_a_proxy_is_before_the_response(tunnel: str) -> None:
    """The kind of iipc/warc-specifications#55: writers behind a proxy that opens tunnels, such as
    libcurl's. The page began with the head of the response."""
    answer = f"HTTP/1.1 {tunnel}\r\n\r\n".encode()
    for between in (b"", http(b"", "100 Continue")):
        tunnelled = between + http(TEXT, "203 Fine")
        for digest in ((), (DIGEST,), (f"WARC-Payload-Digest: {sha1(tunnelled)}",)):
            result = Result(record("response", answer + tunnelled, *digest))
            (page,) = result.pages
            assert (page.status, page.body) == (203, TEXT)
            assert page.headers == (("Content-Type", "text/html"),)
            assert (result.problems, result.doubts) == ([], {})
    part = record("response", answer + http(TEXT[:20], "206 Partial Content"))
    assert Result(part).left_out == {"part of a document (206)": 1}


@pytest.mark.parametrize("first", ["100 Continue", TUNNELS[0]])
@pytest.mark.parametrize("status", ["304 Not Modified", "206 Partial Content"])
def test_revisit_record_does_not_get_the_body_of_a_later_status(status: str, first: str) -> None:
    """The status behind an interim response says that the record has no document."""
    block = f"HTTP/1.1 {first}\r\n\r\n".encode() + http(TEXT[:9], status, 'ETag: "1"')
    part = record("response", block, "WARC-Record-ID: <urn:a>")
    again = record("revisit", b"", IDENTICAL, REFERS_TO, date=LATER)
    result = Result(part, again)
    assert [page.status for page in result.pages] == [304] * (status > "300")
    assert result.problems == [
        f"others.warc.gz at byte {len(gzip.compress(part))}: "
        "the body of the revisit record is in none of the files"
    ]


@pytest.mark.parametrize("tunnel", TUNNELS)
def test_answer_of_a_proxy_alone_is_not_a_page(tunnel: str) -> None:
    result = Result(record("response", f"HTTP/1.1 {tunnel}\r\n\r\n".encode()))
    assert result.pages == []
    assert result.left_out == {"response to a request that is not a GET": 1}


@pytest.mark.parametrize("status", ["000", "099", "20", "2000"])
def test_response_with_an_impossible_status_is_not_a_page(status: str) -> None:
    """Writers give requests without an answer the status 000, such as curl."""
    result = Result(record("response", http(TEXT, f"{status} Unknown")))
    assert result.pages == []
    assert "the record has no HTTP response" in result.problems[0]


@pytest.mark.parametrize(("method", "number"), [("GET", 1), ("POST", 0), ("", 0)])
def test_request_behind_the_one_to_a_proxy_counts(method: str, number: int) -> None:
    block = b"CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\n"
    block += f"{method} /old HTTP/1.1\r\n\r\n".encode() if method else b""
    asked = record("request", block, "WARC-Concurrent-To: <urn:a>")
    assert len(Result(response_id(), asked).pages) == number


def test_document_that_begins_like_a_response_is_a_document() -> None:
    """A text about HTTP."""
    text = http(TEXT)
    assert Result(record("response", http(text))).bodies == [text]


@pytest.mark.parametrize("version", ["0.17", "0.18", "1.0", "1.1", "1.2"])
@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize(
    "ends",
    [("\r\n", "\r\n"), ("\n", "\r\n"), ("\r\n", "\n"), ("\n", "\n"), ("\r\r\n", "\r\r\n")],
)
def test_every_version_and_line_end_is_read(
    version: str, packed: bool, ends: tuple[str, str]
) -> None:
    """iipc/jwarc#25, #26; webrecorder/warcio#131, #157; chfoo/warcat#19;
    `missing-status-text.warc` of webrecorder/pywb (lines end with CR CR LF); the sample
    IAH-20080430204825 (WARC/0.17) and ClueWeb09 (WARC/0.18)."""
    one, other = (
        record("response", http(body, end=ends[1]), version=version, end=ends[0], url=url)
        for url, body in ((OLD, TEXT), (HOME, b"one\n\ntwo\r\n\r\n"))
    )
    info = record("warcinfo", b"software: another\n", version=version, end=ends[0])
    result = Result(info, one, other, packed=packed)
    assert result.problems == []
    assert [(page.visit.url, page.body) for page in result.pages] == [
        (OLD, TEXT),
        (HOME, b"one\n\ntwo\r\n\r\n"),
    ]


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("field", ["WARC-Target-URI", "Content-Length", "WARC-Type", "WARC-Date"])
def test_folded_fields_are_read(field: str, packed: bool) -> None:
    """WARC 1.1, 4: a field may be continued in a line that begins with white space."""
    for fold in ("\r\n ", "\r\n\t\t", "\n "):
        one, other = (
            record("response", http(), "X-A: b\r\n content-length: 7", url=url).replace(
                f"{field}: ".encode(), f"{field}:{fold}".encode()
            )
            for url in (OLD, HOME)
        )
        result = Result(one, b"garbage\r\n" * (not packed), other, packed=packed)
        assert result.urls == [OLD, HOME]
    named = request("POST", "WARC-Concurrent-To:\r\n <urn:a>")
    assert Result(response_id(), named, packed=packed).bodies == []


@pytest.mark.parametrize("version", ["WARC/1.0 ", "WARC/1.1\t", "WARC/1.0"])
@pytest.mark.parametrize("name", ["warc-type", "WaRc-Type", "X-First: 1\r\nWARC-Type"])
def test_record_behind_garbage_is_found_by_any_first_field(version: str, name: str) -> None:
    """The kind of iipc/jwarc#26: names of fields are case-insensitive, and their order is free."""
    one, other = (
        record("response", http(), url=url)
        .replace(b"WARC/1.0", version.encode())
        .replace(b"WARC-Type", name.encode())
        for url in (OLD, HOME)
    )
    result = Result(one, b"garbage\r\n", other, packed=False)
    assert result.urls == [OLD, HOME]
    assert len(result.problems) == 1


@pytest.mark.parametrize(
    "written",
    [lambda one: b32encode(one).decode(), bytes.hex, lambda one: b64encode(one).decode()],
)
@pytest.mark.parametrize("again", [lambda one: b32encode(one).decode().lower(), bytes.hex])
@pytest.mark.parametrize("name", ["sha1", "SHA-1"])
def test_digests_in_base_16_and_32_are_equal(
    written: Callable[[bytes], str], again: Callable[[bytes], str], name: str
) -> None:
    """WARC 1.1, 5.8 and 5.9, leaves the spelling to the writer. Files mix both."""
    first = record("response", http(), f"WARC-Payload-Digest: {sha1(TEXT, written)}")
    digest = sha1(TEXT, again).replace("sha1", name)
    revisit = record("revisit", http(b""), f"WARC-Payload-Digest: {digest}", url=HOME, date=LATER)
    assert Result(first, revisit).bodies == [TEXT, TEXT]


CHUNKS = b"%x\r\n%s\r\n0\r\n\r\n" % (len(TEXT), TEXT)
ZIPPED = gzip.compress(TEXT, mtime=0)


@pytest.mark.parametrize(
    ("codings", "stored"),
    [
        (("chunked, chunked",), CHUNKS),
        (("chunked", "Chunked"), CHUNKS),
        (("identity, chunked",), CHUNKS),
        (("chunked",), CHUNKS.replace(b"\r\n", b"\n")),
        (("gzip, chunked",), b"%x\r\n%s\r\n0\r\n\r\n" % (len(ZIPPED), ZIPPED)),
        (("gzip",), ZIPPED),
        (("none",), TEXT),
        (("binary",), TEXT),
        (("utf-8",), TEXT),
    ],
)
def test_transfer_coding_of_any_server_is_removed(codings: tuple[str, ...], stored: bytes) -> None:
    """The kind of RFC 9112, 6.1: servers send the field twice, or a word that is not a coding, and
    some writers keep the field of a coding that they have removed."""
    fields = [f"Transfer-Encoding: {one}" for one in codings]
    for body in (stored, TEXT):
        result = Result(record("response", http(body, "200 OK", *fields)))
        assert (result.bodies, result.problems) == ([TEXT], [])


CUT_BODY = "the body is shorter than its Content-Length or its chunks say"


@pytest.mark.parametrize("end", ["\r\n", "\n"])
@pytest.mark.parametrize(
    ("body", "field"),
    [
        (TEXT, f"Content-Length: {len(TEXT) + 1}"),
        (CHUNKS[:-5], "Transfer-Encoding: chunked"),
        (CHUNKS[:-25], "Transfer-Encoding: chunked"),
        (ZIPPED[:-9], "Transfer-Encoding: gzip"),
    ],
)
def test_body_whose_end_is_missing_is_marked(body: bytes, field: str, end: str) -> None:
    """ukwa/webarchive-discovery#212; RFC 9112, 8: the connection was closed. The page was as good
    as a whole one."""
    first = record("response", http(body, "200 OK", field, end=end), "WARC-Record-ID: <urn:a>")
    again = [record("revisit", block, REFERS_TO, date=LATER) for block in (b"", http(b""))]
    for more in again:
        result = Result(first, more)
        assert [page.truncated for page in result.pages] == ["disconnect"] * 2
        assert (result.problems, result.doubts) == ([], {CUT_BODY: 2})
    said = first.replace(b"WARC-Record-ID", b"WARC-Truncated: time\r\nWARC-Record-ID")
    result = Result(said)
    assert [page.truncated for page in result.pages] == ["time"]
    assert result.doubts == {}


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        (TEXT, (f"Content-Length: {len(TEXT)}",)),
        (TEXT, ("Content-Length: 9",)),
        (TEXT, ("Content-Length: many",)),
        (TEXT, ("Content-Length: 9999", "Content-Encoding: gzip")),
        # internetarchive/warctools#15: Common Crawl removes the coding and keeps the headers.
        (TEXT, ("Content-Encoding: gzip", "Content-Length: 10")),
        (CHUNKS, ("Content-Length: 9999", "Transfer-Encoding: chunked")),
        (TEXT, ("Content-Length: 9999", "Transfer-Encoding: chunked")),
    ],
)
def test_body_whose_coding_was_removed_is_whole(body: bytes, fields: tuple[str, ...]) -> None:
    (page,) = Result(record("response", http(body, "200 OK", *fields))).pages
    assert (page.body, page.truncated) == (TEXT, "")


@pytest.mark.parametrize("block", [b"", http(b"")], ids=["no block", "head"])
def test_revisit_record_of_a_whole_body_is_whole(block: bytes) -> None:
    """wget and Heritrix: its WARC-Truncated says that the record has no body."""
    again = record("revisit", block, IDENTICAL, DIGEST, "WARC-Truncated: length", date=LATER)
    result = Result(record("response", http(), DIGEST), again)
    assert [(page.body, page.truncated) for page in result.pages] == [(TEXT, "")] * 2


def test_head_of_a_document_is_not_a_page() -> None:
    """The answer to a HEAD whose request was not recorded was an empty page."""
    length = "Content-Length: 4217"
    result = Result(record("response", http(b"", "200 OK", length)))
    assert (result.pages, result.problems) == ([], [])
    assert result.left_out == {"response whose body was not recorded": 1}
    for whole in (
        http(b"", "301 Moved", length),
        http(b"", "200 OK", "Content-Length: 0"),
        http(b""),
    ):
        (page,) = Result(record("response", whole)).pages
        assert (page.body, page.truncated) == (b"", "")


@pytest.mark.parametrize("text", [b"0\n", b"1\n2\n3\n", b"add\nsubtract\n", b"a\nb\n0\n"])
def test_text_that_begins_with_a_number_is_not_a_chunk(text: bytes) -> None:
    block = http(text, "200 OK", "Transfer-Encoding: chunked")
    assert Result(record("response", block)).bodies == [text]


@pytest.mark.parametrize(
    "head", [b"302 Found\r\nLocation: /new\r\n", b"302 Found\nLocation: /new", b"302 Found\r\n"]
)
def test_head_without_a_blank_line_is_a_response_without_a_body(head: bytes) -> None:
    """webrecorder/warcio reads them: the record ends behind the last header."""
    block = b"HTTP/1.1 " + head
    (page,) = Result(record("response", block)).pages
    assert (page.status, page.body) == (302, b"")
    again = record("revisit", http().partition(b"\r\n\r\n")[0], IDENTICAL, DIGEST, date=LATER)
    assert Result(record("response", http(), DIGEST), again).bodies == [TEXT, TEXT]
    for wrong in (block.rstrip() + b"\r\n<p>Text", b"HTTP/1.1 200 OK\rA: b\r\r" + TEXT):
        problems = Result(record("response", wrong)).problems
        assert "no HTTP response" in problems[0]


def test_response_record_of_a_document_alone_is_the_document() -> None:
    """The kind of `resource` records: the Content-Type of the record says that it has no head."""
    result = Result(record("response", TEXT, "Content-Type: text/html; charset=utf-8"))
    (page,) = result.pages
    assert (page.status, page.body, page.headers) == (
        200,
        TEXT,
        (("Content-Type", "text/html; charset=utf-8"),),
    )
    message = http(), "Content-Type: application/http; msgtype=response"
    assert Result(record("resource", *message)).bodies == [TEXT]
    for more in ((), ("Content-Type: application/http; msgtype=response",)):
        assert "no HTTP response" in Result(record("response", TEXT, *more)).problems[0]


def test_blank_line_before_a_status_line_is_skipped() -> None:
    """A connection that is kept has a line behind the response before (RFC 9112, 2.2)."""
    for block in (b"\r\n" + http(), http(b"", "100 Continue") + b"\r\n" + http()):
        (page,) = Result(record("response", block)).pages
        assert (page.status, page.body) == (200, TEXT)


REFERENCE = (f"WARC-Refers-To-Target-URI: {OLD}", f"WARC-Refers-To-Date: {DATE}")
IDENTICAL = "WARC-Profile: http://netpreserve.org/warc/1.0/revisit/identical-payload-digest"
NOT_MODIFIED = "WARC-Profile: http://netpreserve.org/warc/1.0/revisit/server-not-modified"
DIGEST = f"WARC-Payload-Digest: {sha1(TEXT)}"


@pytest.mark.parametrize("stored", [(), (DIGEST,)], ids=["no digest", "digest"])
@pytest.mark.parametrize(
    "fields", [(IDENTICAL, *REFERENCE), (IDENTICAL, *REFERENCE, DIGEST), REFERENCE]
)
@pytest.mark.parametrize("block", [http(b""), b""], ids=["head", "no block"])
def test_revisit_record_is_resolved_by_url_and_date(
    stored: tuple[str, ...], fields: tuple[str, ...], block: bytes
) -> None:
    """webrecorder/pywb#88, and Save Page Now: no digest, or no block."""
    first = record("response", http(TEXT, "200 Fine", "X-A: b"), *stored)
    other = record("response", http(OTHER_TEXT), date="2019-06-01T00:00:00Z")
    again = record("revisit", block, *fields, url=HOME, date=LATER)
    result = Result(first, other, again)
    assert result.problems == []
    page = result.pages[-1]
    assert (page.visit.url, page.started_at, page.body) == (HOME, LATER_AT, TEXT)
    assert (page.status, page.reason) == (200, "OK" if block else "Fine")


REFERS_TO = "WARC-Refers-To: <urn:a>"


@pytest.mark.parametrize("kind", ["response", "resource"])
@pytest.mark.parametrize("block", [http(b""), b""], ids=["head", "no block"])
@pytest.mark.parametrize("stored", [(), (DIGEST,)], ids=["no digest", "digest"])
@pytest.mark.parametrize(
    "fields",
    [
        (IDENTICAL, REFERS_TO),
        (REFERS_TO.replace("<urn:a>", "urn:a"), DIGEST),
        (NOT_MODIFIED, REFERS_TO),
        (DIGEST, REFERENCE[0]),
    ],
)
def test_revisit_record_is_resolved_by_the_id_of_its_response(
    kind: str, block: bytes, stored: tuple[str, ...], fields: tuple[str, ...]
) -> None:
    """WARC 1.1, 5.11: WARC-Refers-To, which WARC 1.0 has alone. The response may have no digest."""
    body = http() if kind == "response" else TEXT
    whole = record(kind, body, "WARC-Record-ID: <urn:a>", *stored)
    result = Result(whole, record("revisit", block, *fields, url=HOME, date=LATER))
    assert (result.bodies, result.problems) == ([TEXT, TEXT], [])


@pytest.mark.parametrize(
    "fields", [("WARC-Refers-To: <urn:2>",), (REFERENCE[0], "WARC-Refers-To-Date: 2019-07-01")]
)
@pytest.mark.parametrize("block", [http(b""), b""], ids=["head", "no block"])
@pytest.mark.parametrize("profile", [IDENTICAL, NOT_MODIFIED])
def test_revisit_record_may_refer_to_another_one(
    fields: tuple[str, ...], block: bytes, profile: str
) -> None:
    """WARC 1.1, 6.7, names any record: writers refer to the newest one of the URL."""
    first = record("response", http(), "WARC-Record-ID: <urn:1>", url=HOME)
    again = record(
        "revisit", block, IDENTICAL, "WARC-Refers-To: <urn:1>", "WARC-Record-ID: <urn:2>",
        date="2019-07-01",
    )  # fmt: skip
    result = Result(first, again, record("revisit", block, profile, *fields, date=LATER))
    assert (result.bodies, result.problems) == ([TEXT] * 3, [])


def test_304_is_the_newest_version_before() -> None:
    """The version before was a revisit record, so the page got the body before that one."""
    moved = record("response", http(OTHER_TEXT), "WARC-Record-ID: <urn:1>", url=HOME)
    again = record("revisit", http(b""), "WARC-Refers-To: <urn:1>", date="2019-07-01")
    not_modified = record("revisit", http(b"", "304 Not Modified"), NOT_MODIFIED, date=LATER)
    result = Result(record("response", http()), moved, again, not_modified)
    assert (result.bodies, result.problems) == ([TEXT, *[OTHER_TEXT] * 3], [])


def test_revisit_record_of_an_empty_body_is_whole() -> None:
    """A redirect: the digest says that no body is missing."""
    moved = http(b"", "302 Found", "Location: /new")
    again = record("revisit", moved, IDENTICAL, EMPTY_DIGEST, *REFERENCE)
    result = Result(again)
    assert ([page.status for page in result.pages], result.problems) == ([302], [])
    assert result.bodies == [b""]


def test_revisit_record_without_a_reference_is_the_version_before_with_its_digest() -> None:
    again = record("revisit", http(b""), IDENTICAL, DIGEST, date=LATER)
    for body, number in ((TEXT, 2), (OTHER_TEXT, 1)):
        result = Result(record("response", http(body)), again)
        assert (len(result.pages), len(result.problems)) == (number, 2 - number)


@pytest.mark.parametrize("known", [True, False])
def test_revisit_record_may_have_its_body(known: bool) -> None:
    """WARC 1.0, 6.7.2: a writer may keep the whole block. The page was left out if the earlier
    record is in none of the files."""
    first = [record("response", http(TEXT, "200 Fine"), DIGEST)] * known
    for body, number in ((TEXT, 1), (TEXT[:-9], 0)):
        again = record("revisit", http(body, "200 Same"), IDENTICAL, DIGEST, date=LATER)
        result = Result(*first, again)
        assert result.bodies == [TEXT] * (known + (number or known))
        assert len(result.problems) == (not known and not number)


def test_revisit_record_never_gets_another_body() -> None:
    """The kind of webrecorder/pywb#88: the version that it refers to has another digest."""
    first = record("response", http(OTHER_TEXT))
    again = record("revisit", http(b""), IDENTICAL, DIGEST, *REFERENCE, date=LATER)
    unknown = record("revisit", http(b""), IDENTICAL, date=LATER)
    result = Result(first, again, unknown)
    assert result.bodies == [OTHER_TEXT]
    assert [problem.partition(": ")[2] for problem in result.problems] == [
        " does not have the body of ",
        "the body of the revisit record is in none of the files",
    ]


@pytest.mark.parametrize(
    ("block", "fields"),
    [
        (http(b""), (NOT_MODIFIED,)),
        (http(b""), (NOT_MODIFIED, *REFERENCE)),
        (http(b"", "304 Not Modified"), (NOT_MODIFIED,)),
        (http(b"", "304 Not Modified"), ()),
        (b"", (NOT_MODIFIED,)),
    ],
)
def test_304_without_validators_is_the_version_before(
    block: bytes, fields: tuple[str, ...]
) -> None:
    """xroche/httrack#778: the profile says that nothing has changed, and the status is 200."""
    older = record("response", http(OTHER_TEXT), date="2018-01-01T00:00:00Z")
    again = record("revisit", block, *fields, date=LATER)
    newer = record("response", http(OTHER_TEXT), date="2021-01-01T00:00:00Z")
    result = Result(older, record("response", http()), newer, again)
    assert result.problems == []
    page = result.pages[-1]
    assert (page.status, page.body, page.started_at) == (200, TEXT, LATER_AT)
    assert not page.visit.conditional


EMPTY_DIGEST = f"WARC-Payload-Digest: {sha1(b'')}"


@pytest.mark.parametrize("block", [b"", http(b"", "304 Not Modified")], ids=["no block", "head"])
@pytest.mark.parametrize("fields", [(), REFERENCE])
def test_unchanged_page_does_not_become_an_empty_redirect(
    block: bytes, fields: tuple[str, ...]
) -> None:
    """iipc/openwayback#224, internetarchive/heritrix3#118: the digest is that of the empty 304, and
    a redirect of another URL has it, too."""
    moved = http(b"", "302 Found", "Location: /elsewhere")
    elsewhere = record("response", moved, EMPTY_DIGEST, url=HOME, date="2018-01-01T00:00:00Z")
    again = record("revisit", block, NOT_MODIFIED, EMPTY_DIGEST, *fields, date=LATER)
    result = Result(elsewhere, record("response", http(), DIGEST), again)
    assert result.problems == []
    assert (result.pages[-1].status, result.pages[-1].body) == (200, TEXT)


def test_empty_revisit_record_does_not_get_the_head_of_another_url() -> None:
    """The kind of iipc/openwayback#224: two redirects without a body, and no block."""
    records = [
        record("response", http(b"", "302 Found", f"Location: {to}"), EMPTY_DIGEST, url=url)
        for url, to in ((HOME, "/elsewhere"), (OLD, "/new"))
    ]
    again = record("revisit", b"", IDENTICAL, EMPTY_DIGEST, *REFERENCE, date=LATER)
    unknown = record("revisit", b"", IDENTICAL, EMPTY_DIGEST, date=LATER)
    result = Result(*records, again, unknown)
    assert result.pages[-1].headers[-1] == ("Location", "/new")
    assert len(result.pages) == 3
    assert "in none of the files" in result.problems[0]


@pytest.mark.parametrize("fields", [(IDENTICAL, DIGEST), (IDENTICAL, *REFERENCE)])
def test_revisit_record_may_be_before_its_response(tmp_path: Path, fields: tuple[str, ...]) -> None:
    """`netpreserve-twitter.warc` of webrecorder/replayweb.page: records in the order in which they
    ended."""
    again = record("revisit", http(b""), *fields, url=HOME, date=LATER)
    result = Result(again, record("response", http(), DIGEST))
    assert (sorted(page.visit.url for page in result.pages), result.problems) == ([HOME, OLD], [])
    (tmp_path / "second.warc").write_bytes(record("response", http(), DIGEST))
    (tmp_path / "first.warc").write_bytes(again)
    importer = make_importer()
    assert len(read(importer, tmp_path / "first.warc", tmp_path / "second.warc")) == 2
    assert importer.problems == []


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "flipped bytes": lambda data: data[:40] + bytes(one ^ 0x5A for one in data[40:60]) + data[60:],
    "missing end": lambda data: data[:-30],
    "missing beginning": lambda data: data[30:],
    "zeros in place of it": lambda data: bytes(len(data)),
    "false beginnings": lambda data: (b"\x1f\x8b\x08" + b"WARC/1.0\n") * 20,
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("container", PACKERS)
def test_records_behind_a_damaged_one_are_read(damage: str, container: str) -> None:
    """The kind of iipc/jwarc#26: one record that cannot be read hides the others."""
    pack = PACKERS[container]
    urls = [f"{HOME}{number}" for number in range(5)]
    records = [pack(record("response", http(url.encode() * 9), url=url)) for url in urls]
    for number in (1, 3):
        records[number] = DAMAGES[damage](records[number])
    result = Result(b"".join(records), packed=False)
    found = result.urls
    assert {urls[0], urls[2], urls[4]} <= {*found}
    assert len(result.problems) in (1, 2)


BEGINNINGS: dict[str, Callable[[bytes], bytes]] = {
    "missing": lambda data: data[30:],
    "a part": lambda data: data[-9:],
    "zeros": lambda data: bytes(len(data) - 1) + data[-1:],
    "flipped bytes": lambda data: data[:20] + bytes(one ^ 0x5A for one in data[20:60]) + data[60:],
    "other bytes before it": lambda data: b"% Total\r\n" + data[9:],
    "byte order mark": lambda data: b"\xef\xbb\xbf" + data[3:],
}


@pytest.mark.parametrize("beginning", BEGINNINGS)
@pytest.mark.parametrize("container", [*PACKERS, "arc"])
@pytest.mark.parametrize("in_wacz", [True, False])
def test_records_behind_a_damaged_beginning_are_read(
    tmp_path: Path, container: str, beginning: str, in_wacz: bool
) -> None:
    """The kind of iipc/jwarc#26: the damage was in the first record, so that the file was refused,
    or in a WACZ file skipped without a word."""
    block = http(hashlib.sha512(b"a").digest() * 900)
    records = [record("response", block, url=f"{HOME}{number}") for number in range(3)]
    if container == "arc":
        pages = [(f"{HOME}{number}", block) for number in range(3)]
        first, *rest = arc(1, *pages, packed=False).partition(pages[1][0].encode())
    else:
        first, *rest = map(PACKERS[container], records)
    data = BEGINNINGS[beginning](first) + b"".join(rest)
    path = tmp_path / ("a.arc" if container == "arc" else "a.warc.gz")
    path.write_bytes(data)
    if in_wacz:
        with ZipFile(tmp_path / "a.wacz", "w") as packed:
            packed.write(path, f"archive/{path.name}")
            packed.writestr("archive/._a.warc.gz", b"\0\5\x16\7")
            packed.writestr("indexes/a.warc.gz.cdxj", b"test,a)/ 2019 {}")
            packed.writestr("archive/b.warc", record("response", http()))
        path = tmp_path / "a.wacz"
    importer = make_importer()
    found = [page.visit.url for page in read(importer, path)]
    assert {f"{HOME}1", f"{HOME}2"} <= {*found}
    assert (OLD in found) is in_wacz
    # Flipped bytes may be in the type of a plain record.
    (found_out,) = [*importer.problems, *importer.left_out]
    assert "is damaged from byte 0 to" in found_out or "unknown type" in found_out


@pytest.mark.parametrize("container", PACKERS)
@pytest.mark.parametrize("kept", [1, 9, 60, -1])
def test_records_before_a_cut_end_are_read(container: str, kept: int) -> None:
    """The writer was killed within its last record."""
    pack = PACKERS[container]
    urls = [f"{HOME}{number}" for number in range(3)]
    *whole, last = [pack(record("response", http(), url=url).rstrip()) for url in urls]
    complete = b"".join(one + b"\r\n" * (pack is bytes) for one in whole)
    result = Result(complete, last[:kept], packed=False)
    assert result.urls == urls[:2]
    (problem,) = result.problems
    found, _, lost = problem.partition(", ")
    assert found == f"others.warc.gz is damaged from byte {len(complete)} on"
    assert lost in ("", f"in the response record of {urls[2]}")
    # A zstd frame gives the bytes of whole blocks only.
    assert lost or kept > 0 or container == "zstd"


@pytest.mark.parametrize("kind", ["request", "response"])
@pytest.mark.parametrize("container", [*PACKERS, "arc"])
def test_record_that_is_cut_or_damaged_is_named(container: str, kind: str) -> None:
    """The writer was killed, or a download ended: which page is missing?"""
    block = http(b"".join(hashlib.sha512(b"%d" % number).digest() for number in range(3000)))
    made = [record(kind, block, url=f"{HOME}{number}") for number in range(3)]
    if container == "arc":
        pages = [(f"{HOME}{number}", block) for number in range(3)]
        made, kind = [arc(1, *pages, packed=False)], "response"
    whole = b"".join(map(PACKERS.get(container, bytes), made))
    result = Result(whole[:-30], packed=False)
    (problem,) = result.problems
    assert problem.endswith(f" on, in the {kind} record of {HOME}2")
    assert len(result.pages) == (2 if kind == "response" else 0)


@pytest.mark.parametrize("size", [10, 100_000])
@pytest.mark.parametrize("kind", ["warc", "arc"])
@pytest.mark.parametrize("packer", ["gzip", "zstd"])
def test_file_that_is_compressed_as_a_whole_is_read(packer: str, kind: str, size: int) -> None:
    """webrecorder/warcio: `example-bad-non-chunked.warc.gz`. All records were lost."""
    pages = [(OLD, http(b"a" * size)), (HOME, http(b"b" * size))]
    plain = b"".join(record("response", block, url=url) for url, block in pages)
    if kind == "arc":
        plain = arc(1, *pages, packed=False)
    result = Result(PACKERS[packer](plain), packed=False)
    found = [(page.visit.url, page.body) for page in result.pages]
    assert found == [(OLD, b"a" * size), (HOME, b"b" * size)]
    assert (result.problems, result.examples) == (
        [],
        {"records are not compressed one by one": "others.warc.gz"},
    )
    assert result.doubts == {"records are not compressed one by one": 1}


def test_damage_in_a_file_that_is_compressed_as_a_whole_hides_nothing() -> None:
    """The kind of `example-bad-non-chunked.warc.gz`: all was lost without a word if the record
    behind the first one was damaged."""
    info, other = record("warcinfo", b"a: b\r\n"), record("response", http(), url=HOME)
    for broken in BROKEN.values():
        result = Result(gzip.compress(info + broken + b"\r\n" + other), packed=False)
        assert result.urls[-1:] == [HOME]
        assert result.doubts["records are not compressed one by one"] == 1


def test_end_of_a_file_that_is_compressed_as_a_whole_is_cut() -> None:
    """The kind of `example-bad-non-chunked.warc.gz`: the records before the cut are there."""
    bodies = [hashlib.sha512(bytes([number])).digest() * 900 for number in range(9)]
    plain = b"".join(record("response", http(one), url=HOME + one[:4].hex()) for one in bodies)
    packed = gzip.compress(plain)
    result = Result(packed[: len(packed) * 2 // 3], packed=False)
    found = result.bodies
    assert found and found == bodies[: len(found)]
    assert "is damaged from byte" in result.problems[0]


@pytest.mark.parametrize("container", PACKERS)
@pytest.mark.parametrize("more", [-210, -1, 1, 2, 4, 5, 7, 9])
def test_wrong_content_length_hides_no_other_record(container: str, more: int) -> None:
    """iipc/jwarc#29 (wget), webrecorder/warcio.js#18 and N0taN3rd/Squidwarc#32 (node-warc),
    machawk1/warcreate#122, internetarchive/archive-commons#2: it is a few bytes too small, counts
    characters, or counts the lines behind the content."""
    block = http(b"x" * 999)
    wrong = record("response", block, url=HOME)
    said = f"Content-Length: {len(block)}".encode()
    wrong = wrong.replace(said, f"Content-Length: {len(block) + more}".encode())
    made = [record("response", http(), url=OLD), wrong, record("response", http(), date=LATER)]
    result = Result(b"".join(PACKERS[container](one) for one in made), packed=False)
    found = result.urls
    assert found.count(OLD) == 2
    assert "records are not compressed one by one" not in result.doubts
    # The lines behind the content may be counted; their number is not certain.
    assert (result.problems or result.doubts) or 0 < more <= 4


@pytest.mark.parametrize("size", [100, 700, 66_000])
@pytest.mark.parametrize("packer", ["gzip", "zstd"])
def test_record_in_several_members_is_read(packer: str, size: int) -> None:
    """iipc/warc-specifications#118 (frames of one record), and bgzip (members of equal size)."""
    bodies = [hashlib.sha512(bytes([number])).digest() * 2000 for number in range(3)]
    plain = b"".join(record("response", http(one), url=HOME + one[:4].hex()) for one in bodies)
    pack = PACKERS[packer]
    parts = [pack(plain[at : at + size]) for at in range(0, len(plain), size)]
    skippable = b"\x5e\x2a\x4d\x18\4\0\0\0abcd" if packer == "zstd" else b""
    result = Result(skippable.join(parts), packed=False)
    assert result.bodies == bodies
    assert result.problems == []
    assert result.doubts == {"records are not compressed one by one": 1}


BROKEN = {
    "version": b"WARC/1.0",
    "no fields": b"WARC/1.0\r\n",
    "cut in a field": b"WARC/1.0\r\nWARC-Record-ID: <urn:uuid:51",
    "cut behind a field": b"WARC/1.0\r\nWARC-Type: response\r\nContent-Length: 3\r\n",
    "cut before its content": record("response", b"abc")[:-7],
    "cut in its content": record("response", b"abc")[:-5],
    "no length": record("response", b"abc").replace(b"Content-Length", b"X-Length"),
    "length of 5,000 digits": record("response", b"abc").replace(
        b"Content-Length: ", b"Content-Length: " + b"9" * 5000
    ),
    "no type": record("response", http()).replace(b"WARC-Type", b"X-Type"),
    "no url": record("response", http()).replace(b"WARC-Target-URI", b"X-Target-URI"),
    "text": b"hello",
    "invalid ARC date": f"{OLD} 192.0.2.7 201309081810480000 text/html 4\nabcd".encode(),
}


@pytest.mark.parametrize("container", PACKERS)
@pytest.mark.parametrize("name", BROKEN)
def test_no_broken_record_is_lost_silently(name: str, container: str) -> None:
    """webrecorder/warcio#127, #138, #203; internetarchive/warctools#17: each tool skipped some of
    these without a word."""
    pack = PACKERS[container]
    broken = pack(BROKEN[name])
    whole = [pack(record("response", http(), url=url)) for url in (OLD, HOME)]
    result = Result(whole[0], broken, whole[1], packed=False)
    assert result.urls == [OLD, HOME]
    # In a plain file, these are lines before the next record.
    is_nothing = container == "plain" and name in ("no fields", "cut in a field")
    assert result.problems or result.left_out or is_nothing


def test_zstd_file_whose_dictionary_is_elsewhere_is_refused_with_the_reason() -> None:
    """iipc/warc-specifications#53: a dictionary outside of the file is lost easily."""
    made = [record("response", http(), url=f"{HOME}{number}") for number in range(300)]
    dictionary = zstd.train_dict(made, 2000)
    result = Result(
        b"".join(zstd.compress(one, zstd_dict=dictionary) for one in made), packed=False
    )
    assert result.pages == []
    assert result.problems == [
        "others.warc.gz: its records need a dictionary, which is not in the file"
    ]


@pytest.mark.parametrize(
    ("written", "url"),
    [
        (b"http://a.test/tag/\xc0\xa4\xb8", "http://a.test/tag/%C0%A4%B8"),
        (b"http://a.test/caf\xe9?q=\xfc", "http://a.test/caf%E9?q=%FC"),
        ("http://a.test/é/日".encode(), "http://a.test/%C3%A9/%E6%97%A5"),
        (b"http://a.test/a b", "http://a.test/a%20b"),
        (b"http://a.test/?a=,,,;b", "http://a.test/?a=,,,;b"),
    ],
)
def test_octets_of_a_url_are_kept(written: bytes, url: str) -> None:
    """iipc/jwarc#84, #86 (ClueWeb09), webrecorder/warcio.js#105: octets that are not UTF-8 became
    U+FFFD, which is another URL. A reference to a URL in UTF-8 was not found."""
    first = record("response", http()).replace(OLD.encode(), written)
    reference = b"WARC-Refers-To-Target-URI: " + written
    again = record("revisit", b"", IDENTICAL, "X: 1", f"WARC-Refers-To-Date: {DATE}", url=HOME)
    result = Result(first, again.replace(b"X: 1", reference).replace(b"2019", b"2020", 1))
    assert result.problems == []
    assert result.urls == [url, HOME]


@pytest.mark.parametrize(
    ("line", "status", "reason"),
    [
        ("HTTP/1.1 302 ", 302, ""),
        ("HTTP/1.1 302", 302, ""),
        ("HTTP/1.1 200OK", 200, "OK"),
        ("http/1.0  404  Not Found here", 404, "Not Found here"),
        ("HTTP/2 200 ", 200, ""),
        ("HTTP/1.1 404 Artículo no encontrado", 404, "Artículo no encontrado"),
        ("HTTP 200 Document follows", 200, "Document follows"),
    ],
)
def test_status_line_is_read_as_the_fetcher_reads_it(line: str, status: int, reason: str) -> None:
    """webrecorder/pywb#533, chfoo/warcat#19, chatnoir-eu/chatnoir-resiliparse#3,
    apache/stormcrawler#828, webrecorder/warcio#95; webrecorder/warcio#141: NCSA 1.5 in an ARC
    file, whose head became the beginning of its page."""
    head = f"{line}\r\nA: b\r\n\r\n".encode("latin-1")
    for data in (record("response", head + TEXT), arc(1, (OLD, head + TEXT), packed=False)):
        (page,) = Result(data).pages
        assert (page.status, page.reason, page.body) == (status, reason, TEXT)


@pytest.mark.parametrize(
    "lines",
    [
        "P3P : CP=x",
        "X-A: a\x01b",
        "Set-Cookie: ³ÒÚÍ=%96; path=/",
        "garbage line",
        "Power by: x",
        "X-A: a\r\n b",
        ": x",
        "X-Ä: ö",
    ],
)
def test_malformed_header_hides_nothing(lines: str) -> None:
    """iipc/jwarc#25, #50; webrecorder/warcio#104, #128."""
    (page,) = Result(record("response", http(TEXT, "200 OK", lines, "X-B: c"))).pages
    assert page.body == TEXT
    assert {("Content-Type", "text/html"), ("X-B", "c")} <= {*page.headers}


def test_head_of_a_revisit_record_is_its_own() -> None:
    """webrecorder/pywb#751: a redirect with an equal body leads elsewhere."""
    moved = http(TEXT, "301 Moved Permanently", "Location: /a")
    again = http(b"", "302 Found", "Location: /b")
    result = Result(record("response", moved, DIGEST), record("revisit", again, DIGEST, date=LATER))
    assert [(page.status, page.headers[-1][1], page.body) for page in result.pages] == [
        (301, "/a", TEXT),
        (302, "/b", TEXT),
    ]


def test_revisit_record_of_a_form_is_left_out() -> None:
    """webrecorder/pywb#762: the request of a revisit record is a POST."""
    again = record("revisit", http(b""), DIGEST, "WARC-Record-ID: <urn:2>", date=LATER)
    posted = request("POST", "WARC-Concurrent-To: <urn:2>", date=LATER)
    result = Result(record("response", http(), DIGEST), again, posted)
    assert (result.bodies, result.problems) == ([TEXT], [])
    assert result.left_out == {"response to a request that is not a GET": 1}


def test_resource_record_without_a_type_is_sniffed() -> None:
    """webrecorder/warcio.js#22: WARC 1.1, 5.6, does not require Content-Type."""
    (page,) = Result(record("resource", TEXT)).pages
    assert (page.headers, page.visit.purpose) == ((), Purpose.PAGE)


def test_answer_of_a_proxy_to_connect_is_left_out() -> None:
    """webrecorder/cdxj-indexer#20: the URL of the record is a host and a port."""
    result = Result(record("response", http(b""), url="a.test:443"))
    assert (result.pages, result.problems) == ([], [])
    assert result.left_out == {"record of a URL that is not http or https": 1}


def test_signature_behind_the_records_is_not_damage() -> None:
    """ikreymer/pywb-webrecorder#11: an empty gzip member, whose extra field is the signature."""
    extra = b"sg\x04\0abcd"
    head = GZIP_WITH_EXTRA + len(extra).to_bytes(2, "little") + extra
    empty = head + zlib.compress(b"", wbits=-15) + bytes(8)
    first = gzip.compress(record("response", http()))
    result = Result(first, empty, packed=False)
    assert (result.bodies, result.problems) == ([TEXT], [])
    assert result.doubts == {}


@pytest.mark.parametrize("ends", [b"\r\n", b"\n", b"\r\n\r\n"])
def test_empty_lines_between_compressed_records_are_no_damage(ends: bytes) -> None:
    """Files that were joined or uploaded as text."""
    packed = [gzip.compress(record("response", http(), url=url)) for url in (OLD, HOME)]
    result = Result(*(one + ends for one in packed), packed=False)
    assert (result.urls, result.problems) == ([OLD, HOME], [])
    lines = gzip.compress(ends)
    result = Result(packed[0], lines, packed[1], lines, packed=False)
    assert (result.urls, result.problems) == ([OLD, HOME], [])
    garbage = Result(packed[0], b"\r\ngarbage", packed[1], b"garbage", packed=False)
    assert (garbage.urls, len(garbage.problems)) == ([OLD, HOME], 2)


@pytest.mark.parametrize("more", [b"", gzip.compress(b"", mtime=0)], ids=["alone", "empty member"])
def test_file_that_was_compressed_again_is_read(more: bytes) -> None:
    """A server compressed the file while it sent it. An empty member may be the first one."""
    once = more + gzip.compress(record("response", http()))
    for data in (once, gzip.compress(once)):
        result = Result(data, packed=False)
        assert (result.bodies, result.problems) == ([TEXT], [])


def test_damaged_dictionary_is_a_problem_of_its_file() -> None:
    """The import ended with a traceback, so that the files behind it were lost."""
    content = b"\x37\xa4\x30\xec" + bytes(60)
    head = b"\x5d\x2a\x4d\x18" + len(content).to_bytes(4, "little") + content
    result = Result(head + zstd.compress(record("response", http())), packed=False)
    assert result.problems == ["others.warc.gz: the dictionary of the file is damaged"]


def test_zstd_file_with_a_dictionary_may_be_compressed_as_a_whole() -> None:
    made = [record("response", http(), url=f"{HOME}{number}") for number in range(300)]
    dictionary = zstd.train_dict(made, 2000)
    content = dictionary.dict_content
    head = b"\x5d\x2a\x4d\x18" + len(content).to_bytes(4, "little") + content
    data = head + zstd.compress(b"".join(made[:3]), zstd_dict=dictionary)
    result = Result(data, packed=False)
    assert (result.bodies, result.problems) == ([TEXT] * 3, [])


def with_dictionary(*records: bytes, samples: str) -> bytes:
    """Return *records* in frames with a dictionary of *samples*, behind the dictionary."""
    made = [record("response", http(), url=f"{samples}{number}") for number in range(300)]
    dictionary = zstd.train_dict(made, 2000)
    content = dictionary.dict_content
    head = b"\x5d\x2a\x4d\x18" + len(content).to_bytes(4, "little") + content
    return head + b"".join(zstd.compress(one, zstd_dict=dictionary) for one in records)


@pytest.mark.parametrize("container", [*PACKERS, "equal", "another", "damaged"])
@pytest.mark.parametrize("behind", [True, False])
def test_files_with_dictionaries_may_be_joined(container: str, behind: bool) -> None:
    """ArchiveTeam joins the files of its writers, each with its dictionary. The records behind the
    second one were lost, and its samples became pages behind a plain file."""
    records = [record("response", http(url.encode()), url=url) for url in (OLD, HOME)]
    file = with_dictionary(*records, samples="http://b.test/")
    more = record("response", http(), url=f"{HOME}more")
    other = {
        "equal": with_dictionary(more, samples="http://b.test/"),
        "another": with_dictionary(more, samples="http://dictionary.test/c/"),
        "damaged": b"\x5d\x2a\x4d\x18" + bytes([60, 0, 0, 0, 0x37, 0xA4, 0x30, 0xEC]) + bytes(56),
    }
    if container in PACKERS:
        other[container] = PACKERS[container](more)
    parts = (file, other[container]) if behind else (other[container], file)
    result = Result(*parts, packed=False)
    if container == "damaged":
        assert result.urls == [OLD, HOME] * behind
        assert bool(result.problems) is not behind
        return
    expected = [OLD, HOME, f"{HOME}more"] if behind else [f"{HOME}more", OLD, HOME]
    assert (result.urls, result.problems) == (expected, [])


@pytest.mark.parametrize(
    ("data", "name", "command"),
    [
        (bz2.compress(record("response", http())), "bzip2", "bunzip2"),
        (lzma.compress(record("response", http())), "xz", "unxz"),
        (b"\x04\x22\x4d\x18\x40\x70\xdf", "LZ4", "lz4 -d"),
    ],
)
def test_compression_that_is_not_read_is_named(
    tmp_path: Path, data: bytes, name: str, command: str
) -> None:
    """`warcfile.warc.lz4` of chatnoir-eu/chatnoir-resiliparse: not a WARC file, it said."""
    (tmp_path / "a.warc.packed").write_bytes(data)
    importer = make_importer()
    read(importer, tmp_path / "a.warc.packed")
    assert importer.problems == [
        f"a.warc.packed: it is compressed with {name}, which is not read: use {command} first"
    ]


def test_byte_behind_a_compressed_record_is_counted() -> None:
    """apache/stormcrawler#652: the file could be read up to the first record."""
    first = gzip.compress(record("response", http()) + b"\0")
    other = gzip.compress(record("response", http(OTHER_TEXT), url=HOME))
    result = Result(first, other, packed=False)
    assert (result.bodies, result.problems) == ([TEXT, OTHER_TEXT], [])
    (doubt,) = result.doubts
    assert doubt.startswith("the Content-Length is too small")


def test_plain_and_compressed_files_may_be_joined() -> None:
    """`cat a.warc b.warc.gz c.warc.zst`, in every order."""
    urls = [f"{HOME}{number}" for number in range(6)]
    made = [record("response", http(url.encode()), url=url) for url in urls]
    pack = (bytes, gzip.compress, zstd.compress)
    for order in {*permutations((0, 0, 1, 1, 2, 2))}:
        packed = [pack[kind](one) for kind, one in zip(order, made, strict=True)]
        result = Result(b"".join(packed), packed=False)
        assert result.urls == urls
        assert (result.problems, result.doubts) == ([], {})


@pytest.mark.parametrize("first", [*PACKERS, "arc", "arc.gz"])
@pytest.mark.parametrize("second", [*PACKERS, "arc", "arc.gz"])
def test_files_of_two_tools_may_be_joined(first: str, second: str) -> None:
    """`cat`: the second file was lost if one of them was a plain ARC file."""
    parts = [
        arc(1, (url, http()), packed=kind == "arc.gz")
        if kind.startswith("arc")
        else PACKERS[kind](record("response", http(), url=url))
        for kind, url in ((first, OLD), (second, HOME))
    ]
    result = Result(*parts, packed=False)
    assert result.urls == [OLD, HOME]
    assert (result.problems, result.doubts) == ([], {})


@pytest.mark.parametrize("block", [http(b"", "304 Not Modified"), b""])
def test_validators_of_a_304_may_be_fields_of_the_record(block: bytes) -> None:
    """Heritrix: WARC-Etag and WARC-Last-Modified."""
    again = record("revisit", block, NOT_MODIFIED, 'WARC-Etag: "7"')
    (page,) = Result(again).pages
    assert (page.status, page.visit.conditions) == (304, (("If-None-Match", '"7"'),))


def test_wrong_block_digest_beside_a_right_payload_digest_is_counted() -> None:
    """webrecorder/warcio.js#91: Webrecorder changes heads, and not their digest."""
    wrong = f"WARC-Block-Digest: {sha1(b'')}"
    first = record("response", http(), wrong, DIGEST)
    again = record("revisit", http(b""), wrong, DIGEST, url=HOME, date=LATER)
    result = Result(first, again)
    assert (result.bodies, result.problems) == ([TEXT, TEXT], [])
    (number,) = result.doubts.values()
    assert number == 2


@pytest.mark.parametrize("name", ["WARC-Block-Digest", "WARC-Payload-Digest"])
@pytest.mark.parametrize(
    "value", [sha1(b"x"), "sha1:", "sha1:x", "sha256:" + "A" * 44, sha1(zlib.compress(TEXT))]
)
@pytest.mark.parametrize("kind", ["response", "resource"])
def test_wrong_digest_is_no_damage(name: str, value: str, kind: str) -> None:
    """Writers digest a decoded body, or leave the value out. A gzip member has a
    checksum of its own."""
    fields = [f"{name}: {value}", *(("Content-Type: text/html",) * (kind == "resource"))]
    block = http() if kind == "response" else TEXT
    for more in ((), (f"WARC-Block-Digest: {sha1(b'y')}",)):
        result = Result(record(kind, block, *fields, *more))
        assert (result.bodies, result.problems) == ([TEXT], [])
        assert result.doubts == {"every digest of the record is wrong": 1}


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("write_case", [str.lower, str.upper])
def test_record_in_letters_of_one_case_is_read(
    packed: bool, write_case: Callable[[str], str]
) -> None:
    """`valid-warcfile-upper-lower-case.warc` of netarchivesuite/jwat: by the grammar of WARC, names
    and the version have no case. The records were damage."""
    head, _, block = record("response", http(), DIGEST).partition(b"\r\n\r\n")
    other = write_case(head.decode()).encode() + b"\r\n\r\n" + block
    result = Result(other, record("response", http(), url=HOME), other, packed=packed)
    assert [url.lower() for url in result.urls] == [OLD, HOME]
    assert (result.problems, result.doubts) == ([], {})
    cut = Result(other[:-20], other, packed=False)
    assert (len(cut.urls), len(cut.problems)) == (1, 1)


@pytest.mark.parametrize("algorithm", ["md5", "sha1", "sha256", "sha512"])
def test_digest_in_base_64_is_compared(algorithm: str) -> None:
    """`valid-warcrecorddigests-1.warc` of openpreserve/jhove: every digest was wrong, it said."""
    digests = [
        b64encode(hashlib.new(algorithm, one).digest()).decode() for one in (http(), TEXT, b"x")
    ]
    block, payload, wrong = [f"{algorithm}:{digest}" for digest in digests]
    fields = (f"WARC-Block-Digest: {block}", f"WARC-Payload-Digest: {payload}")
    assert Result(record("response", http(), *fields)).doubts == {}
    fields = (f"WARC-Block-Digest: {wrong}", f"WARC-Payload-Digest: {wrong}")
    result = Result(record("response", http(), *fields))
    assert result.doubts == {"every digest of the record is wrong": 1}


@pytest.mark.parametrize("digested", [http(), OTHER_TEXT])
def test_wrong_payload_digest_beside_a_right_block_digest_is_no_damage(digested: bytes) -> None:
    """ClueWeb09 digests the whole block as payload; other writers, a decoded body."""
    fields = (
        f"WARC-Payload-Digest: {sha1(digested)}",
        f"WARC-Block-Digest: {sha1(http())}",
    )
    result = Result(record("response", http(), *fields))
    assert (result.bodies, result.problems) == ([TEXT], [])
    assert len(result.doubts) == (digested == OTHER_TEXT)


@pytest.mark.parametrize("block", [b"", b"GET", b"\x16\x03\x01", b"GET /"])
def test_unreadable_request_does_not_hide_its_response(block: bytes) -> None:
    """`missing-http.warc.gz` of webrecorder/cdxj-indexer: a request without a block."""
    fields = ("WARC-Record-ID: <urn:b>", "WARC-Concurrent-To: <urn:a>")
    result = Result(response_id(), record("request", block, *fields))
    assert result.bodies == [OTHER_TEXT]


def test_resource_record_is_the_document_with_its_type() -> None:
    """webrecorder/webrecorder-player#96, netarchivesuite/solrwayback#192: warcit, Perma."""
    fields = ("Content-Type: text/html", f"WARC-Payload-Digest: {sha1(TEXT)}")
    result = Result(
        record("resource", TEXT, *fields),
        record("resource", b"\x89PNG\r\n", "Content-Type: image/png", url=HOME),
        record("revisit", b"", IDENTICAL, DIGEST, url=HOME, date=LATER),
    )
    assert result.problems == []
    assert [page.visit.purpose for page in result.pages] == [
        Purpose.PAGE,
        Purpose.REQUISITE,
        Purpose.PAGE,
    ]
    assert result.bodies == [TEXT, b"\x89PNG\r\n", TEXT]
    assert (result.pages[0].status, result.pages[0].headers) == (
        200,
        (("Content-Type", "text/html"),),
    )


def test_records_that_are_not_documents_are_counted_by_kind() -> None:
    """internetarchive/heritrix3 (whois), Scoop (file:///), Common Crawl (WET)."""
    result = Result(
        record("conversion", TEXT, "Content-Type: text/plain"),
        record("resource", TEXT, url="ftp://a.test/old"),
        record("response", TEXT, url="gemini://a.test/old"),
        record("response", http(), "WARC-Segment-Number: 1"),
        record("continuation", TEXT, "WARC-Segment-Number: 2"),
        record("screenshot", TEXT),
        record("metadata", TEXT),
    )
    assert (result.pages, result.problems) == ([], [])
    assert result.left_out == {
        "conversion record": 1,
        "record of a URL that is not http or https": 2,
        "segment of a record whose other segments are missing": 2,
        "record of an unknown type": 1,
    }
    assert result.examples["record of a URL that is not http or https"].startswith("ftp:")


def segments(block: bytes, *sizes: int, kind: str = "response", total: int = 0) -> list[bytes]:
    """Return a record of *block* in segments of *sizes*, and the rest in another one."""
    starts = [sum(sizes[:number]) for number in range(len(sizes) + 1)]
    parts = [block[at:end] for at, end in zip(starts, [*starts[1:], len(block)], strict=True)]
    first = record(kind, parts[0], "WARC-Segment-Number: 1", "WARC-Record-ID: <urn:s>", DIGEST)
    origin = "WARC-Segment-Origin-ID: <urn:S>"
    length = f"WARC-Segment-Total-Length: {total or len(block)}"
    found = [
        record(
            "continuation", part, origin, f"WARC-Segment-Number: {number}",
            f"WARC-Block-Digest: {sha1(part)}", *([length] if number > len(sizes) else []),
        )
        for number, part in enumerate(parts[1:], 2)
    ]  # fmt: skip
    return [first, *found]


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("sizes", [(9,), (40, 30), (120,), (1, 1, 1, 1)])
def test_segments_of_a_record_are_joined(
    tmp_path: Path, sizes: tuple[int, ...], packed: bool
) -> None:
    """WARC 1.1, 7: the segments may be in several files, and in any order."""
    parts = segments(http(), *sizes)
    other = record("response", http(OTHER_TEXT), url=HOME)
    again = record("revisit", b"", IDENTICAL, DIGEST, date=LATER)
    for order in (parts, parts[::-1], [*parts, *parts]):
        result = Result(again, order[0], other, *order[1:], packed=packed)
        assert result.bodies == [OTHER_TEXT, TEXT, TEXT]
        assert (result.problems, result.left_out, result.doubts) == ([], {}, {})
    paths = [tmp_path / f"{number}.warc" for number in range(len(parts))]
    for path, part in zip(paths, parts, strict=True):
        path.write_bytes(part)
    (page,) = read(make_importer(), *paths)
    assert (page.visit.url, page.body, page.started_at) == (OLD, TEXT, AT)


def test_record_without_all_its_segments_is_not_a_page() -> None:
    """The kind of a cut body: half of a page, which says that it is whole."""
    parts = segments(http(), 90, 20)
    for missing in range(3):
        some = [part for number, part in enumerate(parts) if number != missing]
        result = Result(*some)
        assert (result.pages, result.problems) == ([], [])
        assert list(result.left_out.values()) == [2]
        assert list(result.examples.values()) == [OLD]
    for wrong in (segments(http(), 90, total=7), segments(http(), 90)[:1], parts[:-1] + parts[:1]):
        assert Result(*wrong).pages == []
    for field in (b"WARC-Segment-Number: 2", b"WARC-Segment-Origin-ID: <urn:S>"):
        wrong = [part.replace(field, field[:-1] + b"x") for part in parts]
        assert sum(Result(*wrong).left_out.values()) == 3
    asked = segments(b"GET /old HTTP/1.1\r\n\r\n", 9, kind="request")
    assert Result(*asked).left_out == {}


def test_file_with_metadata_only_is_counted() -> None:
    """Common Crawl (WAT): nothing was said."""
    info = record("warcinfo", b"software: another\r\n")
    manifest = "metadata://gnu.org/software/wget/warc/MANIFEST.txt"
    for other in (b"", request("GET"), record("metadata", TEXT, url=manifest)):
        assert Result(info, other).left_out == {}
    result = Result(info, record("metadata", b"{}", "Content-Type: application/json"))
    assert (result.pages, result.left_out) == ([], {"file with metadata records only": 1})
    assert result.examples == {"file with metadata records only": "others.warc.gz"}


def test_request_may_be_in_the_file_before_its_response(tmp_path: Path) -> None:
    """wget --warc-max-size: the answer to a form became a page."""
    paths = [tmp_path / f"{number}.warc" for number in range(2)]
    paths[0].write_bytes(request("POST", "WARC-Record-ID: <urn:b>"))
    paths[1].write_bytes(response_id("WARC-Concurrent-To: <urn:b>"))
    importer = make_importer()
    assert read(importer, *paths) == []
    assert importer.left_out == {"response to a request that is not a GET": 1}


def test_records_about_a_crawl_are_counted_apart() -> None:
    """wget (its log), Heritrix (whois), Scoop (screenshots), Browsertrix and wpull (urn;
    webrecorder/pywb#91), brozzler and UKWA (screenshots and DOM; webrecorder/pywb#42): no server
    has such a document, so that nothing is left out."""
    log = "metadata://gnu.org/software/wget/warc/wget.log"
    result = Result(
        record("resource", TEXT, url=log),
        record("resource", TEXT, url=f"<{log}>"),
        record("response", TEXT, url="whois://whois.test/a"),
        record("response", TEXT, url="dns:a.test"),
        record("resource", TEXT, url="file:///screenshot.html"),
        record("resource", TEXT, url="urn:pageinfo:http://a.test/"),
        record("resource", TEXT, url="screenshot:http://a.test/"),
        record("resource", TEXT, url="onreadydom:http://a.test/"),
        record("resource", TEXT, url="urn:X-wpull:log"),
    )
    assert (result.pages, result.problems, result.left_out) == ([], [], {})
    assert result.skipped == {"record about a crawl": 9}
    assert result.examples["record about a crawl"] == log


@pytest.mark.parametrize(
    ("date", "at"),
    [
        ("2019-05-06T07:08:09+02:00", AT - 7200),
        ("2019-05-06T07:08:09-0700", AT + 25200),
        ("20190506070809", AT),
        ("201905060708", AT - 9),
        ("20190506070809123", AT + 0.123),
        ("2019-05-06t07:08:09z", AT),
        ("Mon, 06 May 2019 07:08:09 GMT", AT),
        ("2019-05-06T07:08:09.123456789Z", AT + 0.123456),
        ("2019-05-06", 1557100800.0),
        ("2019-05", 1556668800.0),
        ("2019", 1546300800.0),
    ],
)
def test_dates_of_other_writers(date: str, at: float) -> None:
    """WARC 1.1, 5.4 (precision), and ClueWeb09 (offsets of time zones)."""
    (page,) = Result(record("response", http(), date=date)).pages
    assert (page.started_at, page.hazards) == (at, ())


def test_invalid_date_is_replaced_by_the_date_header() -> None:
    """ClueWeb09: `2009-03-65T08:43:19-0800`."""
    date = "Date: Mon, 06 May 2019 07:08:09 GMT"
    (page,) = Result(
        record("response", http(TEXT, "200 OK", date), date="2009-03-65T08:43:19-0800")
    ).pages
    assert (page.started_at, page.hazards) == (AT, (Hazard.WRONG_DATE,))
    result = Result(record("response", http(), date="2009-03-65T08:43:19-0800"))
    assert "no valid date" in result.problems[0]


def arc(version: int, *pages: tuple[str, bytes], packed: bool, kind: str = "text/html") -> bytes:
    """Return an ARC file, of version 1 or 2."""
    more = " 200 - - 0 a.arc" if version == 2 else ""
    about = b"%d 0 Example\nURL IP-address Archive-date Content-type Archive-length\n\n" % version
    records = [f"filedesc://a.arc 0.0.0.0 20190506070809 text/plain{more} {len(about)}\n".encode()]
    records[0] += about
    for url, block in pages:
        line = f"{url} 192.0.2.7 20190506070809 {kind}{more} {len(block)}\n"
        records.append(line.encode() + block + b"\n")
    return b"".join(map(gzip.compress, records) if packed else records)


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("version", [1, 2])
def test_arc_files_are_read(tmp_path: Path, version: int, packed: bool) -> None:
    """The sample IAH-20080430204825.arc.gz; webrecorder/warcio: `example-space-in-url.arc`."""
    path = tmp_path / "downloaded file"
    pages = ((OLD, http()), ("dns:a.test", b"a.test. 60 IN A 192.0.2.7"))
    spaced = ("http://a.test/a b", http(OTHER_TEXT, end="\n"))
    path.write_bytes(arc(version, *pages, spaced, packed=packed))
    importer = make_importer()
    found = read(importer, path)
    assert importer.problems == []
    assert [(page.visit.url, page.body) for page in found] == [
        (OLD, TEXT),
        ("http://a.test/a%20b", OTHER_TEXT),
    ]
    assert (found[0].started_at, found[0].address) == (AT, "192.0.2.7")


@pytest.mark.parametrize("packed", [True, False])
def test_part_of_an_arc_file_is_read(packed: bool) -> None:
    """A part of a file that was cut in two has no `filedesc:` record. Older dates have no
    seconds."""
    data = arc(1, (OLD, http()), (HOME, http(OTHER_TEXT)), packed=False)
    data = data[data.index(OLD.encode()) :].replace(b"20190506070809", b"201905060708")
    result = Result(data, packed=packed)
    assert (result.bodies, result.problems) == ([TEXT, OTHER_TEXT], [])
    assert result.pages[0].started_at == AT - 9


@pytest.mark.parametrize("length", [-30, 0, 9, 30])
@pytest.mark.parametrize("garbage", [b"", b"garbage\n", b"<a href='http://a.test/'>\n" * 60_000])
def test_arc_records_behind_damage_are_read(length: int, garbage: bytes) -> None:
    """The kind of iipc/jwarc#26: a wrong length or other bytes hid the rest of the file."""
    urls = [f"{HOME}{number}" for number in range(4)]
    data = arc(1, *((url, http()) for url in urls), packed=False)
    line = f"{urls[1]} 192.0.2.7 20190506070809 text/html ".encode()
    start = data.index(line) + len(line)
    wrong = b"%d" % (len(http()) + length) + data[start:].partition(b"\n")[0].lstrip(b"0123456789")
    end = data.index(b"\n", start)
    after = data.index(urls[2].encode())
    result = Result(data[:start], wrong, data[end:after], garbage, data[after:], packed=False)
    assert {urls[0], urls[3]} <= {*result.urls}
    assert result.problems or result.urls == urls


@pytest.mark.parametrize("length", ["-1", "-", "1e3", "+9", "0x10"])
@pytest.mark.parametrize("packed", [True, False])
def test_arc_record_of_an_invalid_length_is_not_a_page(length: str, packed: bool) -> None:
    """`bad.arc` of webrecorder/warcio: -1 was read as 1, so the page was a letter."""
    for pages in (((OLD, http()), (HOME, http(OTHER_TEXT))), ((OLD, TEXT), (HOME, OTHER_TEXT))):
        whole = arc(1, *pages, packed=False)
        line = b"text/html %d\n" % len(pages[0][1])
        broken = whole.replace(line, f"text/html {length}\n".encode(), 1)
        result = Result(broken, packed=packed)
        assert result.bodies == [OTHER_TEXT]
        assert "is damaged" in result.problems[0]


@pytest.mark.parametrize("packed", [True, False])
def test_arc_record_without_a_head_is_the_document(packed: bool) -> None:
    """iipc/jwarc#96: responses of 2001 that are no more than their body (RFC 1945, 6)."""
    data = arc(1, (OLD, TEXT), (HOME, b""), packed=packed).replace(b"text/html", b"no-type")
    if packed:
        data = arc(1, (OLD, TEXT), (HOME, b""), packed=True)
    result = Result(data, packed=False)
    (page,) = result.pages
    assert (page.visit.url, page.status, page.body) == (OLD, 200, TEXT)
    assert page.headers == ((("Content-Type", "text/html"),) if packed else ())
    assert ["no HTTP response" in problem for problem in result.problems] == [True]


@pytest.mark.parametrize("text", [b"HTTP 404 is a status.\n", b"HTTP 404 Not Found\n\nA: b\n"])
def test_document_about_a_status_has_no_head(text: bytes) -> None:
    (page,) = Result(arc(1, (OLD, text), packed=False)).pages
    assert (page.status, page.body) == (200, text)


SSH = b"SSH-2.0-OpenSSH_4.3\r\nProtocol mismatch.\n"


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize(
    ("url", "block", "kind"),
    [
        ("http://a.test:22/", SSH, "another protocol"),
        ("http://a.test:22/", b"Connection refused\r\n", "port that browsers block"),
        ("http://a.test:25/", b"220 mail.a.test ESMTP\r\n", "port that browsers block"),
        ("http://a.test:2222/", SSH, "another protocol"),
        ("ftp://a.test/a.txt", TEXT, "not http or https"),
        ("dns:a.test", b"20190506070809\na.test. 60 IN A 192.0.2.7\n", "about a crawl"),
    ],
)
def test_answer_that_is_not_http_is_counted_by_kind(
    packed: bool, url: str, block: bytes, kind: str
) -> None:
    """Crawlers follow links to any port: a blocked one was an error of its own for each record, and
    the greeting of an SSH server at another one was a page."""
    of_arc = arc(1, (url, block), (OLD, http()), packed=packed, kind="no-type")
    of_warc = (record("response", block, url=url), record("response", http()))
    for records, is_packed in (((of_arc,), False), (of_warc, packed)):
        result = Result(*records, packed=is_packed)
        assert (result.urls, result.problems) == ([OLD], [])
        ((found, number),) = (result.left_out | result.skipped).items()
        assert kind in found and number == 1
        assert result.examples[found] == url


def test_file_whose_name_has_a_number_sign_is_not_another_document() -> None:
    """webrecorder/pywb#290: warcit did not escape the names of files, so that several files became
    versions of one page. A browser has the fragment of a page in its URL."""
    files = [
        record(
            "resource", text, f"WARC-Source-URI: file://./a%20b/c#{n}.html", url=f"{HOME}c#{n}.html"
        )
        for n, text in enumerate((TEXT, OTHER_TEXT))
    ]
    shown = record("response", http(), url=f"{HOME}c#1.html")
    result = Result(*files, shown)
    assert result.urls == [f"{HOME}c%230.html", f"{HOME}c%231.html", f"{HOME}c"]


@pytest.mark.parametrize(
    "lines", ["WARC-Protocol: h2, tls/1.3", "WARC-Protocol: h2\r\nWARC-Protocol: TLS/1.3"]
)
def test_protocols_may_be_in_one_field(lines: str) -> None:
    """iipc/warc-specifications#42: several fields, or one with commas."""
    (page,) = Result(record("response", http(), lines)).pages
    assert page.tls_version == "tls/1.3"


def test_text_that_begins_like_a_greeting_is_a_document() -> None:
    result = Result(record("resource", SSH, "Content-Type: text/plain"))
    assert result.bodies == [SSH]


@pytest.mark.parametrize("kind", [b"", b"no-type"])
def test_arc_record_without_a_type_has_no_type(kind: bytes) -> None:
    """`alexa_short_header.arc.gz` of internetarchive/warc: the Content-Type was empty, which is
    another statement than none."""
    data = arc(1, (OLD, TEXT), packed=False).replace(b"text/html", kind)
    (page,) = Result(data, packed=False).pages
    assert (page.body, page.headers) == (TEXT, ())


def test_arc_record_with_blanks_in_its_line_is_read() -> None:
    """internetarchive/liveweb#41, internetarchive/warctools#3, webrecorder/warcio#61: blanks in the
    URL or the type."""
    data = arc(1, ("http://a.test/a b?c=WEL 802.02(B)", http()), packed=True)
    line = f"{OLD} 192.0.2.7 20130908181048 08Sep2013 18:10-1:47GMT, text/html {len(http())}\n"
    data += gzip.compress(line.encode() + http())
    result = Result(data, packed=False)
    found = result.urls
    assert (found, result.problems) == (["http://a.test/a%20b?c=WEL%20802.02(B)", OLD], [])


@pytest.mark.parametrize(
    "name", ["a", "a.gz", "a.txt", "a.warc.open", "a.warc?download=1", "a.zip"]
)
def test_bytes_say_what_a_file_is(tmp_path: Path, name: str) -> None:
    """Names of downloaded files are changed, and open files have another suffix."""
    for data in (write(Written(OLD)), write(Written(OLD), packed=False)):
        (tmp_path / name).write_bytes(data)
        assert len(read(make_importer(), tmp_path / name)) == 1


def test_command_names_what_it_leaves_out_and_its_status_says_so(
    tmp_path: Path, gossamer: Gossamer
) -> None:
    """webrecorder/webrecorder-player#96: nothing was said, and the status was 0."""
    file = tmp_path / "others.warc"
    file.write_bytes(
        b"".join(
            (
                record("response", http(), f"WARC-Block-Digest: {sha1(b'')}", DIGEST),
                record("conversion", TEXT),
                record("resource", TEXT, url="metadata://gnu.org/software/wget/warc/wget.log"),
                request("POST", "WARC-Concurrent-To: <urn:a>"),
                response_id(),
            )
        )
    )
    gossamer("seed", HOME)
    gossamer("import", file, status=3)
    with open_crawl(None, gossamer.data) as crawl:
        assert crawl.definition() is not None


def test_command_succeeds_if_only_records_about_a_crawl_are_skipped(
    tmp_path: Path, gossamer: Gossamer
) -> None:
    """Each WARC file of wget has its log, and the status was 3."""
    file = tmp_path / "wget.warc"
    log = record("resource", TEXT, url="metadata://gnu.org/software/wget/warc/wget.log")
    file.write_bytes(record("response", http()) + log)
    gossamer("seed", HOME)
    gossamer("import", file)
    with open_crawl(None, gossamer.data) as crawl:
        assert crawl.definition() is not None


def test_each_capture_of_one_second_is_imported(tmp_path: Path) -> None:
    """wget and Heritrix write dates in seconds, and many pages redirect to themselves for a
    cookie: the archive had the redirect alone."""
    moved = http(b"", "302 Found", f"Location: {OLD}")
    records = (
        record("response", moved),
        record("response", http(), DIGEST),
        record("revisit", http(b""), IDENTICAL, DIGEST),
        record("response", moved),
    )
    again = record("revisit", http(b"", "304 Not Modified"), NOT_MODIFIED, date=LATER)
    result, file = Result(*records, again), tmp_path / "others.warc.gz"
    file.write_bytes(b"".join(map(gzip.compress, (*records, again))))
    found = [(page.status, page.started_at - AT, page.hazards) for page in result.pages[:3]]
    assert [(status, round(after, 6)) for status, after, _ in found] == [
        (302, 0.0),
        (200, 0.000001),
        (200, 0.000002),
    ]
    assert result.bodies[3:] == [TEXT]
    assert not any(page.hazards for page in result.pages)
    at = {(page.visit.url, page.started_at) for page in result.pages}
    importer = make_importer(is_archived=lambda *one: one in at)
    assert read(importer, file) == []
    assert importer.counts["archived"] == 5
    # A file that is given twice is archived once.
    twice = make_importer()
    assert len(read(twice, file, file)) == len(result.pages)
