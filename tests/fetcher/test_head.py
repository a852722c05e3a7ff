"""Heads of responses: odd heads are parsed, ambiguous heads are refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.services.fetcher.head import MAX_LENGTH, Malformed, end_of_head, parse_head

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"


@pytest.mark.parametrize(
    ("lines", "headers"),
    [
        (b"A: 1\r\na:2\r\n", (("A", "1"), ("a", "2"))),
        (b"A : 1\r\n", (("A", "1"),)),
        (b"A: 1\n\tand 2\n", (("A", "1 and 2"),)),
        # Latin-1's white space is not HTTP's: these are the ends of UTF-8 characters.
        (b"A: \xc3\n \xa0\xc3\x85 \n", (("A", "\xc3 \xa0\xc3\x85"),)),
        (b"A:\x0c\x1c\r\n \x1f\r\n", (("A", "\x0c\x1c \x1f"),)),
        # RFC 9112, 2.2; Chromium, http_response_headers_unittest.cc.
        (b"  A: 1\r\nB: 2\r\n", (("B", "2"),)),
        (b"A :          \nB: \nC:\nD\nE    :\n", (("A", ""), ("B", ""), ("C", ""), ("E", ""))),
        (b"foo: bar\n: a \nbaz: blat \n", (("foo", "bar"), ("baz", "blat"))),
        # wpt, fetch/h1-parsing/lone-cr.window.js: no browser refuses them, Firefox reads a blank.
        (b"\rA: 1\nB: 2\n", (("B", "2"),)),
        (b"A\r: 1\n", (("A", "1"),)),
        (b"A:\r 1\r\r\n", (("A", "1"),)),
        (b"A: 1\rB: 2\n", (("A", "1 B: 2"),)),
        # wpt, fetch/h1-parsing/resources-with-0x00-in-header.window.js: they refuse it.
        (b"A: \0\n", (("A", ""),)),
        # attohttpc #92: a message of PHP. dotnet/corefx #21314, httparse #88: blanks in names.
        (b"PHP Warning: x - /y.so: z\r\nA: 1\r\n", (("PHP Warning", "x - /y.so: z"), ("A", "1"))),
        (b"some -test: 1\r\n", (("some -test", "1"),)),
        (b"Set-Cookie : a=b\r\n", (("Set-Cookie", "a=b"),)),
        # curl #11802, aiohttp #2624: a line without a colon.
        (b"A: 1\r\nHTTP/1.0 200 OK\r\nB: 2\r\n", (("A", "1"), ("B", "2"))),
        (b"A:\r\n", (("A", ""),)),
        (b"Two words: 1\r\n", (("Two words", "1"),)),
        (b"nonsense\r\n: 1\r\nA: 1\r\n", (("A", "1"),)),
        (b"A: a\rb\0c\r\n", (("A", "a b c"),)),
        (b"A: caf\xe9\r\n", (("A", "caf\xe9"),)),
        (b"", ()),
    ],
)
def test_odd_fields_are_parsed_as_intended(lines: bytes, headers: object) -> None:
    """Reports attohttpc #92, httparse #88, curl #11802 and others beside the rows."""
    assert parse_head(OK + lines + b"\r\n").headers == headers


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"HTTP/1.1 200 OK", ("1.1", 200, "OK")),
        (b"HTTP/1.0 404 Not  Found ", ("1.0", 404, "Not  Found")),
        (b"HTTP/1.1 200", ("1.1", 200, "")),
        (b"HTTP/1.1 200 ", ("1.1", 200, "")),
        (b"HTTP/2.0 200 OK", ("2.0", 200, "OK")),
        (b"http/1.1 200 ok", ("1.1", 200, "ok")),
        (b"\r\nHTTP/1.1 999 OK", ("1.1", 999, "OK")),
        (b"HTTP/1.1 200OK", ("1.1", 200, "OK")),  # elastic/beats #6740
        (b"HTTP/1.1 404: gone", ("1.1", 404, ": gone")),
        (b"HTTP/1.1.0 200 OK", ("1.1", 200, "OK")),
        # httparse #29, vlang #28182, nodejs/http-parser #254, lithium #576: no reason phrase.
        (b"HTTP/1.1 301\r", ("1.1", 301, "")),
        # Chromium, http_response_headers_unittest.cc.
        (b"HTTP/1.1    202   Accepted  ", ("1.1", 202, "Accepted")),
        (b"HTTP/1.0 404 Not   found  ", ("1.0", 404, "Not   found")),
        (b"hTtP/0.9 201", ("0.9", 201, "")),
        (b"HTTP 404 No", ("1.0", 404, "No")),
        (b"HTTP/1 304 Not Friday", ("1.0", 304, "Not Friday")),
        (b"HTTP/234.01 204 Nothing here", ("1.0", 204, "Nothing here")),  # 2.0 there
        (b"HTTP/1 302.1 Bad parse", ("1.0", 302, ".1 Bad parse")),  # 1.1 there
        (b"HTTP/1.1 426Smush", ("1.1", 426, "Smush")),
        (b"HTTP/1.1ignored 201 Not ignored", ("1.1", 201, "Not ignored")),
        (b"HTTP/1.1 501\tStatus\t", ("1.1", 501, "Status")),
        # wpt, fetch/h1-parsing/status-code.window.js and lone-cr.window.js.
        (b"HTTP/1.1 099 HELLO", ("1.1", 99, "HELLO")),
        (b"HTTP/1.1 999 DOES IT MATTER", ("1.1", 999, "DOES IT MATTER")),
        (b"HTTP/1.1\r200 OK", ("1.1", 200, "OK")),
        (b"HTTP/1.1 200\rOK", ("1.1", 200, "OK")),
        # azure-sdk-for-c #604: version 2 in the syntax of version 1, and a blank at the end.
        (b"HTTP/2.0 205 ", ("2.0", 205, "")),
        # Chromium, http_response_headers.cc (ParseVersion) and http_stream_parser.cc (the slop).
        (b"HTTP/1 200 OK", ("1.0", 200, "OK")),
        (b"HTTP 200 OK", ("1.0", 200, "OK")),
        (b"HTTP/ 200", ("1.0", 200, "")),
        (b"\xef\xbb\xbfHTTP/1.1 200 OK", ("1.1", 200, "OK")),
    ],
)
def test_odd_status_lines_are_parsed_as_intended(
    line: bytes, expected: tuple[str, int, str]
) -> None:
    """Reports elastic/beats #6740, httparse #29, vlang #28182 and others beside the rows."""
    head = parse_head(line + b"\r\n\r\n")
    assert (head.version, head.status, head.reason) == expected


