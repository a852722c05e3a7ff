"""The type of a body, by headers and first bytes."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.web.sniffing import (
    FORMATS,
    GZIP,
    PACKED_XML,
    RESOURCE_HEADER_BYTES,
    declared_type,
    is_textual,
    media_type,
)

NOSNIFF = ("X-Content-Type-Options", "nosniff")
FIRST = {
    "application/pdf": b"%PDF-1.7",
    "application/postscript": b"%!PS-Adobe-3.0",
    "image/x-icon": b"\0\0\1\0\1",
    "image/bmp": b"BM\x36\0\x0c\0\0\0\0\0\x36",
    "image/gif": b"GIF89a",
    "image/webp": b"RIFF\1\2\3\4WEBPVP8 ",
    "image/png": b"\x89PNG\r\n\x1a\n\0",
    "image/jpeg": b"\xff\xd8\xff\xe0",
    "audio/aiff": b"FORM\1\2\3\4AIFF",
    "audio/mpeg": b"ID3\3\0",
    "application/ogg": b"OggS\0\2",
    "audio/midi": b"MThd\0\0\0\6\0",
    "video/avi": b"RIFF\n\n\n\nAVI LIST",
    "audio/wave": b"RIFF\1\2\3\4WAVEfmt ",
    "video/mp4": b"\0\0\0\x18ftypmp42",
    "video/webm": b"\x1a\x45\xdf\xa3\x9f",
    "application/x-gzip": b"\x1f\x8b\x08\0",
    "application/zip": b"PK\3\4\x14\0",
    "application/x-rar-compressed": b"Rar!\x1a\7\0",
}


def sniff(declared: str, body: bytes, *more: tuple[str, str]) -> str:
    headers = (("Content-Type", declared),) if declared else ()
    return media_type((*headers, *more), body)


def test_binary_format_declared_as_text_is_detected() -> None:
    assert FIRST.keys() == FORMATS.keys()
    for kind, body in FIRST.items():
        for declared in ("", "text/html", "text/plain", "application/xml", "text/css"):
            assert sniff(declared, body) == kind
        assert sniff("application/octet-stream", body) == kind
        assert sniff("image/tiff", body) == "image/tiff"


RDF = b"http://www.w3.org/1999/02/22-rdf-syntax-ns#"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"<rss version=", "application/rss+xml"),
        (
            b"\xef\xbb\xbf <?xml version='1.0'?>\n<!-- > --><!DOCTYPE x><feed>",
            "application/atom+xml",
        ),
        (b"<rdf:RDF xmlns='http://purl.org/rss/1.0/' xmlns:rdf='" + RDF, "application/rss+xml"),
        (b"<rdf:RDF xmlns:rdf='" + RDF, "text/html"),
        (b"<html><rss>", "text/html"),
        (b"words <rss>", "text/html"),
        (b"<!-- <rss>", "text/html"),
        (b"<!---->" * 500 + b"<rss>", "text/html"),
        (b"", "text/html"),
    ],
)
def test_feed_declared_as_html_is_detected(body: bytes, kind: str) -> None:
    assert sniff("text/html", body) == sniff("text/html; charset=utf-8", body) == kind
    assert sniff("text/html", body, NOSNIFF) == "text/html"
    assert sniff("application/xhtml+xml", body) == "application/xhtml+xml"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"<!DOCTYPE html>", "text/html"),
        (b"\n\t <HTML lang=de>", "text/html"),
        (b"\xef\xbb\xbf<p>", "text/html"),
        (b"<h1\n>", "text/html"),
        (b"<!-- ", "text/html"),
        (b"<?xml version='1.0'?>", "text/xml"),
        (b"<pre>", "text/plain"),
        (b"words", "text/plain"),
        (b"BMW, ID3 and PKW", "text/plain"),
        (b"ID3 is a tag", "text/plain"),
        (b"\xff\xfea\0", "text/plain"),
        (b"", "text/plain"),
        (b"words\0", "application/octet-stream"),
        (b"x" * RESOURCE_HEADER_BYTES + b"\0", "text/plain"),
    ],
)
def test_type_of_an_undeclared_body_is_sniffed(body: bytes, kind: str) -> None:
    for declared in ("", "unknown/unknown", "application/unknown", "*/*", "html"):
        assert sniff(declared, body) == kind


def test_declared_type_counts_with_nosniff() -> None:
    assert sniff("text/html", b"PK\3\4", NOSNIFF) == "text/html"
    assert sniff("application/octet-stream", b"<p>", NOSNIFF) == "application/octet-stream"
    assert sniff("text/plain", b"\0", NOSNIFF) == "text/plain"
    assert sniff("", b"<p>", NOSNIFF) == "text/plain"
    assert sniff("", b"%PDF-", ("x-content-type-options", "NoSniff, x")) == "application/pdf"
    assert sniff("text/html", b"PK\3\4", (NOSNIFF[0], "x, nosniff")) == "application/zip"


def test_plain_text_is_text_or_binary_but_not_markup() -> None:
    assert sniff("text/plain", b"<html>") == "text/plain"
    assert sniff("text/plain", b"a\0b") == "application/octet-stream"
    assert sniff("text/plain; charset=UTF-8", b"a\0b") == "application/octet-stream"
    # Not a server's default, so it is intended.
    assert sniff("text/plain; charset=utf-16", b"a\0b") == "text/plain"
    assert sniff("text/plain", b"\xfe\xff\0a") == "text/plain"


def test_beginning_of_a_gzip_file_is_unpacked() -> None:
    xml = b"<?xml version='1.0'?><urlset>" + b"<url/>" * 1000
    for inner, inside in [
        (xml, PACKED_XML),
        (b"\xef\xbb\xbf<sitemapindex\n>", PACKED_XML),
        (b"<html>", ""),
        (b"words", ""),
    ]:
        for declared in (*GZIP, "", "application/octet-stream", "text/xml", "text/plain"):
            kind = inside or (declared if declared in GZIP else GZIP[1])
            assert sniff(declared, gzip.compress(inner)) == kind
    assert sniff(GZIP[0], gzip.compress(xml), NOSNIFF) == PACKED_XML
    assert sniff(GZIP[0], xml) == "text/xml", "a coding that was undone, and called a type"
    assert sniff(GZIP[0], b"") == sniff(GZIP[0], b"\x1f\x8b") == GZIP[0]
    assert sniff("image/png", gzip.compress(xml)) == "image/png"


def test_octet_stream_is_markup_or_a_format_or_unchanged() -> None:
    assert sniff("application/octet-stream", b"<!doctype html>") == "text/html"
    assert sniff("application/octet-stream", b"words") == "application/octet-stream"


def test_last_of_two_types_counts() -> None:
    headers = (("Content-Type", "text/html"), ("Content-Type", "video/mp4, nonsense"))
    assert media_type(headers, b"<html>") == "video/mp4"


types = st.sampled_from(
    ["", "text/html", "text/plain", "text/css", "application/octet-stream", "image/svg+xml", "a/b"]
)
bodies = st.one_of(st.binary(max_size=40), st.sampled_from([*FIRST.values(), b"<p>", b"<?xml"]))


@given(types, st.booleans(), bodies, st.binary(max_size=40))
def test_only_sniffed_types_depend_on_bytes(
    declared: str, nosniff: bool, body: bytes, more: bytes
) -> None:
    headers = (("Content-Type", declared), *((NOSNIFF,) if nosniff else ()))
    kind = media_type(headers, body)
    assert kind
    needs = declared_type(headers).needs
    assert needs or kind == declared
    first = (body + b" " * RESOURCE_HEADER_BYTES)[:needs]
    assert media_type(headers, first + more) == media_type(headers, first)


def test_textual_types_can_be_parsed_without_their_end() -> None:
    assert all(map(is_textual, ["text/x", "application/json", "image/svg+xml", "a/b+json"]))
    assert not any(map(is_textual, ["", "application/pdf", "image/png", "application/zip"]))
