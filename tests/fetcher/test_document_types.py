"""Wrongly declared types, over real sockets: types that are not accepted are not downloaded."""

import gzip
import zlib
from collections.abc import Callable
from random import Random

import brotli  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.events import Outcome
from gossamer.services.fetcher.outcome import decide_type
from gossamer.web.sniffing import declared_type, whole_type
from tests.fetcher.orders import run_order, visit_page
from tests.fetcher.servers import Answer, endless, page, raw, serving

CODINGS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
}
ZIP = b"PK\3\4" + b"\0" * 996


def never_ending(body: bytes, *headers: str) -> Answer:
    lines = "\r\n".join(["HTTP/1.1 200 OK", *headers, "", ""])
    return endless(lines.encode(), body)


@pytest.mark.parametrize("declared", ["text/html", "text/plain", "application/xml", ""])
async def test_archive_declared_as_text_is_not_downloaded(declared: str) -> None:
    emitted = await visit_page(never_ending(ZIP, f"Content-Type: {declared}"), body_limit=5_000_000)
    assert (emitted.one.outcome, emitted.pages) == (Outcome.UNWANTED_TYPE, [])
    assert emitted.one.hazards == ("unwanted_type", "wrong_content_type")
    assert emitted.one.received < 1_000_000
    assert emitted.one.reason.startswith("application/zip, declared as ")


async def test_encoded_archive_is_not_downloaded() -> None:
    packer = zlib.compressobj(wbits=31)
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\n\r\n"
    first = packer.compress(ZIP * 2) + packer.flush(zlib.Z_SYNC_FLUSH)
    filler = packer.compress(b"\0" * 1000) + packer.flush(zlib.Z_SYNC_FLUSH)
    emitted = await visit_page(endless(head + first, filler), body_limit=5_000_000)
    assert emitted.one.hazards == ("unwanted_type", "wrong_content_type")
    assert emitted.one.received < 1_000_000


@pytest.mark.parametrize(
    "declared", ["application/octet-stream", "unknown/unknown", "application/unknown", "*/*", "?"]
)
@pytest.mark.parametrize("coding", CODINGS)
async def test_page_without_type_is_read(declared: str, coding: str) -> None:
    sent = CODINGS[coding](b"<!doctype html><p>hello" * 100)
    emitted = await visit_page(page(sent, Content_Type=declared, Content_Encoding=coding))
    assert [one.body for one in emitted.pages] == [sent]


async def test_binary_without_type_is_not_downloaded() -> None:
    octets = never_ending(b"\7" * 1000, "Content-Type: application/octet-stream")
    emitted = await visit_page(octets, body_limit=5_000_000)
    assert emitted.one.hazards == ("unwanted_type",)
    assert emitted.one.received < 1_000_000


async def test_only_sitemaps_of_gzip_files_are_downloaded() -> None:
    random = Random(1).randbytes
    tar = gzip.compress(b"etc/" + bytes(100) + random(4000))
    emitted = await visit_page(never_ending(tar, "Content-Type: application/gzip"))
    assert emitted.one.hazards == ("unwanted_type",) and emitted.one.received < 1_000_000
    sitemap = gzip.compress(b"<urlset>" + random(4000))
    changes = {"body_limit": 1000, "sitemap_limit": 1_000_000}
    emitted = await visit_page(page(sitemap, Content_Type="application/x-gzip"), **changes)
    assert [one.body for one in emitted.pages] == [sitemap]


async def test_nosniff_is_obeyed() -> None:
    nosniff = "X-Content-Type-Options: nosniff"
    octets = never_ending(b"<p>hello ", "Content-Type: application/octet-stream", nosniff)
    emitted = await visit_page(octets)
    assert (emitted.one.outcome, emitted.one.received) == (Outcome.UNWANTED_TYPE, 0)
    emitted = await visit_page(never_ending(ZIP, "Content-Type: text/html", nosniff))
    assert (emitted.outcomes, emitted.one.hazards) == (["page"], ("infinite_body",))


async def test_page_that_comes_byte_by_byte_is_read() -> None:
    drip = endless(
        b"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n\r\n<p>", b"x", 0.01
    )
    emitted = await visit_page(drip, visit_limit=2.0)
    assert (emitted.outcomes, emitted.one.hazards) == (["page"], ("trap_time",))


async def test_plain_bytes_declared_as_gzip_get_their_real_type() -> None:
    emitted = await visit_page(page(b"<p>hello", Content_Encoding="gzip"))
    assert [one.body for one in emitted.pages] == [b"<p>hello"]
    emitted = await visit_page(page(ZIP, Content_Encoding="gzip"))
    assert emitted.outcomes == ["unwanted_type"]


async def test_accepted_types_are_a_setting() -> None:
    png = raw(b"HTTP/1.1 200 OK\r\n\r\n\x89PNG\r\n\x1a\n\0")
    async with serving(x=png, y=page()) as server:
        urls = f"{server.root}/x", f"{server.root}/y"
        emitted = await run_order(*urls, types=("image/*", "application/pdf"))
        asked = [request.header("Accept") for request in server.requests]
    assert emitted.outcomes == ["page", "unwanted_type"]
    assert asked == ["image/*;q=0.8, application/pdf;q=0.8, */*;q=0.1"] * 2


async def test_accept_header_prefers_html() -> None:
    async with serving(x=page()) as server:
        await run_order(f"{server.root}/x")
        [asked] = server.requests
    ranges = asked.header("Accept").split(", ")
    assert ranges[:2] == ["text/html", "application/xhtml+xml"]
    assert ranges[-1] == "*/*;q=0.1"
    assert all(one.endswith(";q=0.8") for one in ranges[2:-1])


starts = st.sampled_from(
    [
        gzip.compress(b"<?xml" + bytes(range(256)) * 9),
        b"<p>",
        b"PK\3\4",
        b"\x89PNG\r\n\x1a\n",
        b"words",
        b"%PDF-",
        b"\0",
    ]
)
declarations = st.sampled_from(
    [
        "", "text/html", "text/plain", "text/xml", "application/gzip",
        "application/octet-stream", "a/b",
    ]
)  # fmt: skip


@given(
    declarations,
    st.sampled_from([*CODINGS]),
    starts,
    st.binary(max_size=9000),
    st.integers(0, 9000),
)
def test_decided_type_is_the_type_of_the_whole_body(
    declared: str, coding: str, start: bytes, rest: bytes, come: int
) -> None:
    headers = (("Content-Type", declared), ("Content-Encoding", coding))
    body = CODINGS[coding](start + rest)
    whole = whole_type(headers, body)
    assert decide_type(declared_type(headers), coding, body[:come]) in (None, whole)
