"""Near duplicates: who is one, of whom, and that it costs no links."""

from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from gossamer.events import Link, Page, PageJudged, PageParsed, UrlsDiscovered, Verdict, Visit
from gossamer.events.hazards import Hazard
from gossamer.settings import DedupSettings
from gossamer.sqlite import Database
from gossamer.store import Store
from gossamer.store.sqlite import SqliteStore
from gossamer.web.url import host_key, site_of
from services.dedup.near import MAX_PAGES_PER_BAND, NearRow, bands, distance
from services.dedup.seen import SeenTable
from services.dedup.service import Dedup
from tests.support.kinds import with_kind

SIMHASH = 0x0123456789ABCDEF
BIT = st.integers(0, 63)


class Site:
    """What dedup says of one page after another."""

    def __init__(self, **options: int) -> None:
        self.store: Store = SqliteStore(Database(":memory:"))
        self.dedup = Dedup(SeenTable(self.store), self.store, DedupSettings(**options))  # type: ignore[arg-type]
        self._clock = 0.0

    def page(self, url: str, simhash: int | None, **fields: object) -> PageParsed:
        self._clock += 1.0
        parsed = PageParsed(
            at=0.0, site=site_of(url), host=host_key(url), visit=Visit(id=f"1.1.0@{url}", url=url),
            digest=f"digest of {url}", status=200, fetched_at=self._clock,
            simhash="" if simhash is None else f"{simhash:016x}",
        )  # fmt: skip
        return with_kind(replace(parsed, **fields))

    def judge(self, page: PageParsed) -> PageJudged:
        [judged] = [one for one in self.dedup.handle(page, 0.0) if isinstance(one, PageJudged)]
        return judged

    def visit(self, url: str, simhash: int | None, **fields: object) -> str:
        """Return which page *url* is a near duplicate of."""
        judged = self.judge(self.page(url, simhash, **fields))
        assert (judged.verdict is Verdict.NEAR_DUPLICATE) == bool(judged.near_duplicate_of)
        return judged.near_duplicate_of


@given(st.integers(0, (1 << 64) - 1), st.sets(BIT, max_size=8))
@settings(max_examples=60, deadline=None)
def test_texts_are_near_whichever_three_bits_differ(simhash: int, flipped: set[int]) -> None:
    site, other = Site(), simhash
    for bit in flipped:
        other ^= 1 << bit
    site.visit("http://a.test/1", simhash)
    near = site.visit("http://a.test/2", other)
    assert near == ("http://a.test/1" if len(flipped) <= 3 else "")


@given(st.integers(0, 3))
@settings(deadline=None)
def test_how_near_is_a_setting(limit: int) -> None:
    site = Site(near_distance=limit)
    site.visit("http://a.test/1", SIMHASH)
    for number, bits in enumerate((0b1111, 0b111, 0b11, 0b1, 0)):
        near = site.visit(f"http://a.test/other{number}", SIMHASH ^ bits)
        if bits.bit_count() > limit + 3:
            assert not near
        if bits.bit_count() <= limit:
            assert near


def test_a_copy_at_another_site_is_found_by_its_digest_alone() -> None:
    site = Site()
    site.visit("http://a.test/1", SIMHASH)
    assert not site.visit("http://b.test/1", SIMHASH)
    equal = site.judge(site.page("http://b.test/2", SIMHASH, digest="digest of http://a.test/1"))
    assert (equal.verdict, equal.duplicate_of) == (Verdict.DUPLICATE, "http://a.test/1")
    assert not equal.near_duplicate_of


def test_the_nearest_is_named_and_of_equals_the_first() -> None:
    site = Site()
    site.visit("http://a.test/far", SIMHASH ^ 0b111)
    site.visit("http://a.test/other", SIMHASH ^ (0b1111 << 20))
    assert site.visit("http://a.test/2", SIMHASH ^ 0b11) == "http://a.test/far"
    assert site.visit("http://a.test/3", SIMHASH ^ 0b11 ^ (1 << 40)) == "http://a.test/far"


def test_a_page_is_no_near_duplicate_of_itself() -> None:
    site = Site()
    assert not site.visit("http://a.test/1", SIMHASH)
    assert not site.visit("http://a.test/1", SIMHASH ^ 1)


