"""Exact dates in sitemaps, feeds and PDFs."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.parser.dates import parse_date, parse_pdf_date

LEAP = datetime(2024, 2, 29, tzinfo=UTC).timestamp()
HOUR = 3600.0


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ("2024-02-29", 0),
        (" 2024-02-29T10:00Z\n", 10),
        ("2024-02-29T10:00:00.123+02:00", 8),
        ("2024-02-29 10:00:00 -0200", 12),
        ("2024-02-29T10:00:00", 10),
        ("2024-02-29T10:00+02", 8),
        ("Thu, 29 Feb 2024 10:00:00 GMT", 10),
        ("29 Feb 24 10:00 +0100", 9),
        ("Thu, 29 Feb 2024 10:00:00", 10),
    ],
)
def test_date_is_parsed(text: str, hours: float) -> None:
    assert parse_date(text) == LEAP + hours * HOUR


def test_missing_parts_of_date_are_the_earliest() -> None:
    assert parse_date("2024-03") == LEAP + 24 * HOUR
    assert parse_date("2024") == datetime(2024, 1, 1, tzinfo=UTC).timestamp()


@pytest.mark.parametrize("text", ["", "soon", "2024-02-30", "0000-00-00", "1959-01-01", "9" * 99])
def test_invalid_date_is_zero(text: str) -> None:
    assert parse_date(text) == parse_pdf_date(text) == 0.0


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ("D:20240229", 0),
        ("D:20240229100000Z", 10),
        ("D:20240229100000+02'00'", 8),
        ("D:20240229100000-02'30", 12.5),
        ("20240229100000", 10),
        ("D:20240229100000Z00'00'", 10),
    ],
)
def test_pdf_date_is_parsed(text: str, hours: float) -> None:
    assert parse_pdf_date(text) == LEAP + hours * HOUR


@given(st.text() | st.from_regex(r"D?:?\d{4}-?\d\d-?\d\d[T ]?\d\d:?\d\d:?\d\d[+-]\d\d:?\d\d"))
def test_any_text_is_accepted_as_date(text: str) -> None:
    assert parse_date(text) >= 0.0 and parse_pdf_date(text) >= 0.0
