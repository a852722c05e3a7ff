"""Packed states: exact after unpacking, or empty if the bytes are invalid."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.services.frontier.revisit import (
    CrawlState,
    PageState,
    SiteState,
    States,
    Visit,
    make_policy,
    pack,
    unpack_crawl,
    unpack_page,
    unpack_site,
)
from gossamer.services.frontier.revisit.state import Clock, Rate

URL = "https://www.example.org/news"
JUNK = (b"", b"{}", b"\xc1", b"\xdc", b"[1,2]", b"\x93\x01\x02", msgspec.msgpack.encode({"a": 1}))
numbers = st.one_of(
    st.integers(-(2**60), 2**60), st.floats(), st.none(), st.text(max_size=5), st.just(0)
)
arrays = st.lists(st.one_of(numbers, st.lists(numbers, max_size=9)), max_size=32)


@pytest.mark.parametrize("junk", JUNK)
def test_invalid_bytes_unpack_to_an_empty_state(junk: bytes) -> None:
    assert unpack_page(junk) == PageState()
    assert unpack_site(junk) == SiteState()
    assert unpack_crawl(junk) == CrawlState()


@pytest.mark.parametrize(
    "page",
    [
        PageState(weight=0.0),
        PageState(at=float("nan")),
        PageState(at=float("inf")),
        PageState(rate=Rate(-1.0, 1.0)),
        PageState(clock=Clock(next_at=1e9)),
        PageState(cell=10**6),
    ],
)
def test_impossible_numbers_unpack_to_an_empty_state(page: PageState) -> None:
    assert unpack_page(pack(page)) == PageState()


def test_missing_fields_have_their_defaults() -> None:
    page = PageState(at=1.7e9, visits=3)
    short = msgspec.msgpack.encode(msgspec.to_builtins(page)[:5])
    assert unpack_page(short) == page
    assert unpack_page(msgspec.msgpack.encode([*msgspec.to_builtins(page), 1, 2])) == page


@given(st.binary(max_size=300))
def test_any_bytes_can_be_unpacked(data: bytes) -> None:
    unpack_page(data), unpack_site(data), unpack_crawl(data)


@given(arrays, st.lists(st.tuples(st.floats(0, 1e7), st.booleans()), max_size=8))
def test_policy_continues_from_any_unpacked_state(
    values: list[object], life: list[tuple[float, bool]]
) -> None:
    whole = msgspec.to_builtins(PageState())
    data = msgspec.msgpack.encode([*values, *whole[len(values) :]])
    states, now = States(unpack_page(data), SiteState(), CrawlState(budget=10)), 1.7e9
    for wait, changed in life:
        now += wait
        states = make_policy("optimal").record_visit(states, Visit(URL, now, changed)).states


pages = st.builds(
    PageState,
    at=st.floats(0, 1e12),
    visits=st.integers(0, 10**12),
    weight=st.floats(1e-9, 1e12),
    rate=st.builds(Rate, st.floats(0, 1e9), st.floats(0, 1e9)),
    lead=st.floats(-1e12, 1e12),
)


@given(pages)
def test_packed_state_unpacks_exactly(page: PageState) -> None:
    assert unpack_page(pack(page)) == page
