"""The expiry that a response states."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.web.http import expires_at

NOW = 1_700_000_000.0
IN_AN_HOUR = ("Expires", "Tue, 14 Nov 2023 23:13:20 GMT")
IN_A_DAY = ("Expires", "Wed, 15 Nov 2023 22:13:20 GMT")
AHEAD = [("Date", "Wed, 15 Nov 2023 08:00:00 GMT"), ("Expires", "Wed, 15 Nov 2023 09:00:00 GMT")]
"""A time by a clock that is hours ahead of ours."""
DATE = ("Date", "Tue, 14 Nov 2023 22:13:20 GMT")
DAY = 86400.0


@pytest.mark.parametrize(
    ("headers", "left"),
    [
        ([("Cache-Control", "max-age=3600")], 3600),
        ([("cache-control", 'public, Max-Age="600", s-maxage=10')], 600),
        ([("Cache-Control", "public"), ("Cache-Control", "max-age=3600")], 3600),
        ([("Cache-Control", "max-age=3600"), ("Age", "600")], 3000),
        ([DATE, IN_AN_HOUR], 3600),
        (AHEAD, 3600),
        # max-age overrides Expires (RFC 9111, 5.3).
        ([DATE, IN_A_DAY, ("Cache-Control", "max-age=120")], 120),
    ],
)
def test_expiry_of_a_response_is_parsed(headers: list[tuple[str, str]], left: float) -> None:
    assert expires_at(tuple(headers), NOW) == NOW + left


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [("Cache-Control", "max-age=0")],
        [("Cache-Control", "max-age=1")],
        [("Cache-Control", "no-cache, max-age=3600")],
        [("Cache-Control", "no-store"), IN_AN_HOUR, DATE],
        [("Cache-Control", "max-age=31536001")],
        [("Cache-Control", "max-age=99999999999999999999")],
        [("Cache-Control", "max-age=-5")],
        [("Cache-Control", "max-age=3600"), ("Age", "3600")],
        [DATE, ("Expires", "0")],
        [DATE, ("Expires", "-1")],
        [DATE, ("Expires", DATE[1])],
        [DATE, ("Expires", "Thu, 01 Jan 1970 00:00:00 GMT")],
        [DATE, ("Expires", "Thu, 31 Dec 2037 23:55:55 GMT")],
        [IN_AN_HOUR],
        [DATE, ("Expires", "Tue, 14 Nov 2023 23:13:20")],
    ],
)
def test_meaningless_expiry_is_ignored(headers: list[tuple[str, str]]) -> None:
    assert expires_at(tuple(headers), NOW) == 0


@given(st.text(max_size=60), st.text(max_size=40), st.text(max_size=40))
def test_arbitrary_expiry_headers_raise_nothing(cache: str, expires: str, age: str) -> None:
    headers = (("Cache-Control", cache), ("Expires", expires), DATE, ("Age", age))
    at = expires_at(headers, NOW)
    assert not at or NOW + 60 <= at <= NOW + 366 * DAY
