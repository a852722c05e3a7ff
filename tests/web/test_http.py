"""What headers mean, however they are spelt and repeated."""

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


def test_a_header_is_found_however_it_is_spelt_and_as_often_as_it_came() -> None:
    assert all_values(TAGS, "x-robots-tag") == ["noindex", "otherbot: none"]
    assert first_value(TAGS, "x-robots-tag") == "noindex"
    assert joined_values(TAGS, "x-robots-tag") == "noindex, otherbot: none"


def test_a_header_that_is_missing_is_empty() -> None:
    assert (all_values(TAGS, "etag"), first_value(TAGS, "etag"), joined_values(TAGS, "etag")) == (
        [],
        "",
        "",
    )


@pytest.mark.parametrize("text", ["/é", "/日本", "/voilà", "/…"])
def test_a_value_is_read_as_utf_8_where_it_is_that(text: str) -> None:
    assert first_value((("Location", octets(text)),), "location") == text


def test_a_value_that_is_not_utf_8_is_latin_1() -> None:
    assert first_value((("Location", "/é"),), "location") == "/é"


@given(st.lists(st.tuples(st.sampled_from(["A", "a", "b"]), st.text()), max_size=4).map(tuple))
def test_any_headers_can_be_read(headers: Headers) -> None:
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
def test_a_content_type_is_a_media_type_without_parameters(value: str, media_type: str) -> None:
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
def test_a_redirect_leads_where_its_status_and_location_say(
    status: int, location: str, target: str
) -> None:
    assert redirect_target(status, (("location", location),), URL) == target


@given(st.text(st.characters(max_codepoint=255)))
def test_any_location_is_a_canonical_url_or_none(location: str) -> None:
    target = redirect_target(302, (("Location", location),), URL)
    assert not target or canonicalize(target) == target


def test_the_payload_digest_is_written_as_in_warc_files() -> None:
    assert payload_digest(b"") == "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"
