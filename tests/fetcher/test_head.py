"""Heads of responses: odd heads are parsed, ambiguous heads are refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.fetcher.head import MAX_LENGTH, Malformed, end_of_head, parse_head

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"


@pytest.mark.parametrize(
    ("lines", "headers"),
    [
        (b"A: 1\r\na:2\r\n", (("A", "1"), ("a", "2"))),
        (b"A : 1\r\n", (("A", "1"),)),
        (b"A: 1\n\tand 2\n", (("A", "1 and 2"),)),
        (b"A:\r\n", (("A", ""),)),
        (b"Two words: 1\r\n", (("Two words", "1"),)),
        (b"nonsense\r\n: 1\r\nA: 1\r\n", (("A", "1"),)),
        (b"A: a\rb\0c\r\n", (("A", "a b c"),)),
        (b"A: caf\xe9\r\n", (("A", "caf\xe9"),)),
        (b"", ()),
    ],
)
def test_odd_fields_are_parsed_as_intended(lines: bytes, headers: object) -> None:
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
        (b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n", 5, False, False),
        (b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5\r\n", 5, False, True),
        (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n", 0, False, True),
        (b"HTTP/1.1 204 No Content\r\n" + CHUNKED, 0, False, True),
    ],
)
def test_framing_of_the_body_follows_rfc_9112(
    head: bytes, length: int | None, chunked: bool, keeps: bool
) -> None:
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
        b"HTTP/1.1 OK\r\n\r\n",
        b"12345HTTP/1.1 200 OK\r\n\r\n",
    ],
)
def test_invalid_or_ambiguous_head_is_refused(head: bytes) -> None:
    with pytest.raises(Malformed):
        parse_head(head)


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
