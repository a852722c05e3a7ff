"""Conditional requests: which validators are sent, when, and which hosts are trusted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.web.http import Headers
from gossamer.web.validators import (
    MAX_FUTILE,
    MAX_LENGTH,
    REFUSED_SECONDS,
    UNCONDITIONAL_INTERVAL,
    DistrustReason,
    Trust,
    Validators,
    conditions,
    is_conditional,
    refuses_conditions,
    validators_of,
)

DATE = "Sun, 22 Nov 2026 16:00:00 GMT"
EARLIER = "Sat, 21 Nov 2026 09:30:00 GMT"


@pytest.mark.parametrize("etag", ['"abc"', 'W/"abc"', '""', '"a/b?c=d,e"', '"é"', '"…"'])
def test_tag_is_sent_back_unchanged(etag: str) -> None:
    found = validators_of((("ETag", etag.encode().decode("latin-1")),))
    assert conditions(found) == (("If-None-Match", etag),)


@pytest.mark.parametrize(
    "etag",
    ["", "abc", "'abc'", '"a"b"', 'w/"abc"', '"a\r\nX: y"', f'"{"x" * MAX_LENGTH}"', "*",
     # The kind of scrapy #2321: as text it would be sent as other octets.
     '"caf\xe9"'],
)  # fmt: skip
def test_malformed_tag_is_not_sent_back(etag: str) -> None:
    assert conditions(validators_of((("ETag", etag),))) == ()


def test_date_is_sent_back_with_the_tag() -> None:
    found = validators_of((("etag", '"1"'), ("last-modified", EARLIER), ("date", DATE)))
    assert conditions(found) == (("If-None-Match", '"1"'), ("If-Modified-Since", EARLIER))


@pytest.mark.parametrize(
    "date", ["yesterday", "", "0", f"{EARLIER[:-3]}+{9**30}", DATE, "Mon, 23 Nov 2026 00:00:00 GMT"]
)
def test_invalid_or_current_date_is_not_sent_back(date: str) -> None:
    found = validators_of((("Last-Modified", date), ("Date", DATE)))
    assert conditions(found) == ()


@given(st.text(), st.text(), st.text())
def test_arbitrary_validators_raise_nothing(etag: str, modified: str, date: str) -> None:
    found = validators_of((("etag", etag), ("last-modified", modified), ("date", date)))
    assert not any(set("\r\n\0") & set(value) for _, value in conditions(found))


def test_some_visits_are_unconditional() -> None:
    tagged = Validators('"1"')
    asked = [is_conditional(tagged, Trust(), n) for n in range(UNCONDITIONAL_INTERVAL)]
    assert asked == [True] * (UNCONDITIONAL_INTERVAL - 1) + [False]
    assert not is_conditional(Validators(), Trust(), 0)


@pytest.mark.parametrize(
    ("before", "now", "change", "lie"),
    [
        (Validators('"1"'), Validators('"1"'), 0.01, DistrustReason.SAME_TAG),
        (Validators('"1"'), Validators('"2"'), 0.5, ""),
        (Validators('"1"'), Validators('"1"'), 0.0, ""),
        (Validators('W/"1"'), Validators('"1"'), 0.5, DistrustReason.SAME_TAG),
        (Validators('W/"1"'), Validators('W/"1"'), 0.01, ""),
        (Validators("", EARLIER), Validators("", EARLIER), 0.01, DistrustReason.SAME_DATE),
        (Validators('"1"', EARLIER), Validators('"2"', EARLIER), 0.5, ""),
        (Validators('"1"'), Validators("", EARLIER), 0.5, ""),
        (Validators(), Validators(), 0.5, ""),
    ],
)
def test_unchanged_validators_of_a_changed_page_are_distrusted(
    before: Validators, now: Validators, change: float, lie: str
) -> None:
    trust = Trust().after(before, now, change)
    assert trust.distrust_reason == lie
    assert is_conditional(Validators('"1"'), trust, 0) is not bool(lie)


def test_distrust_is_permanent() -> None:
    liar = Trust().after(Validators('"1"'), Validators('"1"'), 1.0)
    for tag in ('"1"', '"2"'):
        for change in (0.0, 1.0):
            assert liar.after(Validators('"1"'), Validators(tag), change) == liar


def test_validators_that_change_without_reason_are_distrusted() -> None:
    trust, one, other = Trust(), Validators('"1"'), Validators('"2"')
    for _ in range(MAX_FUTILE - 1):
        trust = trust.after(one, other, 0.0)
    assert not trust.distrust_reason
    assert not trust.after(one, one, 0.0).after(one, other, 0.0).distrust_reason, (
        "once they were of use"
    )
    assert trust.after(one, other, 0.0).distrust_reason == DistrustReason.FUTILE


SENT = (("If-None-Match", '"1"'), ("If-Modified-Since", EARLIER))


@pytest.mark.parametrize(
    ("sent", "status", "headers", "refused"),
    [
        (SENT, 412, (), True),
        (SENT, 400, (), True),
        ((), 400, (), False),
        (SENT, 404, (), False),
        (SENT, 200, (), False),
        (SENT, 304, (), False),
        ((), 304, (), True),
        ((("Range", "bytes=0-9"),), 304, (), True),
        (SENT, 304, (("ETag", '"1"'),), False),
        (SENT, 304, (("ETag", 'W/"1"'), ("Last-Modified", DATE)), False),
        (SENT, 304, (("ETag", '"2"'),), True),
        (SENT, 304, (("ETag", "1"),), False),
        # What servers append to the tag of a compressed page: Apache, Jetty.
        ((("If-None-Match", '"1-gzip"'),), 304, (("ETag", '"1"'),), False),
        ((("If-None-Match", '"1--gzip"'),), 304, (("ETag", '"1"'),), False),
        ((("If-None-Match", '"1-gzip"'),), 304, (("ETag", '"2"'),), True),
        (SENT[1:], 304, (("Last-Modified", DATE),), True),
        (SENT[1:], 304, (("Last-Modified", EARLIER),), False),
        (SENT[1:], 304, (("Last-Modified", "Fri, 20 Nov 2026 09:30:00 GMT"),), False),
    ],
)
def test_refusal_is_an_error_or_a_304_without_reason(
    sent: Headers, status: int, headers: Headers, refused: bool
) -> None:
    """Report RssBandit #1390; RFC 9110, 13.1 and 15.4.5."""
    assert refuses_conditions(sent, status, headers) is refused


def test_distrust_after_a_refusal_ends() -> None:
    """Report RssBandit #1390: the server may be repaired."""
    tagged, trust = Validators('"1"'), Trust().after_refusal(1000.0)
    assert trust.distrust_reason == DistrustReason.REFUSED
    end = 1000.0 + REFUSED_SECONDS
    assert not is_conditional(tagged, trust.at(end - 1), 0)
    assert is_conditional(tagged, trust.at(end), 0)
    assert trust.after_refusal(2000.0).at(end).distrust_reason, "it begins again"
    liar = Trust().after(tagged, tagged, 1.0)
    assert liar.after_refusal(1000.0).at(end * 9) == liar, "other distrust does not end"
