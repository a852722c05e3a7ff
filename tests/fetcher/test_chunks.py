"""Chunked bodies: bare line feeds end lines, as in browsers, and other bytes are not changed."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.events import Outcome
from gossamer.services.fetcher.http.chunks import ChunkLines
from tests.fetcher.orders import visit_page, visit_pages
from tests.fetcher.servers import page, raw

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n"
PAGE = b"<p>abcde"
WHOLE = {
    "CRLF": b"5\r\n<p>ab\r\n3\r\ncde\r\n0\r\n\r\n",
    "LF behind a size": b"5\n<p>ab\r\n3\ncde\r\n0\r\n\r\n",
    "LF behind data": b"5\r\n<p>ab\n3\r\ncde\n0\r\n\r\n",
    "LF everywhere": b"5\n<p>ab\n3\ncde\n0\n\n",
    "LF behind the last chunk": b"5\r\n<p>ab\r\n3\r\ncde\r\n0\n\n",
    "LF behind the last size": b"5\r\n<p>ab\r\n3\r\ncde\r\n0\n\r\n",
    "LF behind a trailer": b"5\r\n<p>ab\r\n3\r\ncde\r\n0\r\nX: y\n\n",
    "LF behind an extension": b"5;a=b\n<p>ab\r\n3\r\ncde\r\n0\r\n\r\n",
    "LF behind a blank": b"5 \n<p>ab\n3 \ncde\n0 \n\n",
}
CUT = {
    "no end of data": b"5\n<p>ab3\ncde\n0\n\n",
    "no size": b"5\n<p>ab\nzz\ncde\n0\n\n",
    "no last line": b"5\n<p>ab\n3\ncde\n",
    "a negative size": b"5\n<p>ab\n-3\ncde\n0\n\n",
}


def feed(body: bytes, cuts: list[int]) -> bytes:
    """Return *body*, fed in pieces that end at *cuts*."""
    lines = ChunkLines()
    ends = sorted({0, len(body), *(cut % (len(body) + 1) for cut in cuts)})
    return b"".join(lines.feed(body[start:end]) for start, end in pairwise(ends))


@pytest.mark.parametrize("body", WHOLE.values(), ids=WHOLE)
async def test_body_with_bare_line_feeds_is_read(body: bytes) -> None:
    """Report nginx #1016; Chromium, http_chunked_decoder.cc."""
    server, emitted = await visit_pages(x=raw(HEAD + body, keep=True), y=page())
    assert emitted.outcomes == ["page", "page"] and server.connections == 1
    assert (emitted.pages[0].body, emitted.pages[0].truncated) == (PAGE, "")


@pytest.mark.parametrize("body", CUT.values(), ids=CUT)
async def test_body_that_breaks_off_is_marked_as_cut(body: bytes) -> None:
    """Report nginx #1016: leniency about line feeds excuses no other mistake."""
    emitted = await visit_page(raw(HEAD + body))
    assert emitted.one.outcome is Outcome.PAGE
    assert emitted.pages[0].truncated == "disconnect"
    assert PAGE.startswith(emitted.pages[0].body)


@given(st.lists(st.binary(min_size=1, max_size=40), max_size=5), st.lists(st.integers(0)))
def test_data_of_chunks_is_never_changed(chunks: list[bytes], cuts: list[int]) -> None:
    """Report nginx #1016."""
    strict = b"".join(b"%x\r\n%b\r\n" % (len(one), one) for one in chunks) + b"0\r\n\r\n"
    bare = b"".join(b"%x\n%b\n" % (len(one), one) for one in chunks) + b"0\n\n"
    assert feed(strict, cuts) == strict
    assert feed(bare, cuts) == strict


@given(st.lists(st.sampled_from([b"5", b"0", b"\n", b"\r", b"\r\n", b"x", b";"])), st.integers(1))
def test_only_carriage_returns_are_added(pieces: list[bytes], cut: int) -> None:
    """Report nginx #1016."""
    body = b"".join(pieces)
    fed = feed(body, [cut])
    assert fed == feed(body, [*range(len(body))]), "in pieces of any size"
    assert fed.replace(b"\r", b"") == body.replace(b"\r", b"")
