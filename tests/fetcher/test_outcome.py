"""The outcomes of single headers and responses."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.events import Outcome
from gossamer.services.fetcher.outcome import Reply, accept_types, assess, parse_retry_after
from gossamer.settings.sections import DOCUMENTS

NOW = 1_700_000_000.0
URL = "http://example.org/a/b"
WANTED = accept_types(DOCUMENTS)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120.0),
        ("0", 0.0),
        ("9" * 400, 31536000.0),
        ("Tue, 14 Nov 2023 22:14:20 GMT", 60.0),
        ("Tuesday, 14-Nov-23 22:14:20 GMT", 60.0),
        ("Tue, 14 Nov 2023 22:12:20 GMT", 0.0),
        ("Tue, 14 Nov 9999 22:12:20 GMT", 31536000.0),
        ("-5", 0.0),
        ("1.5", 0.0),
        ("²", 0.0),
        ("soon", 0.0),
        ("", 0.0),
    ],
)
def test_retry_after_is_seconds_or_a_date(value: str, seconds: float) -> None:
    assert parse_retry_after(value, NOW) == seconds


@given(st.text())
def test_arbitrary_retry_after_raises_nothing(value: str) -> None:
    assert math.isfinite(parse_retry_after(value, NOW))
    assert parse_retry_after(value, NOW) >= 0


@pytest.mark.parametrize(
    ("status", "wait", "outcome"),
    [(429, None, "busy"), (429, "7", "busy"), (503, "7", "busy"), (503, None, "server_error"),
     (503, "soon", "busy"), (500, "7", "server_error"), (404, "7", "gone")],
)  # fmt: skip
def test_busy_is_429_or_503_with_retry_after(status: int, wait: str | None, outcome: str) -> None:
    headers = (("RETRY-after", wait),) if wait else ()
    found = assess(Reply(status=status, headers=headers), URL, NOW)
    assert found.outcome == outcome
    assert found.retry_after == (7.0 if wait == "7" and outcome == "busy" else 0.0)


@pytest.mark.parametrize(
    ("location", "outcome"),
    [
        ("c", "redirect"),
        ("//other.example/", "redirect"),
        ("https://other.example", "redirect"),
        ("?q", "redirect"),
        ("#top", "redirect"),
        ("", "bad_redirect"),
        ("mailto:a@b.example", "bad_redirect"),
        ("javascript:alert(1)", "bad_redirect"),
        ("http://", "bad_redirect"),
        ("http://[bad", "bad_redirect"),
        ("/" + "x" * 3000, "bad_redirect"),
    ],
)
def test_redirect_without_valid_target_is_a_bad_redirect(location: str, outcome: str) -> None:
    found = assess(Reply(status=302, headers=(("location", location),)), URL, NOW)
    assert found.outcome == outcome
    assert found.location == (location if outcome == "redirect" else "")
    assert found.hazards == (("redirect",) if outcome == "redirect" else ("bad_redirect",))


@pytest.mark.parametrize("kind", ["image/png", "video/mp4", "application/octet-stream", "font/x"])
def test_unwanted_types_are_read_only_for_errors(kind: str) -> None:
    assert not WANTED(200, kind)
    assert WANTED(404, kind)


@pytest.mark.parametrize("kind", ["text/html", "text/css", "application/pdf", "image/svg+xml"])
def test_types_are_accepted_by_name_or_pattern(kind: str) -> None:
    assert WANTED(200, kind)
    assert accept_types(("image/*",))(200, kind) is (kind == "image/svg+xml")


@pytest.mark.parametrize("kind", ["application/pdf", "text/html", "application/rss+xml"])
def test_cut_document_is_stored_if_it_can_be_parsed(kind: str) -> None:
    reply = Reply(status=200, headers=(("Content-Type", kind),), body=b"words", truncated="length")
    found = assess(reply, URL, NOW, accepts=WANTED)
    assert found.hazards == ("infinite_body",)
    assert found.has_page is (kind != "application/pdf")


def test_cut_error_page_keeps_its_outcome() -> None:
    found = assess(Reply(status=404, truncated="length"), URL, NOW)
    assert (found.outcome, found.has_page, found.hazards) == (
        Outcome.GONE,
        True,
        ("infinite_body",),
    )
