"""The sketch of the sites that link to a page."""

from math import log
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.web.links import add_link, estimate_sites, merge_sketches
from gossamer.web.url import Site

names = st.lists(st.sampled_from([f"s{n}.example" for n in range(40)]))


def sketch_of(sites: list[str], url: str = "http://a.test/") -> int:
    sketch = 0
    for site in sites:
        sketch = add_link(sketch, Site(site), url)
    return sketch


@pytest.mark.parametrize("count", [0, 1, 3, 10, 100, 3000])
def test_estimate_of_sites_is_within_a_third(count: int) -> None:
    sites = [f"site{n}.example" for n in range(count)]
    found = [estimate_sites(sketch_of(sites, f"http://a.test/{n}")) for n in range(60)]
    assert fmean(found) == pytest.approx(count, rel=0.15, abs=0.2)
    off = [abs(log((1 + one) / (1 + count))) for one in found]
    assert sorted(off)[50] < 0.8


@given(names, names)
def test_site_counts_once_and_sketches_can_be_merged(one: list[str], other: list[str]) -> None:
    both = merge_sketches(sketch_of(one), sketch_of(other))
    assert both == sketch_of([*other, *one]) == sketch_of(sorted({*one, *other}))
    assert merge_sketches(both, sketch_of(one)) == both
    assert both < 1 << 32
