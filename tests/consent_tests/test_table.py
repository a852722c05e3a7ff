"""The page of the documentation has all statements, their meanings, and their combinations."""

from tests.consent.table import FILE, text


def test_page_of_the_documentation_is_current() -> None:
    assert FILE.read_text() == text(), "run: python -m tests.consent.table"