@pytest.mark.slow
@given(st.lists(st.sets(BIT, max_size=4), max_size=12))
@settings(max_examples=50, deadline=None)
def test_a_record_that_comes_again_is_judged_as_before(pages: list[set[int]]) -> None:
    site, seen = Site(), []
    for number, flipped in enumerate(pages):
        page = site.page(f"http://a.test/{number}", SIMHASH ^ sum(1 << bit for bit in flipped))
        seen.append((page, site.judge(page)))
    for page, judged in seen:
        assert site.judge(page) == judged


def test_its_links_are_followed_and_the_document_says_what_it_is() -> None:
    site = Site()
    site.visit("http://a.test/1", SIMHASH)
    page = site.page("http://a.test/2", SIMHASH ^ 1, links=(Link("http://a.test/3"),))
    told = list(site.dedup.handle(page, 0.0))
    [released] = [one for one in told if isinstance(one, UrlsDiscovered)]
    assert [(found.url, found.duplicates) for found in released.urls] == [("http://a.test/3", 1)]
    [document] = [one for one in told if isinstance(one, Page)]
    assert document.verdict is Verdict.NEAR_DUPLICATE
    assert (document.near_duplicate_of, document.duplicate_of) == ("http://a.test/1", "")


def test_too_many_in_a_row_are_a_trap() -> None:
    site, link = Site(duplicates_limit=2), (Link("http://a.test/next"),)
    site.visit("http://a.test/1", SIMHASH)

    def judged(duplicates: int) -> PageJudged:
        page = site.page(f"http://a.test/after{duplicates}", SIMHASH ^ 1, links=link)
        return site.judge(replace(page, visit=replace(page.visit, duplicates=duplicates)))

    assert judged(1).links == 1
    trapped = judged(2)
    assert trapped.links == 0 and Hazard.TRAP_DUPLICATES in trapped.hazards
    assert trapped.verdict is Verdict.NEAR_DUPLICATE


def test_what_has_no_simhash_is_near_nothing() -> None:
    site = Site()
    assert not site.visit("http://a.test/1", None)
    assert not site.visit("http://a.test/2", None)
    assert not list(site.store.table(NearRow).everything())


def test_a_page_that_is_gone_leads_nobody() -> None:
    site = Site()
    site.visit("http://a.test/1", SIMHASH)
    list(site.dedup.handle(site.page("http://a.test/1", None, status=410), 0.0))
    assert not site.visit("http://a.test/2", SIMHASH)
    assert site.visit("http://a.test/3", SIMHASH) == "http://a.test/2"


def test_a_page_that_has_another_text_now_leads_no_longer() -> None:
    site = Site()
    site.visit("http://a.test/1", SIMHASH)
    assert site.visit("http://a.test/2", SIMHASH ^ 1) == "http://a.test/1"
    site.visit("http://a.test/1", SIMHASH ^ (1 << 64) - 1, digest="of another text")
    assert not site.visit("http://a.test/2", SIMHASH ^ 1)
    assert site.visit("http://a.test/3", SIMHASH) == "http://a.test/2"


def test_a_page_that_is_not_published_leads_nobody() -> None:
    site = Site()
    site.visit("http://a.test/1", SIMHASH, noindex=True)
    assert not site.visit("http://a.test/2", SIMHASH)


def boilerplate() -> Iterator[int]:
    """Simhashes that share one band and are far from each other."""
    chance = Random(1)
    while True:
        yield chance.getrandbits(48) << 16 | 0xABCD


def test_rows_are_bounded_and_boilerplate_hides_nobody() -> None:
    site, simhashes = Site(), boilerplate()
    for number in range(3 * MAX_PAGES_PER_BAND):
        assert not site.visit(f"http://a.test/{number}", next(simhashes))
    last = next(simhashes)
    site.visit("http://a.test/last", last)
    assert site.visit("http://a.test/copy", last) == "http://a.test/last"
    site.store.flush()
    assert (
        max(len(row.pages) for row in site.store.table(NearRow).everything()) == MAX_PAGES_PER_BAND
    )


def test_a_family_of_near_duplicates_has_four_rows() -> None:
    site = Site()
    for number in range(50):
        site.visit(f"http://a.test/{number}", SIMHASH ^ 1 << number)
    site.store.flush()
    rows = list(site.store.table(NearRow).everything())
    assert sorted(row.band for row in rows) == bands("a.test", f"{SIMHASH ^ 1:016x}")


@pytest.mark.parametrize("bits", [0, 1, 3, 64])
def test_the_distance_is_the_number_of_bits(bits: int) -> None:
    assert distance("0" * 16, f"{(1 << bits) - 1:016x}") == bits
