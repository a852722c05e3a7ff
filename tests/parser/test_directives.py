"""Robots directives and reservations: all are published, and settings select the obeyed ones."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gossamer.services.parser.page import parse
from gossamer.web.directives import (
    MAX_DIRECTIVE_LENGTH,
    MAX_DIRECTIVES,
    find_in_markup,
    meta_names,
    parse_directives,
)
from gossamer.web.usage import read_headers
from tests.parser.pages import NOW, OPTIONS, page_response, parse_response

PAST, FUTURE = "Thu, 01 Jan 1998 00:00:00 GMT", "Wed, 01 Jan 2098 00:00:00 GMT"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("NoArchive, noSnippet", ("noarchive", "nosnippet")),
        ("none", ("noindex", "nofollow")),
        ("max-snippet:20, noai:x", ("max-snippet: 20",)),
        ("max-image-preview: large", ("max-image-preview: large",)),
        ("noai, noimageai", ("noai", "noimageai")),
        (f"unavailable_after: {PAST}, noai", (f"unavailable_after: {PAST[5:].lower()}", "noai")),
        ("unavailable_after: Jun 25, 2010", ("unavailable_after: jun 25 2010",)),
        ("gossamer: max-snippet: 5, noai", ("max-snippet: 5", "noai")),
        ("otherbot: noai, max-snippet: 5", ()),
        ("otherbot: unavailable_after: 25 Jun 2010 15:00 PST, noai, *: noarchive", ("noarchive",)),
        (" ,, ", ()),
    ],
)  # fmt: skip
def test_directives_for_us_are_published(value: str, expected: tuple[str, ...]) -> None:
    assert (
        parse_response("x", ("Content-Type", "image/png"), ("X-Robots-Tag", value)).directives
        == expected
    )
    assert parse_response(f"<meta name=robots content='{value}'>x").directives == expected


@given(st.lists(st.text("noindex:,; unavailable_after2026wed", max_size=300), max_size=90))
def test_directives_are_limited(values: list[str]) -> None:
    expected = parse_directives(values, "gossamer")
    assert len(expected) <= MAX_DIRECTIVES
    assert all(0 < len(one) <= MAX_DIRECTIVE_LENGTH for one in expected)


@pytest.mark.parametrize(
    ("when", "noindex", "at"),
    [
        (PAST, True, 883612800.0),
        (FUTURE, False, 4039372800.0),
        ("Thursday, 01-Jan-98 00:00:00 UTC", True, 883612800.0),
        ("1998-01-01", True, 883612800.0),
        ("some day", False, 0.0),
    ],
)
def test_page_after_unavailable_after_is_noindex(when: str, noindex: bool, at: float) -> None:
    page = page_response(f"<meta name=robots content='unavailable_after: {when}'>".encode())
    parsed = parse(replace(page, started_at=1.7e9), OPTIONS, NOW)
    assert (parsed.noindex, parsed.unavailable_after) == (noindex, at)


def test_tdm_reservation_is_published() -> None:
    policy = "https://example.org/policy.json"
    meta = f"<meta name=TDM-Reservation content=1><meta name=tdm-policy content={policy}>"
    parsed = parse_response(meta)
    assert sorted(map(str, parsed.usage_statements)) == [
        f"meta tdm-policy: {policy}",
        "meta tdm-reservation: 1",
    ]
    assert parsed.usage["train-ai"].allowed is False
    assert parsed.usage["search"].allowed is None


def test_meta_element_does_not_lift_a_reservation_of_a_header() -> None:
    page = page_response(b"<meta name=tdm-reservation content=0>")
    stated = read_headers((("TDM-Reservation", "1"),), "gossamer")
    parsed = parse(replace(page, usage_statements=stated), OPTIONS, NOW)
    assert list(map(str, parsed.usage_statements)) == [
        "header tdm-reservation: 1",
        "meta tdm-reservation: 0",
    ]
    assert list(map(str, parsed.usage["train-ai"].by)) == ["header tdm-reservation: 1"]


@pytest.mark.parametrize(
    ("body", "signal"),
    [
        ("<meta name=robots content=noai>", "noai"),
        ("<meta name=robots content=nosnippet>", "nosnippet"),
        ("<meta name=tdm-reservation content=1>", "tdm-reservation"),
    ],
)
def test_settings_select_the_signals_that_are_obeyed(body: str, signal: str) -> None:
    assert not parse_response(body).noindex
    strict = replace(OPTIONS, not_indexed=(signal,), not_followed=(signal,))
    parsed = parse(page_response(body.encode()), strict, NOW)
    assert (parsed.noindex, parsed.nofollow) == (True, True)
    loose = replace(OPTIONS, not_indexed=(), not_followed=())
    parsed = parse(page_response(b"<meta name=robots content=none>"), loose, NOW)
    assert (parsed.noindex, parsed.nofollow) == (False, False)
    assert parsed.directives == ("noindex", "nofollow")


def test_nosnippet_texts_are_published() -> None:
    parsed = parse_response(
        "<p>Quote this, <span data-nosnippet>not \n this</span>.<div data-nosnippet=''></div>"
        + "<section data-nosnippet>"
        + "words " * 200
        + "</section>" * 60
    )
    assert parsed.not_in_snippets[:2] == ("not this", "")
    assert len(parsed.not_in_snippets[2]) == 500
    link = parse_response("<a data-nosnippet itemprop=author onclick='x()' href=/x>not this</a>")
    assert link.not_in_snippets == ("not this",)


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("<META content='noArchive' NAME=robots>", [("robots", "noArchive")]),
        (
            "<meta name=gossamer content=\"a, b\"><meta name='Robots' content=c >",
            [("gossamer", "a, b"), ("robots", "c")],
        ),
        ("<meta name=description content=noarchive><meta content=noarchive>", []),
        ("<metaname=robots content=x><meta name=robots content=x", []),
    ],
)
def test_robots_meta_elements_are_found_in_raw_markup(
    markup: str, expected: list[tuple[str, str]]
) -> None:
    assert list(find_in_markup(markup, meta_names("Gossamer"))) == expected


@pytest.mark.parametrize(
    ("markup", "hazards"),
    [
        ("<meta name=robots content=noindex>", {"noindex"}),
        ("<meta name=robots content=none>", {"noindex", "nofollow"}),
        ("<a href=/a rel=nofollow>a</a><a href=/b>b</a>", {"nofollow"}),
        ("<a href=/a rel=ugc>a</a>", {"nofollow"}),
        ("<meta name=otherbot content=none><a href=/b>b</a>", set()),
    ],
)
def test_noindex_and_nofollow_are_hazards(markup: str, hazards: set[str]) -> None:
    assert set(parse_response(markup).hazards) == hazards
