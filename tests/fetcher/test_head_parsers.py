"""Heads of responses, compared with two parsers that others wrote: h11, and aiohttp's in Python.

h11 is strict, and aiohttp lenient. A head that one of them accepts has the same status and the same
fields here. What differs on purpose: runs of blanks where lines are folded, and two refusals.
"""

import asyncio
import re
from collections.abc import Iterator
from typing import NamedTuple

import h11
from aiohttp.base_protocol import BaseProtocol
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.http_parser import HttpResponseParserPy
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.services.fetcher.head import Malformed, end_of_head, parse_head

OUR_REFUSALS = ("different Content-Lengths", "the server switches to another protocol")
"""RFC 9112, 6.3, calls the first ambiguous; we never ask for the second."""

status_lines = st.one_of(
    st.just(b"HTTP/1.1 200 OK"),
    st.sampled_from(
        (
            *(b"HTTP/1.0 404 Not Found", b"HTTP/1.1 200", b"HTTP/1.1 200 ", b"HTTP/1.1 301 \xe9"),
            *(b"HTTP/1.1 100 Continue", b"HTTP/1.1 999 x", b"HTTP/1.1  200 OK", b"HTTP/2 200"),
            *(b"http/1.1 200 OK", b"HTTP/1.1 200\tOK", b"HTTP/1.1 101 x", b"HTTP/1.1 099 x"),
            *(b"HTTP/1.1 000 x", b"HTTP/1.1 200  OK  ", b"HTTP/0.9 200 x", b"HTTP/1.1 200OK"),
        )
    ),
)
names = st.sampled_from(
    (
        *(b"A", b"a-b", b"X_y", b"!#$%", b"Set-Cookie", b"Host", b"Connection"),
        *(b"Content-Length", b"content-length", b"Transfer-Encoding", b"A B", b"A ", b"\xe9", b""),
    )
)
values = st.one_of(
    st.sampled_from(
        (
            *(b"", b"1", b"5", b"5, 5", b"+5", b" 5 ", b"00005", b"5_0", b"\xb2", b"a:b", b'"x"'),
            *(b"chunked", b"gzip, chunked", b"Chunked", b"close", b"keep-alive", b" \t x \t "),
            *(
                b"a\tb", b"caf\xe9", b"a\0b", b"a\x7fb", b"a\rb", b"\xa0x\xa0", b"\x85",
                b"\x0bx\x0c",
            ),
        )
    ),
    st.binary(max_size=6),
)  # fmt: skip
colons = st.sampled_from((b": ", b":", b":\t", b" :"))
ends = st.sampled_from((b"\r\n", b"\r\n", b"\r\n", b"\n", b"\r\n ", b"\r\n\t", b"\n  ", b"\r\r\n"))
usual_fields = st.sampled_from(
    (
        *(b"A: 1\r\n", b"a-b:\tx y \r\n", b"Set-Cookie: a=b\n", b"X_y: \xc3\xa0\r\n", b"!#$%:\r\n"),
        *(b"Content-Length: 5\r\n", b"Transfer-Encoding: chunked\r\n", b"A: 1\r\n  \xe9\xa0\r\n"),
    )
)
odd_fields = st.tuples(names, colons, values, ends).map(b"".join)
fields = st.lists(usual_fields | odd_fields, max_size=4).map(b"".join)
heads = st.tuples(
    st.just(b"") | st.sampled_from((b"\r\n", b"\n", b"\r\n\r\n", b"\n\n", b" ")),
    status_lines,
    st.just(b"\r\n") | ends,
    fields,
    st.sampled_from((b"\r\n", b"\n", b"\r\nbody")),
).map(b"".join)
octets = st.sampled_from((b"\0", b"\t", b"\n", b"\r", b" ", b":", b"\x1f", b"\x80", b"\xff"))


@st.composite
def damaged_heads(draw: st.DrawFn) -> bytes:
    """Return a head with an octet at any place, as wpt's generate_parsing_asis.py makes them."""
    head = draw(heads)
    at = draw(st.integers(0, len(head)))
    return head[:at] + draw(octets) + head[at:]