@pytest.mark.parametrize(
    ("head", "length", "chunked", "keeps"),
    [
        (OK + b"Content-Length: 5\r\n", 5, False, True),
        (OK + b"Content-Length: 5\r\nContent-Length: 5\r\n", 5, False, True),
        (OK + b"Content-Length: 5, 5\r\n", 5, False, True),
        (OK + b"Content-Length: " + b"9" * 50 + b"\r\n", MAX_LENGTH, False, True),
        (OK + b"Content-Length: 5\r\nConnection: Close\r\n", 5, False, False),
        (OK + CHUNKED, None, True, True),
        (OK + b"Transfer-Encoding: gzip, Chunked\r\n", None, True, True),
        (OK + b"Content-Length: 5\r\n" + CHUNKED, None, True, False),
        (OK + b"Transfer-Encoding: gzip\r\nContent-Length: 5\r\n", None, False, False),
        (OK + b"Transfer-Encoding: identity\r\nContent-Length: 5\r\n", 5, False, True),
        (OK, None, False, False),
        # twisted #3379, wpt #10548: an invalid Content-Length counts as none.
        (OK + b"Content-Length:\r\n", None, False, False),
        (OK + b"Content-Length: five\r\n", None, False, False),
        (OK + b"Content-Length: -5\r\n", None, False, False),
        (OK + b"Content-Length: +5\r\n", None, False, False),
        (OK + b"Content-Length: 5.0\r\n", None, False, False),
        (OK + b"Content-Length: 5 bytes\r\n", None, False, False),
        (OK + b"Content-Length: \xb2\r\n", None, False, False),
        (OK + b"Content-Length:\r\nConnection: keep-alive\r\n", None, False, False),
        (OK + b"Content-Length:\r\n" + CHUNKED, None, True, False),
        # wpt, fetch/content-length/resources/content-lengths.json: up to the close is 42 there.
        (OK + b"Content-Length: 30\r\nContent-Length: 30,30\r\n", 30, False, True),
        (OK + b"Content-Length: aaaah\r\nContent-Length: aaaah\r\n", None, False, False),
        (OK + b"Content-Length: aaaah, aaaah\r\n", None, False, False),
        (OK + b"Content-Length: 42s\r\n", None, False, False),
        (OK + b"Content-Length: 0x20\r\n", None, False, False),
        (OK + b"Content-Length: 030\r\n", 30, False, True),
        # Network errors there. Nothing contradicts the number, or the end of the body.
        (OK + b"Content-Length: 030\r\nContent-Length: 30\r\n", 30, False, True),
        (OK + b"Content-Length: 30,\r\n", None, False, False),
        (OK + b"Content-Length: ,30\r\n", None, False, False),
        (OK + b"Content-Length: 30\r\nContent-Length: \t\r\n", None, False, False),
        (OK + b"Content-Length: aaaah, nah\r\n", None, False, False),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n", 5, False, False),
        (b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5\r\n", 5, False, True),
        (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n", 0, False, True),
        (b"HTTP/1.1 204 No Content\r\n" + CHUNKED, 0, False, True),
    ],
)
def test_framing_of_the_body_follows_rfc_9112(
    head: bytes, length: int | None, chunked: bool, keeps: bool
) -> None:
    """Reports twisted #3379 and wpt #10548; RFC 9112, 6.3; other sources beside the rows."""
    found = parse_head(head + b"\r\n")
    assert (found.length, found.chunked, found.keep_alive) == (length, chunked, keeps)


@pytest.mark.parametrize(
    "head",
    [
        b"ICY 200 OK\r\n\r\n",
        b"HTTP/1.1 20 OK\r\n\r\n",
        b"HTTP/1.1 2000 OK\r\n\r\n",
        b"<html>\n\n",
        b"\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
        OK + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n",
        OK + b"Content-Length: 5, 6\r\n\r\n",
        OK + b"Content-Length: 42,30\r\n\r\n",
        OK + b"Content-Length: 42,30, x\r\n\r\n",
        b"HTTP/1.1 OK\r\n\r\n",
        # wpt, fetch/h1-parsing/status-code.window.js. Browsers make up a status for some.
        b"HTTP/1.1\r\n\r\n",
        b"HTTP/1.1 BLAH\r\n\r\n",
        b"HTTP/1.1 0 OK\r\n\r\n",
        b"HTTP/1.1 99 NOT OK\r\n\r\n",
        b"HTTP/1.1 1000 BOO\r\n\r\n",
        b"HTTP/1.1 65736 NOT 200 OR SOME SUCH\r\n\r\n",
        # Chromium, http_response_headers_unittest.cc: 200 there. Here no status is made up.
        b"SCREWED_UP_STATUS_LINE\r\n\r\n",
        b"HTTP/1.1 -1  Unknown\r\n\r\n",
        b"HTTP\r\n\r\n",
        # httrack #1565: 2**32 + 200.
        b"HTTP/1.1 4294967496 OK\r\n\r\n",
        b"12345HTTP/1.1 200 OK\r\n\r\n",
    ],
)
def test_invalid_or_ambiguous_head_is_refused(head: bytes) -> None:
    """Report httrack #1565; RFC 9112, 6.3; other sources beside the rows."""
    with pytest.raises(Malformed):
        parse_head(head)


@pytest.mark.parametrize("lines", [b"\n\n", b"\r\n\r\n", b"\n\r\n\n"])
def test_blank_lines_before_the_head_are_skipped(lines: bytes) -> None:
    """The kind of aiohttp #5269; Chromium skips four octets, http_stream_parser.cc."""
    data = lines + OK + b"\r\nbody"
    assert data[end_of_head(data) :] == b"body"
    assert parse_head(data[:-4]).status == 200
    assert end_of_head(lines) == 0


@given(st.binary(max_size=300))
def test_arbitrary_bytes_raise_only_malformed(data: bytes) -> None:
    try:
        head = parse_head(data)
    except Malformed:
        return
    assert 0 <= head.status <= 999
    assert all(name and "\n" not in name + value for name, value in head.headers)


@given(st.lists(st.sampled_from([b"\r", b"\n", b"a", b"\r\n"]), max_size=12), st.integers(1, 5))
def test_end_of_head_is_found_in_pieces_of_any_size(pieces: list[bytes], size: int) -> None:
    whole = b"".join(pieces)
    came, end = b"", 0
    while len(came) < len(whole) and not end:
        looked = len(came)
        came = whole[: looked + size]
        end = end_of_head(came, looked)
    assert end == (end_of_head(whole) if end else 0)
    assert bool(end) == bool(end_of_head(whole))
