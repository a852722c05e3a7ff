"""The meaning of headers, in any case and repeated."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.web.http import (
    Headers,
    all_values,
    content_type,
    first_value,
    joined_values,
    payload_digest,
    redirect_target,
)
from gossamer.web.url import canonicalize

URL = "http://example.org/a/b"
TAGS: Headers = (("X-Robots-Tag", "noindex"), ("Server", "x"), ("x-robots-tag", " otherbot: none"))


def octets(text: str) -> str:
    """Return *text* as a header that was sent in UTF-8 is received."""
    return text.encode().decode("latin-1")


def test_header_is_found_in_any_case_and_every_occurrence() -> None:
    assert all_values(TAGS, "x-robots-tag") == ["noindex", "otherbot: none"]
    assert first_value(TAGS, "x-robots-tag") == "noindex"
    assert joined_values(TAGS, "x-robots-tag") == "noindex, otherbot: none"


def test_missing_header_is_empty() -> None:
    assert (all_values(TAGS, "etag"), first_value(TAGS, "etag"), joined_values(TAGS, "etag")) == (
        [],
        "",
        "",
    )


@pytest.mark.parametrize("text", ["/é", "/日本", "/voilà", "/…"])
def test_valid_utf_8_value_is_decoded(text: str) -> None:
    assert first_value((("Location", octets(text)),), "location") == text


def test_other_value_is_latin_1() -> None:
    assert first_value((("Location", "/é"),), "location") == "/é"


@given(st.lists(st.tuples(st.sampled_from(["A", "a", "b"]), st.text()), max_size=4).map(tuple))
def test_arbitrary_headers_raise_nothing(headers: Headers) -> None:
    assert len(all_values(headers, "a")) == sum(name in "Aa" for name, _ in headers)
    assert joined_values(headers, "a").startswith(first_value(headers, "a"))


@pytest.mark.parametrize(
    ("value", "media_type"),
    [
        ("Text/HTML; charset=x", "text/html"),
        (" application/xhtml+xml ", "application/xhtml+xml"),
        ("x'y/z|~", "x'y/z|~"),
        ("", ""),
        ("html", ""),
        ("a/b/c", ""),
        ("/", ""),
        ("text/ html", ""),
        ("*/*", ""),
        ("unknown/unknown", ""),
        ("application/unknown", ""),
    ],
)
def test_content_type_has_no_parameters(value: str, media_type: str) -> None:
    assert content_type((("content-TYPE", value),)) == media_type


@pytest.mark.parametrize(
    ("status", "location", "target"),
    [
        (301, "c#top", "http://example.org/a/c"),
        (308, octets("/é"), "http://example.org/%C3%A9"),
        (307, octets("/voilà"), "http://example.org/voil%C3%A0"),
        (300, "//other.example", "http://other.example/"),
        (302, "", ""),
        (302, "mailto:a@b.example", ""),
        (302, "http://[bad", ""),
        (304, "/c", ""),
        (305, "http://proxy.example/", ""),
        (306, "/c", ""),
        (310, "/c", ""),
        (201, "/c", ""),
        (503, "/c", ""),
    ],
)
def test_redirect_target_by_status_and_location(status: int, location: str, target: str) -> None:
    assert redirect_target(status, (("location", location),), URL) == target


@pytest.mark.parametrize(
    ("location", "target"),
    [
        ("/caf\xe9", "http://example.org/caf%E9"),
        ("/?name=Jos\xe9", "http://example.org/?name=Jos%E9"),
        ("/\xe9\xc3\xa9", "http://example.org/%E9%C3%A9"),
        ("/voil\xc3\xa0", "http://example.org/voil%C3%A0"),
        ("/caf\xe9%E9", "http://example.org/caf%E9%E9"),
        ("/\xa0x\x85", "http://example.org/%A0x%85"),
        ("/\x93x\x94", "http://example.org/%93x%94"),
        ("/\x83e\x83X\x83g", "http://example.org/%83e%83X%83g"),
        (octets("http://caf\xe9.example/"), "http://xn--caf-dma.example/"),
        (octets("//\u4f8b\u3002example/\u4f8b"), "http://xn--fsq.example/%E4%BE%8B"),
        ("http://caf\xe9.example/", ""),
    ],
)
def test_octets_of_a_location_are_kept(location: str, target: str) -> None:
    """Reports scrapy #2321, #2322, wreq-python #468; Chromium's http_response_headers.cc."""
    assert redirect_target(301, (("Location", location),), URL) == target


@given(st.text(st.characters(max_codepoint=255)))
def test_redirect_target_is_canonical_or_empty(location: str) -> None:
    target = redirect_target(302, (("Location", location),), URL)
    assert not target or canonicalize(target) == target


def test_payload_digest_has_the_form_of_warc() -> None:
    assert payload_digest(b"") == "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"