class Found(NamedTuple):
    """The status and the fields that a parser reads in a head."""

    status: int
    fields: tuple[tuple[str, str], ...]
    """In the order of the head, without the length, of which h11 makes one."""


def found(status: int, raw: Iterator[tuple[bytes, bytes]]) -> Found:
    pairs = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in raw]
    return Found(
        status,
        tuple(
            (name, plain(name, value)) for name, value in pairs if name.lower() != "content-length"
        ),
    )


def plain(name: str, value: str) -> str:
    """Return *value* with single blanks; h11 writes codings in lower case."""
    value = re.sub(r"[ \t]+", " ", value)
    return value.lower() if name.lower() == "transfer-encoding" else value


def read_strictly(data: bytes) -> tuple[Found, int] | None:
    """Return what h11 reads, and the size of the head; None if it refuses the head."""
    client = h11.Connection(h11.CLIENT)
    client.send(h11.Request(method="GET", target="/", headers=[("Host", "x")]))
    client.send(h11.EndOfMessage())
    client.receive_data(data)
    try:
        event = client.next_event()
    except h11.RemoteProtocolError:
        return None
    if not isinstance(event, h11.Response | h11.InformationalResponse):
        return None
    read = found(event.status_code, iter(event.headers.raw_items()))
    return read, len(data) - len(client.trailing_data[0])


def read_leniently(data: bytes) -> Found | None:
    """Return what aiohttp's parser in Python reads; None if it refuses the head."""
    loop = asyncio.new_event_loop()
    try:
        parser = HttpResponseParserPy(BaseProtocol(loop), loop, 2**16, read_until_eof=True)
        messages, _, _ = parser.feed_data(data)
    except (HttpProcessingError, ValueError):
        return None
    finally:
        loop.close()
    if not messages:
        return None
    message = messages[0][0]
    return found(message.code, iter(message.raw_headers))


def read_here(data: bytes) -> Found | str:
    """Return what we read, or why we refuse the head. Only Malformed may be raised."""
    try:
        head = parse_head(data)
    except Malformed as error:
        return str(error)
    raw = ((name.encode("latin-1"), value.encode("latin-1")) for name, value in head.headers)
    return found(head.status, raw)


def check(data: bytes, read: Found) -> None:
    """Check that we read *read* in the head that *data* begins with."""
    end = end_of_head(data)
    assert end, "the head has an end"
    ours = read_here(data[:end])
    if isinstance(ours, str):
        assert ours.startswith(OUR_REFUSALS)
    else:
        assert ours == read


@settings(max_examples=300)
@given(heads | damaged_heads())
def test_head_that_h11_accepts_is_read_alike(data: bytes) -> None:
    """The kind of aiohttp #5269 and the other reports of test_head.py, found by a second parser."""
    if strict := read_strictly(data):
        read, size = strict
        assert end_of_head(data) == size
        check(data, read)


@settings(max_examples=50)
@given(heads | damaged_heads())
def test_head_that_aiohttp_accepts_is_read_alike(data: bytes) -> None:
    """The kind of aiohttp #5269, found by a second parser."""
    # A line of a CR alone ends a head for aiohttp, and neither for Chromium nor here.
    if b"\n\r\r\n" not in data and (read := read_leniently(data)):
        check(data, read)


@given(heads | damaged_heads())
def test_damaged_head_raises_only_malformed(data: bytes) -> None:
    """The kind of aiohttp #5269 and #7494: octets that no head should have."""
    end = end_of_head(data)
    assert read_here(data[:end] if end else data)


def test_both_parsers_accept_a_usual_head() -> None:
    """The comparisons above are not empty."""
    usual = b"HTTP/1.1 200 OK\r\nA: 1\r\nContent-Length: 5\r\n\r\nhello"
    expected = Found(200, (("A", "1"),))
    assert read_strictly(usual) == (expected, len(usual) - 5)
    assert read_leniently(usual) == read_here(usual[:-5]) == expected
